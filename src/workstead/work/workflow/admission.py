"""Who may do what to which card, and when: one function per operation, each saying no with its own code.

Whether the caller holds the permission, and whether an activation still owns its card, is decided elsewhere.
"""

import graphlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from workstead import errors
from workstead.work.workflow import graph, identity, lifecycle
from workstead.work.workflow.lifecycle import Status


@dataclass(frozen=True, kw_only=True)
class Person:
    """A person, or whoever acts for one through page, CLI, API or an assistant.

    ready: no run of the project is going, or it is paused.
    """

    ready: bool


@dataclass(frozen=True, kw_only=True)
class Planner:
    """An agent in a live activation of a card.

    creatable_types, activatable_types: what its node lets it create and start.
    """

    card_id: str
    creatable_types: tuple[str, ...] = ()
    activatable_types: tuple[str, ...] = ()


Actor = Person | Planner


@dataclass(frozen=True, kw_only=True)
class Card:
    """What the rules need to know of a card that is not a tombstone."""

    card_id: str
    card_type: str
    status: Status
    depends_on: tuple[str, ...] = ()


_CREATION_PARENTS = frozenset({Status.BACKLOG, Status.CHANGED, Status.RUNNING, Status.BLOCKED, Status.STOPPED})
_EDITED = {
    Status.BACKLOG: Status.BACKLOG,
    Status.CHANGED: Status.CHANGED,
    Status.STOPPED: Status.STOPPED,
    Status.BLOCKED: Status.CHANGED,
    Status.FAILED: Status.CHANGED,
}
_REOPENED_BY_PLANNER = frozenset({Status.DONE, Status.FAILED})
_REOPENED_BY_PERSON = frozenset({Status.BLOCKED, Status.DONE, Status.FAILED})


@dataclass(frozen=True, kw_only=True)
class NewChild:
    """A card that is asked for."""

    card_type: str
    depends_on: tuple[str, ...] = ()


def admit_create(
    actor: Actor,
    wanted: NewChild,
    *,
    parent: Card,
    types: Mapping[str, graph.CardType],
    children: Collection[str],
    cards: Collection[str],
) -> None:
    """A child may be made under the parent.

    types: the project's. children: ids of the parent's present children. cards: ids of every present card.
    Raises, in this order: `card_depth_exceeded`; `not_your_card`, `project_running`, `parent_running`,
    `parent_closed`; `card_type_unknown`; `child_type_not_permitted`, `child_type_not_creatable`;
    `child_type_not_leaf`; `dependency_repeated`, `dependency_not_sibling` or `dependency_unknown`,
    `dependency_on_ancestor`.
    """
    depth = identity.depth_of(parent.card_id) + 1
    if depth > identity.MAX_DEPTH:
        message = f"A card here would stand at depth {depth}; {identity.MAX_DEPTH} is the deepest allowed."
        raise errors.conflict("card_depth_exceeded", message, depth=depth, maximum=identity.MAX_DEPTH)
    _admit_parent(actor, parent)
    _admit_child_type(actor, wanted.card_type, parent=parent, types=types)
    if depth == identity.MAX_DEPTH and types[wanted.card_type].permitted_child_types:
        message = f"At depth {depth} only types without children fit; {wanted.card_type!r} may have some."
        raise errors.conflict("child_type_not_leaf", message, depth=depth)
    _admit_dependencies(actor, wanted.depends_on, parent=parent, children=children, cards=cards)


def admit_edit(actor: Actor, target: Card) -> Status:
    """The status the card has after a real change of title, priority or urgency.

    Raises denied `card_not_child`; conflict `project_running`, `card_running`, `card_done`, `card_cancelled`.
    """
    _admit_target(actor, target)
    edited = _EDITED.get(target.status)
    if edited is not None:
        return edited
    hint = {
        Status.RUNNING: "wait until it ends, or stop the run",
        Status.DONE: "reopen it first",
    }.get(target.status, "make a new card instead")
    message = f"A {target.status} card cannot be edited; {hint}."
    raise errors.conflict(f"card_{target.status.value}", message, status=target.status.value)


def admit_reopen(actor: Actor, target: Card) -> Status:
    """The status of a reopened card, which is CHANGED; reopening starts nothing.

    Raises denied `card_not_child`; conflict `project_running`, `card_not_reopenable`.
    """
    _admit_target(actor, target)
    allowed = _REOPENED_BY_PERSON if isinstance(actor, Person) else _REOPENED_BY_PLANNER
    if target.status not in allowed:
        which = " or ".join(sorted(status.value for status in allowed))
        message = f"A {target.status} card cannot be reopened; only a {which} one can."
        raise errors.conflict("card_not_reopenable", message, status=target.status.value)
    return Status.CHANGED


def admit_cancel(actor: Actor, target: Card, *, subtree: Iterable[Card]) -> None:
    """The card and what is below it may be cancelled, also while a run is going.

    subtree: the target and every present card below. A person's request is refused as a whole if any of them
    is done or cancelled; under a Planner's, those stay as they are.
    Raises denied `card_not_child`, `card_is_root`; conflict `card_not_cancellable`.
    """
    if isinstance(actor, Planner):
        _must_be_child(actor, target)
        subtree = (target,)
    elif target.card_id == identity.ROOT:
        message = "The project's root card cannot be cancelled; stop the run instead."
        raise errors.denied("card_is_root", message)
    for card in subtree:
        if not lifecycle.is_cancellable(card.status):
            message = f"{card.card_id} is {card.status} and cannot be cancelled."
            raise errors.conflict("card_not_cancellable", message, card_id=card.card_id)


def admit_delete(actor: Actor, targets: Sequence[Card], *, cards: Sequence[Card]) -> tuple[str, ...]:
    """The ids to delete for good, in order: what depends on another before it, children before parents.

    cards: every present card of the project. Raises denied `delete_not_for_agents`, `card_is_root`; conflict
    `project_running`, `subtree_running`, `card_depended_on`.
    """
    if not isinstance(actor, Person):
        raise errors.denied("delete_not_for_agents", "Agents do not delete cards; cancel it instead.")
    _must_be_ready(actor)
    roots = {target.card_id for target in targets}
    if identity.ROOT in roots:
        raise errors.denied("card_is_root", "The project's root card cannot be deleted.")
    doomed = [card for card in cards if not roots.isdisjoint(_line_of(card.card_id))]
    _must_rest(doomed, what="deleted")
    gone = {card.card_id for card in doomed}
    for card in cards:
        needed = [each for each in card.depends_on if each in gone]
        if needed and card.card_id not in gone:
            message = f"{card.card_id} depends on {needed[0]}; delete both or neither."
            raise errors.conflict("card_depended_on", message, card_id=card.card_id, depends_on=needed)
    return _deletion_order(doomed)


def admit_reorder(
    actor: Actor, parent: Card, *, order: Sequence[str], children: Sequence[str], subtree: Iterable[Card]
) -> int:
    """How many children move. None moving is no change and writes nothing.

    children: the parent's present ones in their present order. subtree: every present card below the parent.
    Raises denied `not_your_card`; conflict `project_running`, `parent_running`, `subtree_running`; invalid
    `order_not_permutation`.
    """
    if isinstance(actor, Planner):
        _must_be_own(actor, parent)
    else:
        _must_be_ready(actor)
        if parent.status is Status.RUNNING:
            raise errors.conflict("parent_running", f"{parent.card_id} is running; stop it before reordering.")
    if sorted(order) != sorted(children):
        message = "Name each present child of the card exactly once, in the new order."
        raise errors.invalid("order_not_permutation", message, children=list(children))
    if isinstance(actor, Person):
        _must_rest(subtree, what="reordered")
    return sum(1 for old, new in zip(children, order, strict=True) if old != new)


def admit_activate(actor: Actor, target: Card, *, dependencies: Iterable[Card]) -> lifecycle.Entry:
    """The entry by which the child starts.

    dependencies: the cards it depends on. Raises denied `activate_not_for_people`, `card_not_child`,
    `card_type_not_activatable`; conflict `card_not_startable`, `dependency_not_done`.
    """
    if not isinstance(actor, Planner):
        message = "A person starts the project's run; the Planner above a card starts the card."
        raise errors.denied("activate_not_for_people", message)
    _must_be_child(actor, target)
    if target.card_type not in actor.activatable_types:
        message = f"This step does not start cards of the type {target.card_type!r}."
        raise errors.denied("card_type_not_activatable", message, types=list(actor.activatable_types))
    entry = lifecycle.entry_for(target.status)
    if entry is None:
        message = f"A {target.status} card cannot be started."
        raise errors.conflict("card_not_startable", message, status=target.status.value)
    waiting = [card.card_id for card in dependencies if not lifecycle.is_complete(card.status)]
    if waiting:
        message = f"{target.card_id} waits for {', '.join(waiting)}, which must be done first."
        raise errors.conflict("dependency_not_done", message, waiting_for=waiting)
    return entry


def _admit_parent(actor: Actor, parent: Card) -> None:
    if isinstance(actor, Planner):
        _must_be_own(actor, parent)
    else:
        _must_be_ready(actor)
        if parent.status is Status.RUNNING:
            message = f"{parent.card_id} is running; a child can be added when it is not."
            raise errors.conflict("parent_running", message)
    if parent.status not in _CREATION_PARENTS:
        message = f"{parent.card_id} is {parent.status} and takes no new children; reopen it first."
        raise errors.conflict("parent_closed", message, status=parent.status.value)


def _admit_child_type(actor: Actor, card_type: str, *, parent: Card, types: Mapping[str, graph.CardType]) -> None:
    if card_type not in types:
        message = f"There is no card type {card_type!r}; there are {', '.join(types)}."
        raise errors.invalid("card_type_unknown", message, types=list(types))
    permitted = types[parent.card_type].permitted_child_types if parent.card_type in types else ()
    if card_type not in permitted:
        message = f"A {parent.card_type} card has no children of the type {card_type!r}."
        raise errors.conflict("child_type_not_permitted", message, types=list(permitted))
    if isinstance(actor, Planner) and card_type not in actor.creatable_types:
        message = f"This step does not create cards of the type {card_type!r}."
        raise errors.denied("child_type_not_creatable", message, types=list(actor.creatable_types))


def _admit_dependencies(
    actor: Actor,
    depends_on: Sequence[str],
    *,
    parent: Card,
    children: Collection[str],
    cards: Collection[str],
) -> None:
    if len(set(depends_on)) != len(depends_on):
        raise errors.invalid("dependency_repeated", "Name each card a new one depends on once.")
    for card_id in depends_on:
        if isinstance(actor, Planner) and card_id not in children:
            message = f"{card_id} is no present child of {parent.card_id}; depend on siblings only."
            raise errors.conflict("dependency_not_sibling", message, card_id=card_id)
        if card_id not in cards:
            raise errors.conflict("dependency_unknown", f"There is no card {card_id}.", card_id=card_id)
        if identity.is_within(parent.card_id, card_id):
            message = f"{card_id} stands above the new card and could never be done before it."
            raise errors.conflict("dependency_on_ancestor", message, card_id=card_id)


def _admit_target(actor: Actor, target: Card) -> None:
    if isinstance(actor, Planner):
        _must_be_child(actor, target)
    else:
        _must_be_ready(actor)


def _must_be_ready(actor: Person) -> None:
    if not actor.ready:
        message = "A run of this project is going; pause or stop it, then try again."
        raise errors.conflict("project_running", message)


def _must_be_child(actor: Planner, target: Card) -> None:
    if identity.parent_of(target.card_id) != actor.card_id:
        message = f"{target.card_id} is no child of {actor.card_id}; an agent acts on its own children only."
        raise errors.denied("card_not_child", message)


def _must_be_own(actor: Planner, parent: Card) -> None:
    if parent.card_id != actor.card_id:
        message = f"An agent on {actor.card_id} acts under that card only."
        raise errors.denied("not_your_card", message)


def _must_rest(cards: Iterable[Card], *, what: str) -> None:
    for card in cards:
        if card.status is Status.RUNNING:
            message = f"{card.card_id} is running; stop it before its branch is {what}."
            raise errors.conflict("subtree_running", message, card_id=card.card_id)


def _line_of(card_id: str) -> tuple[str, ...]:
    return (card_id, *identity.ancestors_of(card_id))


def _deletion_order(doomed: Sequence[Card]) -> tuple[str, ...]:
    """Each card after everything in the set that stands below it or depends on it."""
    latest_first = sorted(doomed, key=lambda card: identity.creation_order(card.card_id), reverse=True)
    before: dict[str, set[str]] = {card.card_id: set() for card in latest_first}
    for card in latest_first:
        for other in (identity.parent_of(card.card_id), *card.depends_on):
            if other in before:
                before[other].add(card.card_id)
    try:
        return tuple(graphlib.TopologicalSorter(before).static_order())
    except graphlib.CycleError:
        message = "These cards depend on what stands above them; cancel them instead of deleting."
        raise errors.conflict("card_dependency_cycle", message, cards=sorted(before)) from None
