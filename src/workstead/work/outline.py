"""The outline: the tree of cards as far as a reader has opened it, or what is sought with the cards above it (W28).

One query of narrow rows serves trees of thousands of cards; what is shown is bounded, and what is closed says how
much of it needs eyes.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, cast

from pydantic import Field
from sqlalchemy import bindparam, select

from workstead import errors
from workstead.accounts import projects
from workstead.kernel.access import Caller, Permission
from workstead.kernel.operations import AnyOperation, Door, Effect, Operation
from workstead.kernel.store import prepared
from workstead.kernel.transaction import Tx
from workstead.work import rules
from workstead.work.card_operations import CardId
from workstead.work.rules import ProjectRead
from workstead.work.tables import card
from workstead.work.workflow import identity
from workstead.work.workflow.lifecycle import Status

WHOLE_LIMIT = 150
"""A tree of so many cards is shown whole; of a larger one what was opened."""
SIBLINGS = 100
LINES = 500
WAITING = 8

_EYES = (Status.FAILED, Status.BLOCKED, Status.STOPPED)
_COUNTED = frozenset({*_EYES, Status.RUNNING})
_Ids = Annotated[tuple[CardId, ...], Field(max_length=LINES)]
_NARROW = prepared(
    select(
        card.c.card_id,
        card.c.parent_id,
        card.c.title,
        card.c.type,
        card.c.status,
        card.c.status_text,
    )
    .where(card.c.project_id == bindparam("k_project_id"), card.c.deleted == bindparam("k_deleted"))
    .order_by(card.c.parent_id, card.c.position)
)


class GetOutline(ProjectRead):
    """What of the tree to show."""

    top: CardId = Field(default=identity.ROOT, description="The card to begin with.")
    opened: _Ids = Field(default=(), description="Cards to show with what is directly below them.")
    shut: _Ids = Field(default=(), description="Cards to show without it, in a tree that is shown whole.")
    text: str = Field(default="", max_length=200, description="Only cards with this in title, id or type.")
    status: Status | None = Field(default=None, description="Only cards of this status.")
    offset: int = Field(default=0, ge=0, description="Where to begin among the first card's children, or the matches.")


@dataclass(frozen=True, kw_only=True)
class OutlineLine:
    """A card in the outline, after its parent. children: how many; opened: whether they follow.

    below: what needs eyes under a card that is shut. more: how many children stand beyond those shown.
    """

    card_id: str
    parent_id: str | None
    title: str
    type: str
    status: Status
    children: int
    opened: bool
    below: dict[Status, int]
    more: int


@dataclass(frozen=True, kw_only=True)
class WaitingLine:
    """A card that goes on only when somebody decides. said: what it says of itself."""

    card_id: str
    title: str
    status: Status
    said: str | None


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The lines to show. total: cards there are; matches: cards that fit what is sought, else None.

    whole: whether everything is open unless shut. next: the offset of what follows. cut: too much is open to show all.
    waiting: the first cards that wait for a person; waits: how many do.
    """

    top: str
    above: tuple[str, ...]
    lines: tuple[OutlineLine, ...]
    total: int
    matches: int | None
    whole: bool
    next: int | None
    cut: bool
    waiting: tuple[WaitingLine, ...]
    waits: int


class _Narrow(NamedTuple):
    """A card's narrow row; thousands are made for one page."""

    card_id: str
    parent_id: str | None
    title: str
    type: str
    status: str
    said: str | None


class _Tree:
    """All cards of a project by id and by parent."""

    def __init__(self, rows: Iterable[Sequence[object]]) -> None:
        self.by_id: dict[str, _Narrow] = {}
        self.below: dict[str | None, list[_Narrow]] = {}
        for row in rows:
            one = _Narrow._make(cast("Sequence[str]", row))
            self.by_id[one.card_id] = one
            self.below.setdefault(one.parent_id, []).append(one)

    def above(self, card_id: str) -> tuple[str, ...]:
        """The cards above one, topmost first."""
        found: list[str] = []
        parent = self.by_id[card_id].parent_id
        while parent is not None and parent in self.by_id:
            found.append(parent)
            parent = self.by_id[parent].parent_id
        return tuple(reversed(found))


def outline(tx: Tx, caller: Caller, args: GetOutline) -> Outline:
    """The outline; one query. Raises `card_not_found`."""
    project = projects.visible(tx, caller, args.project)
    tree = _Tree(tx.all(_NARROW, k_project_id=project.id, k_deleted=0))
    if args.top not in tree.by_id:
        raise errors.not_found("card", args.top)
    whole = len(tree.by_id) <= WHOLE_LIMIT
    sought = bool(args.text or args.status)
    if sought:
        lines, matches, following = _found(tree, args)
        cut = False
    else:
        matches = None
        lines, following, cut = _opened(tree, args, whole=whole)
    waiting = [one for status in _EYES for one in tree.by_id.values() if one.status == status]
    return Outline(
        top=args.top,
        above=tree.above(args.top),
        lines=lines,
        total=len(tree.by_id),
        matches=matches,
        whole=whole,
        next=following,
        cut=cut,
        waiting=tuple(
            WaitingLine(card_id=one.card_id, title=one.title, status=Status(one.status), said=one.said)
            for one in waiting[:WAITING]
        ),
        waits=len(waiting),
    )


def _opened(tree: _Tree, args: GetOutline, *, whole: bool) -> tuple[tuple[OutlineLine, ...], int | None, bool]:
    wanted = {args.top, *args.opened}
    for card_id in args.opened:
        if card_id in tree.by_id:
            # An opened card is reached: what is above it is open too.
            wanted.update(tree.above(card_id))
    is_open = set(tree.by_id).difference(args.shut) | {args.top} if whole else wanted
    shown: list[_Narrow] = []
    beyond: dict[str, int] = {}
    waiting = [tree.by_id[args.top]]
    while waiting and len(shown) < LINES:
        one = waiting.pop()
        shown.append(one)
        children = tree.below.get(one.card_id, [])
        if one.card_id not in is_open:
            continue
        start = args.offset if one.card_id == args.top else 0
        part = children[start : start + SIBLINGS]
        beyond[one.card_id] = max(0, len(children) - start - len(part))
        waiting.extend(reversed(part))
    eyes = _eyes(tree, shut={one.card_id for one in shown}.difference(beyond))
    lines = tuple(_line(tree, one, beyond=beyond, eyes=eyes) for one in shown)
    following = args.offset + SIBLINGS if beyond.get(args.top) else None
    return lines, following, bool(waiting)


def _found(tree: _Tree, args: GetOutline) -> tuple[tuple[OutlineLine, ...], int, int | None]:
    sought = args.text.casefold()
    matching = [one for one in _in_order(tree, args.top) if _fits(one, sought, args.status)]
    part = matching[args.offset : args.offset + SIBLINGS]
    kept: set[str] = set()
    for one in part:
        kept.update((one.card_id, *tree.above(one.card_id)))
    shown = list(_in_order(tree, identity.ROOT, within=kept)) if kept else []
    lines = tuple(_line(tree, one, beyond=dict.fromkeys(kept, 0), eyes={}) for one in shown)
    following = args.offset + SIBLINGS if len(matching) > args.offset + SIBLINGS else None
    return lines, len(matching), following


def _in_order(tree: _Tree, top: str, *, within: Collection[str] | None = None) -> Iterable[_Narrow]:
    waiting = [tree.by_id[top]]
    while waiting:
        one = waiting.pop()
        yield one
        children = reversed(tree.below.get(one.card_id, []))
        waiting.extend(children if within is None else (each for each in children if each.card_id in within))


def _fits(one: _Narrow, sought: str, status: Status | None) -> bool:
    if status is not None and one.status != status:
        return False
    return sought in f"{one.title} {one.card_id} {one.type}".casefold()


def _eyes(tree: _Tree, *, shut: Collection[str]) -> Mapping[str, Counter[Status]]:
    """What needs eyes, by the shut card it stands under."""
    found: dict[str, Counter[Status]] = {}
    for one in tree.by_id.values():
        if one.status not in _COUNTED:
            continue
        over = next((card_id for card_id in tree.above(one.card_id) if card_id in shut), None)
        if over is not None:
            found.setdefault(over, Counter())[Status(one.status)] += 1
    return found


def _line(tree: _Tree, one: _Narrow, *, beyond: Mapping[str, int], eyes: Mapping[str, Counter[Status]]) -> OutlineLine:
    return OutlineLine(
        card_id=one.card_id,
        parent_id=one.parent_id,
        title=one.title,
        type=one.type,
        status=Status(one.status),
        children=len(tree.below.get(one.card_id, ())),
        opened=one.card_id in beyond,
        below=dict(eyes.get(one.card_id, {})),
        more=beyond.get(one.card_id, 0),
    )


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="get_outline",
        summary="Look at the tree of cards as far as it was opened, or at what is sought in it.",
        input=GetOutline,
        output=Outline,
        permissions=frozenset({Permission.PROJECTS_READ}),
        effect=Effect.READ,
        doors=frozenset({Door.PAGE}),
        handler=outline,
        lock=rules.lock,
    ),
)
