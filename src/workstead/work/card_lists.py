"""Lists of cards that span a branch or every project; each is one query."""

from typing import cast

from sqlalchemy import bindparam, func, select

from workstead.kernel.store import Row, prepared
from workstead.kernel.transaction import Tx
from workstead.work import cards
from workstead.work.cards import ROW_COLUMNS, CardRow, card_row
from workstead.work.tables import card
from workstead.work.workflow import identity

_ALIVE = (card.c.project_id == bindparam("k_project_id"), card.c.deleted == bindparam("k_deleted"))
_BRANCH = prepared(
    select(*ROW_COLUMNS).where(
        *_ALIVE,
        (card.c.card_id == bindparam("k_card_id"))
        | ((card.c.card_id >= bindparam("k_from")) & (card.c.card_id < bindparam("k_before"))),
    )
)
_ALL = prepared(select(*ROW_COLUMNS).where(*_ALIVE).order_by(card.c.parent_id, card.c.position))
_PARENT, _TYPE, _STATUS = (
    [column.name for column in ROW_COLUMNS].index(name) for name in ("parent_id", "type", "status")
)
_ROOTS = prepared(select(card.c.project_id, *ROW_COLUMNS).where(card.c.card_id == bindparam("k_card_id")))
_COUNTS = prepared(
    select(card.c.project_id, card.c.status, func.count())
    .where(card.c.deleted == bindparam("k_deleted"))
    .group_by(card.c.project_id, card.c.status)
)
_COUNTS_OF = prepared(select(card.c.status, func.count()).where(*_ALIVE).group_by(card.c.status))


def branch(tx: Tx, project_id: str, card_id: str) -> tuple[CardRow, ...]:
    """A card and every living card below it, in no promised order; one query."""
    if card_id == identity.ROOT:
        return cards.rows(tx, project_id)
    # `.` is the character after `-`, so the range is every id that goes on after `card_id-`.
    found = tx.all(
        _BRANCH, k_project_id=project_id, k_deleted=0, k_card_id=card_id, k_from=f"{card_id}-", k_before=f"{card_id}."
    )
    return tuple(card_row(one) for one in found)


def matching(
    tx: Tx,
    project_id: str,
    *,
    statuses: frozenset[str] | None = None,
    types: frozenset[str] | None = None,
    parent_id: str | None = None,
) -> list[Row]:
    """Rows of `ROW_COLUMNS` of the living cards that match; siblings in their order. One query."""
    return [
        found
        for found in tx.all(_ALL, k_project_id=project_id, k_deleted=0)
        if (statuses is None or found[_STATUS] in statuses)
        and (types is None or found[_TYPE] in types)
        and (parent_id is None or found[_PARENT] == parent_id)
    ]


def roots(tx: Tx) -> dict[str, CardRow]:
    """Every project's own card, by project."""
    found = tx.all(_ROOTS, k_card_id=identity.ROOT)
    return {cast("str", one[0]): card_row(one[1:]) for one in found}


def counts(tx: Tx) -> dict[str, dict[str, int]]:
    """How many living cards each project has of each status that occurs."""
    found: dict[str, dict[str, int]] = {}
    for project_id, status, number in tx.all(_COUNTS, k_deleted=0):
        found.setdefault(cast("str", project_id), {})[cast("str", status)] = cast("int", number)
    return found


def counts_of(tx: Tx, project_id: str) -> dict[str, int]:
    """How many living cards a project has of each status that occurs."""
    found = tx.all(_COUNTS_OF, k_project_id=project_id, k_deleted=0)
    return {cast("str", status): cast("int", number) for status, number in found}
