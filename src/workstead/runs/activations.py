"""Activations as rows: one execution of one card inside a run, the nodes it visits and what they came to."""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import bindparam, insert, select, update

from workstead.kernel import feed
from workstead.kernel.store import Row, prepared
from workstead.kernel.transaction import Tx
from workstead.runs.runs import Run
from workstead.runs.tables import activation, node_result, node_visit
from workstead.work import cards
from workstead.work.workflow.lifecycle import Entry


@dataclass(frozen=True, kw_only=True)
class Activation:
    """direction: what the parent's agent said. ending: `done`, `blocked`, `failed`, `stopped` or `cancelled`."""

    id: str
    run_id: str
    project_id: str
    card_id: str
    parent_id: str | None
    entry: Entry
    direction: str | None
    opened_at: str
    closed_at: str | None
    ending: str | None


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One node that was entered, with what it came to (None while it has not)."""

    activation_id: str
    ordinal: int
    node: str
    executor: str
    entered_at: str
    outcome: str | None
    summary: str | None


_COLUMNS = (
    activation.c.id,
    activation.c.run_id,
    activation.c.project_id,
    activation.c.card_id,
    activation.c.parent_id,
    activation.c.entry,
    activation.c.direction,
    activation.c.opened_at,
    activation.c.closed_at,
    activation.c.ending,
)
_ADD = prepared(insert(activation))
_READ = prepared(select(*_COLUMNS).where(activation.c.id == bindparam("k_id")))
_OPEN = prepared(
    select(*_COLUMNS).where(activation.c.run_id == bindparam("k_run_id"), activation.c.closed_at.is_(None))
)
_OF_CARD = prepared(
    select(*_COLUMNS)
    .where(activation.c.project_id == bindparam("k_project_id"), activation.c.card_id == bindparam("k_card_id"))
    .order_by(activation.c.id)
)
_CLOSE = prepared(
    update(activation)
    .where(activation.c.id == bindparam("k_id"), activation.c.closed_at.is_(None))
    .values(closed_at=bindparam("closed_at"), ending=bindparam("ending"))
)
_VISIT = prepared(insert(node_visit))
_RESULT = prepared(insert(node_result))
_VISITS = prepared(
    select(
        node_visit.c.activation_id,
        node_visit.c.ordinal,
        node_visit.c.node,
        node_visit.c.executor,
        node_visit.c.entered_at,
        node_result.c.outcome,
        node_result.c.summary,
    )
    .select_from(
        node_visit.outerjoin(
            node_result,
            (node_result.c.activation_id == node_visit.c.activation_id)
            & (node_result.c.ordinal == node_visit.c.ordinal),
        )
    )
    .where(node_visit.c.activation_id == bindparam("k_id"))
    .order_by(node_visit.c.ordinal)
)


def open_one(
    tx: Tx, run: Run, *, card_id: str, parent_id: str | None, entry: Entry, direction: str | None
) -> Activation:
    """Write that the card is being worked on."""
    made = Activation(
        id=tx.new_id(),
        run_id=run.id,
        project_id=run.project_id,
        card_id=card_id,
        parent_id=parent_id,
        entry=entry,
        direction=direction,
        opened_at=tx.at,
        closed_at=None,
        ending=None,
    )
    tx.run(
        _ADD,
        id=made.id,
        run_id=made.run_id,
        project_id=made.project_id,
        card_id=made.card_id,
        parent_id=made.parent_id,
        entry=made.entry.value,
        direction=made.direction,
        opened_at=made.opened_at,
        closed_at=None,
        ending=None,
    )
    feed.add(tx, run.scope, feed.Event.ACTIVATION_OPENED, topic=cards.topic(card_id))
    return made


def close(tx: Tx, run: Run, one: Activation, *, ending: str) -> None:
    """Write how it ended."""
    if tx.run(_CLOSE, k_id=one.id, closed_at=tx.at, ending=ending):
        feed.add(tx, run.scope, feed.Event.ACTIVATION_CLOSED, topic=cards.topic(one.card_id))


def read(tx: Tx, activation_id: str) -> Activation | None:
    """One activation, or None."""
    row = tx.one(_READ, k_id=activation_id)
    return _activation(row) if row is not None else None


def open_ones(tx: Tx, run_id: str) -> tuple[Activation, ...]:
    """The run's activations that have not ended."""
    return tuple(_activation(row) for row in tx.all(_OPEN, k_run_id=run_id))


def of_card(tx: Tx, project_id: str, card_id: str) -> tuple[Activation, ...]:
    """Every activation of a card, oldest first."""
    return tuple(_activation(row) for row in tx.all(_OF_CARD, k_project_id=project_id, k_card_id=card_id))


def enter(tx: Tx, run: Run, one: Activation, *, ordinal: int, node: str, executor: str) -> None:
    """Write that a node was entered; never read back to find a position."""
    tx.run(_VISIT, activation_id=one.id, ordinal=ordinal, node=node, executor=executor, entered_at=tx.at)
    feed.add(tx, run.scope, feed.Event.NODE_ENTERED, topic=cards.topic(one.card_id))


def leave(tx: Tx, one: Activation, *, ordinal: int, outcome: str, summary: str) -> None:
    """Write what a node came to."""
    tx.run(_RESULT, activation_id=one.id, ordinal=ordinal, outcome=outcome, summary=summary, at=tx.at)


def visits(tx: Tx, activation_id: str) -> tuple[Visit, ...]:
    """The nodes of an activation in order."""
    return tuple(
        Visit(
            activation_id=cast("str", identity),
            ordinal=cast("int", ordinal),
            node=cast("str", node),
            executor=cast("str", executor),
            entered_at=cast("str", at),
            outcome=cast("str | None", outcome),
            summary=cast("str | None", summary),
        )
        for identity, ordinal, node, executor, at, outcome, summary in tx.all(_VISITS, k_id=activation_id)
    )


def _activation(row: Row) -> Activation:
    identity, run_id, project_id, card_id, parent_id, entry, direction, opened_at, closed_at, ending = row
    return Activation(
        id=cast("str", identity),
        run_id=cast("str", run_id),
        project_id=cast("str", project_id),
        card_id=cast("str", card_id),
        parent_id=cast("str | None", parent_id),
        entry=Entry(cast("str", entry)),
        direction=cast("str | None", direction),
        opened_at=cast("str", opened_at),
        closed_at=cast("str | None", closed_at),
        ending=cast("str | None", ending),
    )
