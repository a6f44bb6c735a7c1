"""Propagation: what a person's change does to the cards above it, and who is told (W11); agents' changes have none."""

from workstead.kernel.access import Author
from workstead.kernel.transaction import Tx
from workstead.work import cards, notifications
from workstead.work.cards import Card
from workstead.work.workflow import lifecycle
from workstead.work.workflow.graph import Configuration
from workstead.work.workflow.lifecycle import Status

SOURCE = "card_changed"
SUMMARY_LIMIT_CHARS = 1000

_REOPENED = frozenset({Status.BLOCKED, Status.DONE, Status.FAILED})


def changed(tx: Tx, target: Card, *, configuration: Configuration, author: Author, summary: str) -> Card:
    """Reopen what ended and tell who must know, from the target up to the first running card or the root.

    Blocked, done and failed cards become changed. The target is told unless it never started, and so is every card
    above whose type may have children; a cancelled one stays and is told nothing. Starts nothing. Returns the target.
    """
    content = f"Card changed: {summary}"[:SUMMARY_LIMIT_CHARS]
    now = _visit(tx, target, author=author, content=content, told=target.status is not Status.BACKLOG)
    above = now
    while above.status is not Status.RUNNING and above.parent_id is not None:
        parent = cards.read(tx, target.project_id, above.parent_id)
        if parent is None:
            raise LookupError(f"{above.id} has no parent card")
        kind = configuration.card_types.get(parent.type)
        told = kind is not None and bool(kind.permitted_child_types)
        above = _visit(tx, parent, author=author, content=content, told=told)
    return now


def _visit(tx: Tx, one: Card, *, author: Author, content: str, told: bool) -> Card:
    if one.status in _REOPENED:
        one = cards.set_status(tx, one, Status.CHANGED, author=author)
    if told and lifecycle.accepts_notifications(one.status):
        one = notifications.enqueue(tx, one, content=content, source=SOURCE)
    return one
