"""Notifications: what waits for a card's designated recipient; private, ordered, delivered before they are removed."""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import bindparam, insert, select, update

from workstead import errors
from workstead.kernel.store import prepared
from workstead.kernel.transaction import Tx
from workstead.work import cards
from workstead.work.cards import Card
from workstead.work.tables import notification
from workstead.work.workflow import lifecycle


@dataclass(frozen=True, kw_only=True)
class Notification:
    """One notice. source: what made it, opaque."""

    id: str
    content: str
    source: str
    created_at: str


_ADD = prepared(insert(notification))
_PENDING = prepared(
    select(notification.c.id, notification.c.content, notification.c.source, notification.c.created_at)
    .where(
        notification.c.project_id == bindparam("k_project_id"),
        notification.c.card_id == bindparam("k_card_id"),
        notification.c.removed_at.is_(None),
    )
    .order_by(notification.c.id)
)
_CLEAR = prepared(
    update(notification)
    .where(
        notification.c.project_id == bindparam("k_project_id"),
        notification.c.card_id == bindparam("k_card_id"),
        notification.c.removed_at.is_(None),
    )
    .values(removed_at=bindparam("removed_at"))
)
_REMOVE = prepared(
    update(notification)
    .where(notification.c.id == bindparam("k_id"), notification.c.removed_at.is_(None))
    .values(removed_at=bindparam("removed_at"))
)


def enqueue(tx: Tx, card: Card, *, content: str, source: str) -> Card:
    """Let a notice wait on the card. Raises `conflict` `terminal_card` for a card that is over."""
    if not lifecycle.accepts_notifications(card.status):
        message = f"{card.id} is {card.status.value} and takes no notices; reopen it first."
        raise errors.conflict("terminal_card", message, status=card.status.value)
    tx.run(
        _ADD,
        id=tx.new_id(),
        project_id=card.project_id,
        card_id=card.id,
        content=content,
        source=source,
        created_at=tx.at,
        removed_at=None,
    )
    return cards.touch(tx, card)


def pending(tx: Tx, project_id: str, card_id: str) -> tuple[Notification, ...]:
    """What waits, oldest first."""
    rows = tx.all(_PENDING, k_project_id=project_id, k_card_id=card_id)
    return tuple(
        Notification(
            id=cast("str", identity), content=cast("str", text), source=cast("str", source), created_at=cast("str", at)
        )
        for identity, text, source, at in rows
    )


def remove(tx: Tx, card: Card, selected: tuple[Notification, ...]) -> Card:
    """Take exactly these away after they were delivered; later ones stay."""
    if not selected:
        return card
    for one in selected:
        tx.run(_REMOVE, k_id=one.id, removed_at=tx.at)
    return cards.touch(tx, card)


def clear(tx: Tx, card: Card) -> int:
    """Drop whatever waits, for a card that has just been closed: the end itself moved the head. Returns how many."""
    return tx.run(_CLEAR, k_project_id=card.project_id, k_card_id=card.id, removed_at=tx.at)
