"""The eight statuses of a card, what may follow what, and which entry each one takes. Not who may do it."""

from enum import StrEnum

from workstead import errors


class Status(StrEnum):
    """What a card is; `running` is a stored value, not proof of a live activation."""

    BACKLOG = "backlog"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"
    CHANGED = "changed"
    DONE = "done"
    FAILED = "failed"
    RUNNING = "running"
    STOPPED = "stopped"


class Entry(StrEnum):
    """The four ways into a workflow."""

    BACKLOG = "BACKLOG"
    BLOCKED = "BLOCKED"
    CHANGED = "CHANGED"
    STOPPED = "STOPPED"


TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.BACKLOG: frozenset({Status.RUNNING, Status.CANCELLED}),
    Status.CHANGED: frozenset({Status.RUNNING, Status.CANCELLED}),
    Status.RUNNING: frozenset(
        {Status.DONE, Status.FAILED, Status.BLOCKED, Status.STOPPED, Status.CANCELLED},
    ),
    Status.STOPPED: frozenset({Status.RUNNING, Status.CANCELLED}),
    Status.BLOCKED: frozenset({Status.RUNNING, Status.CHANGED, Status.CANCELLED}),
    Status.DONE: frozenset({Status.CHANGED}),
    Status.FAILED: frozenset({Status.CHANGED, Status.CANCELLED}),
    Status.CANCELLED: frozenset(),
}

ENTRIES: dict[Status, Entry] = {
    Status.BACKLOG: Entry.BACKLOG,
    Status.CHANGED: Entry.CHANGED,
    Status.STOPPED: Entry.STOPPED,
    Status.BLOCKED: Entry.BLOCKED,
}

TERMINAL = frozenset({Status.DONE, Status.FAILED, Status.CANCELLED})


def may_follow(status: Status, following: Status) -> bool:
    """Whether a card may go from the one status to the other."""
    return following in TRANSITIONS[status]


def check_transition(status: Status, following: Status) -> Status:
    """The following status. Raises conflict `card_transition_impossible`."""
    if may_follow(status, following):
        return following
    message = f"A {status} card cannot become {following}."
    raise errors.conflict("card_transition_impossible", message, status=status.value, wanted=following.value)


def entry_for(status: Status) -> Entry | None:
    """The entry an activation of such a card takes; None where none may start."""
    return ENTRIES.get(status)


def is_terminal(status: Status) -> bool:
    """Whether the card is over unless somebody reopens it."""
    return status in TERMINAL


def accepts_notifications(status: Status) -> bool:
    """Whether notices may wait on such a card; a terminal one has an empty queue."""
    return status not in TERMINAL


def is_cancellable(status: Status) -> bool:
    """Whether such a card can be cancelled: a failed one can, a done one cannot."""
    return may_follow(status, Status.CANCELLED)


def is_complete(status: Status) -> bool:
    """Whether a card that depends on such a one may start, and its parent may end well."""
    return status is Status.DONE
