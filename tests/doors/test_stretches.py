"""An item larger than a page is whole again on the other side (K10)."""

from workstead.doors import stretches
from workstead.kernel import canonical, paging
from workstead.kernel.canonical import Json


def test_an_item_that_came_in_stretches_stands_whole_in_its_place() -> None:
    """However small the pages are."""
    items: list[Json] = [{"id": "a"}, {"id": "b", "text": "ä" * 3000}, {"id": "c"}]
    came: list[dict[str, Json]] = []
    position = None
    while True:
        page = paging.pack(items, position=position, limit_bytes=512)
        came += [dict(one) for one in page.items if isinstance(one, dict)]
        position = page.next
        if position is None:
            break
    assert len(came) > 10
    assert stretches.joined(came) == items


def test_an_item_that_was_not_read_to_its_end_is_left_out() -> None:
    """Half of it would be no JSON."""
    whole = canonical.text({"id": "b"})
    assert stretches.joined([{"text": whole[:4], "offset": 0, "total": len(whole)}, {"id": "c"}]) == [{"id": "c"}]
