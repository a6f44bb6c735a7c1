"""Reads of cards as they are now: lists, one card by sections, the tree (W02)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Literal, cast

from pydantic import Field

from workstead import errors
from workstead.accounts import projects
from workstead.accounts.projects import Project
from workstead.kernel.access import Author, Caller, Permission
from workstead.kernel.operations import AnyOperation, Effect, Operation
from workstead.kernel.store import Row
from workstead.kernel.transaction import Tx
from workstead.work import card_lists, cards, pages, records, rules
from workstead.work.card_operations import CardId
from workstead.work.cards import Card, CardRow, Result, Urgency
from workstead.work.pages import Fitted, PageRead, Slice
from workstead.work.records import RecordLine
from workstead.work.rules import Rules
from workstead.work.workflow import identity, lifecycle
from workstead.work.workflow.graph import CardType
from workstead.work.workflow.lifecycle import Status

READING = frozenset({Permission.PROJECTS_READ})


class Section(StrEnum):
    """The parts of a card that one call shows."""

    CHILDREN = "children"
    DEPENDENCIES = "dependencies"
    RECORDS = "records"
    SUMMARY = "summary"
    WORKFLOW = "workflow"


class ListCards(PageRead):
    """Which cards."""

    status: Status | tuple[Status, ...] | None = Field(default=None, description="Only of this status, or of these.")
    type: str | tuple[str, ...] | None = Field(default=None, description="Only of this card type, or of these.")
    parent: CardId | None = Field(default=None, description="Only children of this card.")


class GetCard(PageRead):
    """Which part of which card."""

    card_id: CardId = Field(description="The card's id, as in card-a-b.")
    section: Section = Field(default=Section.SUMMARY, description="Which part; one in each call.")


class GetTree(PageRead):
    """Which branch."""

    root: CardId = Field(default=identity.ROOT, description="The card at the top; the project's own by default.")
    depth: int = Field(default=3, ge=1, le=identity.MAX_DEPTH, description="How many levels below it.")


@dataclass(frozen=True, kw_only=True)
class CardLine:
    """What a list shows of a card."""

    card_id: str
    parent_id: str | None
    type: str
    title: str
    status: Status
    priority: int
    urgency: Urgency
    depends_on: tuple[str, ...]
    status_text: str | None
    revision: int
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class TreeLine:
    """A card in its tree, each after its parent. children: how many it has, also where they are not shown."""

    card_id: str
    parent_id: str | None
    depth: int
    type: str
    title: str
    status: Status
    children: int
    revision: int


@dataclass(frozen=True, kw_only=True)
class CardPage:
    """Cards by parent, siblings in their order."""

    cards: tuple[CardLine | Slice, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class TreePage:
    """A branch, top down."""

    cards: tuple[TreeLine | Slice, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class CardSummary:
    """A card without its lists. version: the newest immutable one; children: how many are there now."""

    card_id: str
    parent_id: str | None
    type: str
    title: str
    status: Status
    priority: int
    urgency: Urgency
    status_text: str | None
    result: Result | None
    error: str | None
    completed_at: str | None
    depends_on: tuple[str, ...]
    children: int
    created_at: str
    created_by: Author
    revision: int
    version: int
    head_id: str
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class CardWorkflow:
    """What the card's type allows. entry: how it would start now; None where nothing starts."""

    card_id: str
    type: str
    status: Status
    entry: str | None
    planning_target: bool
    notification_recipient: str
    permitted_child_types: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DependencyLine:
    """A card that this one needs, or that needs this one. complete: nothing waits for it any more."""

    relation: Literal["needs", "needed_by"]
    card_id: str
    title: str
    status: Status
    complete: bool


@dataclass(frozen=True, kw_only=True)
class CardDependencies:
    """Both directions; first what the card needs, in the order declared."""

    card_id: str
    dependencies: tuple[DependencyLine | Slice, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class CardChildren:
    """The living children, in their order."""

    card_id: str
    children: tuple[CardLine | Slice, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class CardRecords:
    """The records that exist, by name."""

    card_id: str
    records: tuple[RecordLine | Slice, ...]
    total: int
    next: str | None


CardSection = CardSummary | CardWorkflow | CardDependencies | CardChildren | CardRecords


def listed(tx: Tx, caller: Caller, args: ListCards) -> CardPage:
    """The cards that match; one query."""
    project = projects.visible(tx, caller, args.project)
    parent_id = cards.find(tx, project, args.parent).id if args.parent is not None else None
    raw = card_lists.matching(
        tx,
        project.id,
        statuses=_words(args.status),
        types=_words(args.type),
        parent_id=parent_id,
    )
    page = pages.fit(pages.Lazy(raw, _line_of), args)
    return CardPage(cards=page.items, total=page.total, next=page.next)


def tree(tx: Tx, caller: Caller, args: GetTree) -> TreePage:
    """A branch down to a depth; one query."""
    project = projects.visible(tx, caller, args.project)
    root = cards.find(tx, project, args.root)
    below: dict[str | None, list[CardRow]] = {}
    found = card_lists.branch(tx, project.id, root.id)
    for row in found:
        below.setdefault(row.parent_id, []).append(row)
    for siblings in below.values():
        siblings.sort(key=lambda one: one.position)
    lines: list[TreeLine] = []
    waiting = [row for row in found if row.id == root.id]
    top = identity.depth_of(root.id)
    while waiting:
        row = waiting.pop()
        children = below.get(row.id, [])
        depth = identity.depth_of(row.id) - top
        lines.append(_tree_line(row, depth=depth, children=len(children)))
        if depth < args.depth:
            waiting.extend(reversed(children))
    page = pages.fit(lines, args)
    return TreePage(cards=page.items, total=page.total, next=page.next)


def get(setting: Rules, tx: Tx, caller: Caller, args: GetCard) -> CardSection:
    """One part of one card."""
    project = projects.visible(tx, caller, args.project)
    card = cards.find(tx, project, args.card_id)
    if args.position is not None and args.section in {Section.SUMMARY, Section.WORKFLOW}:
        raise errors.invalid("position_not_here", f"The {args.section} has one page; leave out position.")
    match args.section:
        case Section.SUMMARY:
            return _summary(tx, project, card)
        case Section.WORKFLOW:
            configuration = setting.configuration_of(tx, caller, project)
            return _workflow(card, rules.card_type(configuration, card.type))
        case Section.DEPENDENCIES:
            needed = pages.fit(_dependencies(tx, project, card), args, beside=card.id)
            return CardDependencies(card_id=card.id, dependencies=needed.items, total=needed.total, next=needed.next)
        case Section.CHILDREN:
            lines: Fitted[CardLine] = pages.fit(
                pages.Lazy(cards.children(tx, project.id, card.id), line), args, beside=card.id
            )
            return CardChildren(card_id=card.id, children=lines.items, total=lines.total, next=lines.next)
        case Section.RECORDS:
            kept = pages.fit(records.lines(tx, project.id, card.id), args, beside=card.id)
            return CardRecords(card_id=card.id, records=kept.items, total=kept.total, next=kept.next)


def line(row: CardRow) -> CardLine:
    """A card as lists show it."""
    return CardLine(
        card_id=row.id,
        parent_id=row.parent_id,
        type=row.type,
        title=row.title,
        status=row.status,
        priority=row.priority,
        urgency=row.urgency,
        depends_on=row.depends_on,
        status_text=row.status_text,
        revision=row.revision,
        updated_at=row.updated_at,
    )


def operations(setting: Rules) -> tuple[AnyOperation, ...]:
    """The reads of cards as they are now."""
    return (
        Operation(
            name="list_cards",
            summary="List the project's cards, by status, type or parent.",
            input=ListCards,
            output=CardPage,
            permissions=READING,
            effect=Effect.READ,
            doors=rules.EVERY_DOOR,
            handler=listed,
            lock=rules.lock,
        ),
        Operation(
            name="get_card",
            summary="Look at one card: its summary, workflow, dependencies, children or records.",
            input=GetCard,
            output=cast("type[CardSection]", CardSection),
            permissions=READING,
            effect=Effect.READ,
            doors=rules.EVERY_DOOR,
            handler=partial(get, setting),
            lock=rules.lock,
        ),
        Operation(
            name="get_tree",
            summary="Look at a branch of the card tree, top down.",
            input=GetTree,
            output=TreePage,
            permissions=READING,
            effect=Effect.READ,
            doors=rules.EVERY_DOOR,
            handler=tree,
            lock=rules.lock,
        ),
    )


def _words(given: str | Sequence[str] | None) -> frozenset[str] | None:
    if given is None:
        return None
    return frozenset({given} if isinstance(given, str) else given)


def _line_of(raw: Row) -> CardLine:
    return line(cards.card_row(raw))


def _tree_line(row: CardRow, *, depth: int, children: int) -> TreeLine:
    return TreeLine(
        card_id=row.id,
        parent_id=row.parent_id,
        depth=depth,
        type=row.type,
        title=row.title,
        status=row.status,
        children=children,
        revision=row.revision,
    )


def _summary(tx: Tx, project: Project, card: Card) -> CardSummary:
    return CardSummary(
        card_id=card.id,
        parent_id=card.parent_id,
        type=card.type,
        title=card.title,
        status=card.status,
        priority=card.priority,
        urgency=card.urgency,
        status_text=card.status_text,
        result=card.result,
        error=card.error,
        completed_at=card.completed_at,
        depends_on=card.depends_on,
        children=len(cards.children(tx, project.id, card.id)),
        created_at=card.created_at,
        created_by=card.created_by,
        revision=card.head.revision,
        version=card.head.version or 0,
        head_id=card.head.head_id,
        updated_at=card.head.at,
    )


def _workflow(card: Card, kind: CardType) -> CardWorkflow:
    entry = lifecycle.entry_for(card.status)
    return CardWorkflow(
        card_id=card.id,
        type=card.type,
        status=card.status,
        entry=entry.value if entry is not None else None,
        planning_target=bool(kind.permitted_child_types),
        notification_recipient=kind.workflow.notification_recipient,
        permitted_child_types=kind.permitted_child_types,
        nodes=tuple(kind.workflow.nodes),
    )


def _dependencies(tx: Tx, project: Project, card: Card) -> list[DependencyLine]:
    rows = {row.id: row for row in cards.rows(tx, project.id)}
    needs = [_dependency("needs", rows[needed]) for needed in card.depends_on if needed in rows]
    return needs + [_dependency("needed_by", row) for row in rows.values() if card.id in row.depends_on]


def _dependency(relation: Literal["needs", "needed_by"], row: CardRow) -> DependencyLine:
    return DependencyLine(
        relation=relation,
        card_id=row.id,
        title=row.title,
        status=row.status,
        complete=lifecycle.is_complete(row.status),
    )
