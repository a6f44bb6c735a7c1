"""Writes of cards: create, edit, reopen, cancel, delete, reorder; who may do what stands in `workflow.admission`."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from pydantic import AfterValidator, Field

from workstead import errors
from workstead.accounts import projects
from workstead.accounts.projects import Project
from workstead.kernel import documents
from workstead.kernel.access import Agent, Caller, Permission
from workstead.kernel.operations import AnyOperation, Effect, Operation
from workstead.kernel.transaction import Tx
from workstead.work import card_lists, cards, notifications, propagation, records, rules
from workstead.work.cards import Card, NewCard, Urgency
from workstead.work.rules import ProjectWrite, Rules
from workstead.work.workflow import admission, identity, lifecycle
from workstead.work.workflow.lifecycle import Status

WRITING = frozenset({Permission.PROJECTS_WRITE})


def one_line(text: str) -> str:
    """The same text, which must show something and stand on one line; for titles."""
    if not text.strip():
        raise ValueError("say something; white space is not enough")
    if any(unicodedata.category(letter) in {"Cc", "Zl", "Zp"} for letter in text):
        raise ValueError("use one line of plain text, without control characters")
    return text


Title = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(one_line)]
CardId = Annotated[str, Field(min_length=1, max_length=400)]
Priority = Annotated[int, Field(ge=0, le=100)]

_CARD = Field(description="The card's id, as in card-a-b.")
_BASE = Field(
    default=None, ge=0, description="The revision you read; if the card has changed since, nothing is written."
)


class CreateCard(ProjectWrite):
    """A new card."""

    parent: CardId | None = Field(
        default=None, description="The card it is made under; an agent's is its own card, a person names one."
    )
    type: str = Field(min_length=1, max_length=64, description="One of the child types its parent's type permits.")
    title: Title = Field(description="What it is about, on one line.")
    bootstrap_content: str = Field(
        min_length=1, description="The brief, Markdown: what is wanted and how one sees that it is done."
    )
    priority: Priority = Field(default=0, description="0 to 100, higher matters more.")
    urgency: Urgency = Field(default=Urgency.NORMAL, description="How soon it matters.")
    depends_on: tuple[CardId, ...] = Field(
        default=(), max_length=100, description="Cards that must be done before this one may start."
    )


class EditCard(ProjectWrite):
    """Another title, priority or urgency."""

    card_id: CardId = _CARD
    title: Title | None = Field(default=None, description="The new title.")
    priority: Priority | None = Field(default=None, description="0 to 100, higher matters more.")
    urgency: Urgency | None = Field(default=None, description="How soon it matters.")
    base_revision: int | None = _BASE


class ReopenCard(ProjectWrite):
    """A card that ended is to be looked at again."""

    card_id: CardId = _CARD
    base_revision: int | None = _BASE


class CancelCard(ProjectWrite):
    """A card and everything below it is given up."""

    card_id: CardId = _CARD
    reason: Title | None = Field(default=None, description="Why, on one line; shown on the card.")


class DeleteCard(ProjectWrite):
    """Cards and everything below them are taken away for good; their history stays readable."""

    ids: tuple[CardId, ...] = Field(min_length=1, max_length=100, description="Cards to delete with their branches.")


class ReorderChild(ProjectWrite):
    """Another order of a card's children."""

    parent: CardId | None = Field(
        default=None, description="The card whose children are ordered; an agent's is its own card."
    )
    ordered_child_ids: tuple[CardId, ...] = Field(
        max_length=10_000, description="Every present child exactly once, in the new order."
    )


@dataclass(frozen=True, kw_only=True)
class CardWritten:
    """What a write left: read the card for more. changed: False when nothing had to be written."""

    card_id: str
    type: str
    status: Status
    revision: int
    changed: bool = True


@dataclass(frozen=True, kw_only=True)
class CardCancelled:
    """cancelled: how many cards of the branch are cancelled now that were not before."""

    card_id: str
    status: Status
    cancelled: int
    revision: int


@dataclass(frozen=True, kw_only=True)
class CardsDeleted:
    """deleted: how many cards are gone, branches included."""

    deleted: int


@dataclass(frozen=True, kw_only=True)
class ChildrenReordered:
    """changed: how many children stand at another place now; 0 when the order was this one already."""

    parent_id: str
    changed: int
    revision: int


def create(setting: Rules, tx: Tx, caller: Caller, args: CreateCard) -> CardWritten:
    """Make a backlog card with its accepted brief; starts nothing."""
    project = projects.visible(tx, caller, args.project)
    configuration = setting.configuration_of(tx, caller, project)
    parent = cards.find(tx, project, _parent_id(caller, args.parent))
    known = {needed for needed in args.depends_on if _exists(tx, project, needed)}
    admission.admit_create(
        rules.actor(setting, tx, caller, project=project, configuration=configuration),
        admission.NewChild(card_type=args.type, depends_on=args.depends_on),
        parent=rules.of_card(parent),
        types=configuration.card_types,
        children={needed for needed in known if identity.parent_of(needed) == parent.id},
        cards=known,
    )
    new = NewCard(
        type=args.type,
        title=args.title,
        priority=args.priority,
        urgency=args.urgency,
        depends_on=args.depends_on,
    )
    made, linked = cards.create_child(tx, project, parent, new, author=caller.author)
    bootstrap = configuration.card_types[args.type].bootstrap_record
    records.accept_text(tx, made, bootstrap, text=args.bootstrap_content, author=caller.author)
    if not isinstance(caller, Agent):
        summary = f"{caller.author.name} added {made.id}, {args.title!r}."
        propagation.changed(tx, linked, configuration=configuration, author=caller.author, summary=summary)
    return _written(made)


def edit(setting: Rules, tx: Tx, caller: Caller, args: EditCard) -> CardWritten:
    """Change what differs; an equal edit writes nothing and reopens nothing."""
    project = projects.visible(tx, caller, args.project)
    if args.title is None and args.priority is None and args.urgency is None:
        raise errors.invalid("edit_empty", "Give a title, a priority or an urgency to change.")
    card = cards.find(tx, project, args.card_id)
    documents.require_base("card", card.head, args.base_revision)
    configuration = setting.configuration_of(tx, caller, project)
    following = admission.admit_edit(
        rules.actor(setting, tx, caller, project=project, configuration=configuration), rules.of_card(card)
    )
    given = {"title": args.title, "priority": args.priority, "urgency": args.urgency}
    fields = [name for name, value in given.items() if value is not None and value != getattr(card, name)]
    if not fields:
        return _written(card, changed=False)
    if following is not card.status:
        card = cards.set_status(tx, card, following, author=caller.author)
    card = cards.edit(tx, card, title=args.title, priority=args.priority, urgency=args.urgency, author=caller.author)
    if not isinstance(caller, Agent):
        summary = f"{caller.author.name} edited {', '.join(fields)} of {card.id}."
        card = propagation.changed(tx, card, configuration=configuration, author=caller.author, summary=summary)
    return _written(card)


def reopen(setting: Rules, tx: Tx, caller: Caller, args: ReopenCard) -> CardWritten:
    """Make an ended card changed; a person's reopening reaches the cards above, an agent's stays at the card."""
    project = projects.visible(tx, caller, args.project)
    card = cards.find(tx, project, args.card_id)
    documents.require_base("card", card.head, args.base_revision)
    configuration = setting.configuration_of(tx, caller, project)
    following = admission.admit_reopen(
        rules.actor(setting, tx, caller, project=project, configuration=configuration), rules.of_card(card)
    )
    card = cards.set_status(tx, card, following, author=caller.author)
    if not isinstance(caller, Agent):
        summary = f"{caller.author.name} reopened {card.id}."
        card = propagation.changed(tx, card, configuration=configuration, author=caller.author, summary=summary)
    return _written(card)


def cancel(setting: Rules, tx: Tx, caller: Caller, args: CancelCard) -> CardCancelled:
    """Cancel a resting branch, deepest cards first; what waited for them is dropped."""
    project = projects.visible(tx, caller, args.project)
    target = cards.find(tx, project, args.card_id)
    configuration = setting.configuration_of(tx, caller, project)
    branch = card_lists.branch(tx, project.id, target.id)
    admission.admit_cancel(
        rules.actor(setting, tx, caller, project=project, configuration=configuration),
        rules.of_card(target),
        subtree=[rules.of_card(one) for one in branch],
    )
    for one in branch:
        if one.status is Status.RUNNING:
            message = f"{one.id} is running; stop the run, then cancel {target.id}."
            raise errors.conflict("card_running", message, card_id=one.id)
    cancelled = 0
    for one in sorted(branch, key=lambda row: identity.depth_of(row.id), reverse=True):
        if lifecycle.is_cancellable(one.status):
            _cancel_one(tx, cards.find(tx, project, one.id), author=caller, reason=args.reason)
            cancelled += 1
    if not isinstance(caller, Agent) and target.parent_id is not None:
        summary = f"{caller.author.name} cancelled {target.id}."
        parent = cards.find(tx, project, target.parent_id)
        propagation.changed(tx, parent, configuration=configuration, author=caller.author, summary=summary)
    now = cards.find(tx, project, target.id)
    return CardCancelled(card_id=now.id, status=now.status, cancelled=cancelled, revision=now.head.revision)


def delete(setting: Rules, tx: Tx, caller: Caller, args: DeleteCard) -> CardsDeleted:
    """Leave tombstones, dependants before what they depend on and children before parents."""
    project = projects.visible(tx, caller, args.project)
    targets = [cards.find(tx, project, card_id) for card_id in dict.fromkeys(args.ids)]
    configuration = setting.configuration_of(tx, caller, project)
    order = admission.admit_delete(
        rules.actor(setting, tx, caller, project=project, configuration=configuration),
        [rules.of_card(target) for target in targets],
        cards=[rules.of_card(one) for one in cards.rows(tx, project.id)],
    )
    for card_id in order:
        gone = cards.delete(tx, cards.find(tx, project, card_id), author=caller.author)
        notifications.clear(tx, gone)
    return CardsDeleted(deleted=len(order))


def reorder(setting: Rules, tx: Tx, caller: Caller, args: ReorderChild) -> ChildrenReordered:
    """Put the present children in another order; the order they have already writes nothing."""
    project = projects.visible(tx, caller, args.project)
    parent = cards.find(tx, project, _parent_id(caller, args.parent))
    configuration = setting.configuration_of(tx, caller, project)
    changed = admission.admit_reorder(
        rules.actor(setting, tx, caller, project=project, configuration=configuration),
        rules.of_card(parent),
        order=args.ordered_child_ids,
        children=[child.id for child in cards.children(tx, project.id, parent.id)],
        subtree=[rules.of_card(one) for one in _below(tx, project, parent)],
    )
    if changed:
        parent = cards.reorder(tx, parent, args.ordered_child_ids, author=caller.author)
        if not isinstance(caller, Agent):
            summary = f"{caller.author.name} reordered the children of {parent.id}."
            parent = propagation.changed(tx, parent, configuration=configuration, author=caller.author, summary=summary)
    return ChildrenReordered(parent_id=parent.id, changed=changed, revision=parent.head.revision)


def operations(setting: Rules) -> tuple[AnyOperation, ...]:
    """The writes of cards."""
    return (*_changes(setting), *_removals(setting))


def _changes(setting: Rules) -> tuple[AnyOperation, ...]:
    return (
        Operation(
            name="create_card",
            summary="Create a card with its brief. It waits in the backlog; nothing starts.",
            input=CreateCard,
            output=CardWritten,
            permissions=WRITING,
            effect=Effect.WRITE,
            doors=rules.EVERY_DOOR,
            handler=partial(create, setting),
            lock=rules.lock,
        ),
        Operation(
            name="edit_card",
            summary="Change a card's title, priority or urgency; a blocked or failed card becomes changed.",
            input=EditCard,
            output=CardWritten,
            permissions=WRITING,
            effect=Effect.WRITE,
            doors=rules.EVERY_DOOR,
            handler=partial(edit, setting),
            lock=rules.lock,
        ),
        Operation(
            name="reopen_card",
            summary="Make an ended card changed, so that it can be worked on again. Nothing starts.",
            input=ReopenCard,
            output=CardWritten,
            permissions=WRITING,
            effect=Effect.WRITE,
            doors=rules.EVERY_DOOR,
            handler=partial(reopen, setting),
            lock=rules.lock,
        ),
        Operation(
            name="reorder_child",
            summary="Put the children of a card in another order.",
            input=ReorderChild,
            output=ChildrenReordered,
            permissions=WRITING,
            effect=Effect.WRITE,
            doors=rules.EVERY_DOOR,
            handler=partial(reorder, setting),
            lock=rules.lock,
        ),
    )


def _removals(setting: Rules) -> tuple[AnyOperation, ...]:
    return (
        Operation(
            name="cancel_card",
            summary="Give up a card and everything below it. It cannot be reopened.",
            input=CancelCard,
            output=CardCancelled,
            permissions=WRITING,
            effect=Effect.DESTRUCTIVE,
            doors=rules.EVERY_DOOR,
            handler=partial(cancel, setting),
            lock=rules.lock,
        ),
        Operation(
            name="delete_card",
            summary="Take cards and everything below them away for good; their history stays readable.",
            input=DeleteCard,
            output=CardsDeleted,
            permissions=WRITING | {Permission.PROJECTS_DELETE},
            effect=Effect.DESTRUCTIVE,
            doors=rules.EVERY_DOOR,
            handler=partial(delete, setting),
            lock=rules.lock,
        ),
    )


def _parent_id(caller: Caller, named: str | None) -> str:
    if named is not None:
        return named
    if isinstance(caller, Agent):
        return caller.card_id
    issue = errors.Issue(path="parent", message="name the card, as in project or card-a")
    raise errors.invalid("parent_missing", "Name the parent card.", issues=[issue])


def _exists(tx: Tx, project: Project, card_id: str) -> bool:
    return identity.is_card_id(card_id) and cards.row(tx, project.id, card_id) is not None


def _below(tx: Tx, project: Project, parent: Card) -> Sequence[cards.CardRow]:
    return [one for one in card_lists.branch(tx, project.id, parent.id) if one.id != parent.id]


def _cancel_one(tx: Tx, card: Card, *, author: Caller, reason: str | None) -> None:
    cards.set_status(tx, card, Status.CANCELLED, author=author.author, text=reason)
    notifications.clear(tx, card)


def _written(card: Card, *, changed: bool = True) -> CardWritten:
    return CardWritten(
        card_id=card.id, type=card.type, status=card.status, revision=card.head.revision, changed=changed
    )
