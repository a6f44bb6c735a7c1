"""Answers bounded in bytes (K10)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workstead import errors
from workstead.kernel import canonical, paging, redaction
from workstead.kernel.canonical import Json

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
small: st.SearchStrategy[Json] = st.one_of(st.integers(0, 9), texts, st.dictionaries(texts, texts, max_size=3))
large: st.SearchStrategy[Json] = st.builds(
    lambda piece, times: {"body": piece * times},
    st.sampled_from(["é", "\n\\", "😀x", "ab", '"']),
    st.integers(1, 900),
)


def pages(items: list[Json], *, limit_bytes: int) -> list[paging.Page[Json]]:
    found: list[paging.Page[Json]] = []
    position: str | None = None
    while True:
        page = paging.pack(items, position=position, limit_bytes=limit_bytes)
        found.append(page)
        if page.next is None:
            return found
        assert page.next != position
        position = page.next


def joined(found: list[paging.Page[Json]], *, expected: int) -> list[Json]:
    """What a reader puts together; a slice is told from an item by where the page stands."""
    items: list[Json] = []
    pending = ""
    for page in found:
        for item in page.items:
            if isinstance(item, dict) and set(item) == {"offset", "text", "total"}:
                text, offset, total = item["text"], item["offset"], item["total"]
                assert isinstance(text, str)
                assert isinstance(total, int)
                assert offset == len(pending.encode())
                pending += text
                if len(pending.encode()) == total:
                    items.append(json.loads(pending))
                    pending = ""
            else:
                assert not pending
                items.append(item)
    assert not pending
    assert len(items) == expected
    return items


@pytest.mark.covers("K10")
@given(st.lists(st.one_of(small, large), max_size=25), st.integers(512, 4096))
def test_all_pages_together_are_all_items_and_none_is_larger_than_its_limit(
    items: list[Json], limit_bytes: int
) -> None:
    """K10: the whole envelope within its limit, one oversized item continues in slices."""
    found = pages(items, limit_bytes=limit_bytes)
    assert joined(found, expected=len(items)) == items
    for page in found:
        assert len(canonical.dump(page.envelope())) <= limit_bytes
        assert page.total == len(items)
        assert page.items or not items


@pytest.mark.covers("K10")
def test_a_page_takes_as_many_items_as_fit() -> None:
    """A page of one item each would bound bytes and cost a hundred calls."""
    items: list[Json] = [{"number": number} for number in range(1000)]
    found = pages(items, limit_bytes=32_768)
    assert len(found) == 1
    assert len(pages(items, limit_bytes=1024)) < 25


@pytest.mark.covers("K10")
def test_room_for_the_callers_own_fields_is_left() -> None:
    """The envelope a client sees has more fields than the page."""
    items: list[Json] = ["x" * 50] * 100
    page = paging.pack(items, limit_bytes=2048, reserve_bytes=1000)
    assert len(canonical.dump(page.envelope())) <= 1048


@pytest.mark.covers("K10")
def test_no_items_are_one_empty_page() -> None:
    """An empty list is an answer."""
    none: list[Json] = []
    page = paging.pack(none)
    assert page.envelope() == {"items": [], "next": None, "total": 0}


GOOD = paging.Position(item=3, offset_bytes=17).text()


@pytest.mark.covers("K10", "K15")
@pytest.mark.parametrize(
    "position",
    [
        "",
        "x",
        "0",
        GOOD[:-1],
        GOOD + "A",
        GOOD + "=",
        GOOD.lower(),
        " " + GOOD,
        "é",
        "A" * 10_000,
        GOOD.replace("M", "N"),
    ],
)
def test_a_mangled_position_is_refused(position: str) -> None:
    """`next` is copied back unchanged; anything else would silently skip or repeat items."""
    with pytest.raises(errors.Refusal) as refused:
        paging.pack(["a"] * 9, position=position)
    assert refused.value.code == "position_invalid"


@pytest.mark.covers("K10")
@given(st.integers(0, 2**53), st.integers(0, 2**53))
def test_a_position_reads_back_as_it_was_written(item: int, offset_bytes: int) -> None:
    """Opaque to the client, exact to us; and fit for a URL."""
    position = paging.Position(item=item, offset_bytes=offset_bytes)
    assert paging.read_position(position.text()) == position
    assert position.text().replace("-", "").replace("_", "").isalnum()


@pytest.mark.covers("K10")
@pytest.mark.parametrize(
    "position",
    [
        paging.Position(item=4),
        paging.Position(item=3),
        paging.Position(item=0, offset_bytes=99),
        paging.Position(item=1, offset_bytes=2),
    ],
)
def test_a_position_outside_the_list_or_inside_a_character_is_refused(position: paging.Position) -> None:
    """The list may have become shorter since."""
    with pytest.raises(errors.Refusal) as refused:
        paging.pack(["a", "éé", "c"], position=position.text())
    assert refused.value.code == "position_invalid"


@pytest.mark.covers("K10")
@pytest.mark.parametrize("limit_bytes", [0, 511, 32_769])
def test_a_limit_outside_its_bounds_is_refused(limit_bytes: int) -> None:
    """512 to 32768."""
    with pytest.raises(errors.Refusal) as refused:
        paging.pack([], limit_bytes=limit_bytes)
    assert refused.value.code == "limit_invalid"


@pytest.mark.covers("K10")
@given(texts, st.integers(1, 64))
def test_slices_of_a_text_join_to_the_text(text: str, limit_bytes: int) -> None:
    """K10: UTF-8 safe positions; progress even where one character is wider than the limit."""
    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        piece = paging.slice_text(text, offset_bytes=offset, limit_bytes=limit_bytes)
        assert len(piece.text.encode()) <= max(limit_bytes, 4)
        assert piece.next_offset_bytes is None or piece.next_offset_bytes > offset
        parts.append(piece.text)
        offset = piece.next_offset_bytes
    assert "".join(parts) == text


@pytest.mark.covers("K10")
def test_a_slice_keeps_whole_what_its_cut_keeps_whole() -> None:
    """A placeholder is not split between two slices."""

    def before_bracket(text: str, limit_bytes: int) -> int:
        return text.find("[") if 0 <= text.find("[") < limit_bytes else limit_bytes

    first = paging.slice_text("ab [placeholder] cd", limit_bytes=8, cut=before_bracket)
    assert (first.text, first.next_offset_bytes) == ("ab ", 3)
    second = paging.slice_text("ab [placeholder] cd", offset_bytes=3, limit_bytes=8, cut=before_bracket)
    assert second.text == "[placeho"


@pytest.mark.covers("K09", "K10")
def test_a_slice_of_an_oversized_item_splits_no_placeholder() -> None:
    """Both slices would show a broken placeholder, which no write could be recognised by."""
    placeholder = "[redacted:openai-key]"
    items: list[Json] = ["ab" + placeholder * 200]
    redactor = redaction.Redactor()
    page = paging.pack(items, limit_bytes=600, cut=redactor.certified_end)
    first = page.items[0]
    assert isinstance(first, dict)
    assert str(first["text"]).endswith(placeholder)


@pytest.mark.covers("K10")
@pytest.mark.parametrize("offset_bytes", [-1, 1, 4])
def test_an_offset_that_starts_no_character_is_refused(offset_bytes: int) -> None:
    """Half a character would be shown as a broken one."""
    with pytest.raises(errors.Refusal):
        paging.slice_text("éa", offset_bytes=offset_bytes, limit_bytes=10)
