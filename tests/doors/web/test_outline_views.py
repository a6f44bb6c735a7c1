"""The tree on a project's page: each link says what is open once it was followed."""

from urllib.parse import parse_qs, urlsplit

from workstead.doors.web import outline_views
from workstead.doors.web.outline_views import Asked, OutlineNode, OutlineView

COVERS_MODULES = ("doors/web/outline_views.py",)


def line(
    card_id: str, parent: str | None, *, children: int = 0, opened: bool = False, more: int = 0
) -> dict[str, object]:
    """A line as its operation answers it."""
    return {
        "card_id": card_id,
        "parent_id": parent,
        "title": card_id,
        "type": "task",
        "status": "done",
        "children": children,
        "opened": opened,
        "below": {"failed": 1, "running": 2} if children and not opened else {},
        "more": 0,
    }


def view(asked: Asked, *, whole: bool, opened: bool) -> OutlineView:
    """A tree of one card with children below the top."""
    lines = [line("project", None, children=1, opened=True), line("card-a", "project", children=3, opened=opened)]
    lines += [line("card-a-b", "card-a")] if opened else []
    found = {"top": "project", "above": [], "lines": lines, "total": 4, "matches": None, "whole": whole}
    return outline_views.outline(
        found | {"next": None, "cut": False, "waiting": [], "waits": 0}, asked, root="/projects/x"
    )


def turned(found: OutlineView) -> OutlineNode:
    """The card that opens and shuts."""
    return found.nodes[0].children[0]


def query(address: str | None) -> dict[str, list[str]]:
    """What an address asks."""
    return parse_qs(urlsplit(address or "").query)


def test_in_a_large_tree_links_open_and_shut_with_what_is_below() -> None:
    """The address alone says what is open: a reload, a shared link and a live refresh show the same."""
    shut = turned(view(Asked(opened=("card-z",)), whole=False, opened=False))
    assert query(shut.turn) == {"opened": ["card-z,card-a"]}
    assert shut.below == (("running", 2), ("failed", 1))
    opened = turned(view(Asked(opened=("card-z", "card-a", "card-a-b", "card-ab")), whole=False, opened=True))
    assert query(opened.turn) == {"opened": ["card-z,card-ab"]}


def test_in_a_whole_tree_links_name_what_is_shut() -> None:
    """There everything is open unless said otherwise."""
    assert query(turned(view(Asked(), whole=True, opened=True)).turn) == {"shut": ["card-a"]}
    assert turned(view(Asked(shut=("card-a",)), whole=True, opened=False)).turn == "/projects/x"


def test_what_is_sought_neither_opens_nor_shuts() -> None:
    """All that is shown belongs to what was found."""
    assert turned(view(Asked(text="x"), whole=False, opened=True)).turn is None


def test_ids_of_an_address_are_read() -> None:
    """Commas between, nothing empty."""
    assert outline_views.ids(",card-a,,card-b,") == ("card-a", "card-b")
