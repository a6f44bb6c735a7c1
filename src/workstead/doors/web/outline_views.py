"""The tree of cards as a page shows it: lines as nested nodes, each with the address that opens or shuts it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from workstead.doors.web import views

_SEPARATOR = ","


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the address asks of the tree."""

    text: str = ""
    status: str = ""
    top: str = ""
    opened: tuple[str, ...] = ()
    shut: tuple[str, ...] = ()
    offset: int = 0

    @property
    def sought(self) -> bool:
        """Whether cards are sought rather than browsed."""
        return bool(self.text or self.status)

    def wanted(self) -> dict[str, object]:
        """The same as the operation takes it."""
        given: dict[str, object] = {"opened": self.opened, "shut": self.shut, "text": self.text, "offset": self.offset}
        if self.status:
            given["status"] = self.status
        if self.top:
            given["top"] = self.top
        return given


@dataclass(frozen=True, kw_only=True)
class OutlineNode:
    """A card in the tree. turn: the address with it opened, or shut; None where nothing is below it.

    below: what needs eyes below a shut card. more: how many children are not shown, and where they are.
    """

    id: str
    title: str
    status: str
    opened: bool
    count: int
    turn: str | None
    below: tuple[tuple[str, int], ...]
    more: int
    more_at: str
    children: tuple["OutlineNode", ...] = ()


@dataclass(frozen=True, kw_only=True)
class WaitingCard:
    """A card that waits for a person, and what it says of itself."""

    id: str
    title: str
    status: str
    said: str | None


@dataclass(frozen=True, kw_only=True)
class OutlineView:
    """The tree. said: how much of it is shown, None for all. above: cards over the first one. later: the next part."""

    nodes: tuple[OutlineNode, ...]
    above: tuple[str, ...]
    said: str | None
    later: str | None
    waiting: tuple[WaitingCard, ...]
    waits: int


def outline(found: Mapping[str, Any], asked: Asked, *, root: str) -> OutlineView:
    """The outline as its operation answers it."""
    below: dict[str | None, list[Mapping[str, Any]]] = {}
    known = {line["card_id"] for line in found["lines"]}
    for line in found["lines"]:
        parent = line["parent_id"]
        below.setdefault(parent if parent in known else None, []).append(line)

    def node(line: Mapping[str, Any]) -> OutlineNode:
        card_id = line["card_id"]
        top = card_id == found["top"]
        turns = line["children"] and not top and not asked.sought
        return OutlineNode(
            id=card_id,
            title=line["title"],
            status=line["status"],
            opened=line["opened"],
            count=line["children"],
            turn=_turn(asked, card_id, whole=found["whole"], opened=line["opened"], root=root) if turns else None,
            below=views.chips(line["below"]),
            more=0 if top else line["more"],
            more_at=_address(root, Asked(top=card_id, offset=line["children"] - line["more"])),
            children=tuple(node(child) for child in below.get(card_id, ())),
        )

    return OutlineView(
        nodes=tuple(node(line) for line in below.get(None, ())),
        above=tuple(found["above"]),
        said=_said(found),
        later=_later(asked, found["next"], root),
        waiting=tuple(
            WaitingCard(id=one["card_id"], title=one["title"], status=one["status"], said=one["said"])
            for one in found["waiting"]
        ),
        waits=found["waits"],
    )


def ids(given: str) -> tuple[str, ...]:
    """Card ids as an address lists them."""
    return tuple(one for one in given.split(_SEPARATOR) if one)


def _turn(asked: Asked, card_id: str, *, whole: bool, opened: bool, root: str) -> str:
    if whole:
        shut = (*asked.shut, card_id) if opened else _without(asked.shut, card_id)
        return _address(root, Asked(top=asked.top, offset=asked.offset, shut=shut))
    # A card that is open because one below it was opened is shut with all below it.
    kept = tuple(one for one in asked.opened if one != card_id and not one.startswith(f"{card_id}-"))
    return _address(
        root, Asked(top=asked.top, offset=asked.offset, opened=kept if opened else (*asked.opened, card_id))
    )


def _without(given: Sequence[str], card_id: str) -> tuple[str, ...]:
    return tuple(one for one in given if one != card_id)


def _said(found: Mapping[str, Any]) -> str | None:
    if found["matches"] is not None:
        return f"{found['matches']} of {found['total']} match"
    if found["cut"]:
        return f"{len(found['lines'])} of {found['total']} shown; shut some to see the rest"
    return None if found["whole"] else f"{found['total']} cards"


def _later(asked: Asked, offset: int | None, root: str) -> str | None:
    if offset is None:
        return None
    return _address(root, replace(asked, offset=offset))


def _address(root: str, asked: Asked) -> str:
    given = {
        "q": asked.text,
        "status": asked.status,
        "top": asked.top,
        "opened": _SEPARATOR.join(asked.opened),
        "shut": _SEPARATOR.join(asked.shut),
        "from": asked.offset or "",
    }
    query = urlencode({name: value for name, value in given.items() if value}, safe=_SEPARATOR)
    return f"{root}?{query}" if query else root
