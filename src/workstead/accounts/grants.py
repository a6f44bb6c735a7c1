"""Grants: what an agent at work may do. One per node task; it ends with the node, the activation or the run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sqlalchemy import bindparam, insert, select, update

from workstead.accounts.tables import agent_grant
from workstead.kernel import canonical
from workstead.kernel.store import prepared
from workstead.kernel.transaction import Tx


@dataclass(frozen=True, kw_only=True)
class Grant:
    """One agent's right to act. person_id: who pressed Run. operations: exact names."""

    id: str
    project_id: str
    run_id: str
    activation_id: str
    card_id: str
    agent: str
    person_id: str
    operations: frozenset[str]
    ended_at: str | None = None


_ADD = prepared(insert(agent_grant))
_READ = prepared(
    select(
        agent_grant.c.id,
        agent_grant.c.project_id,
        agent_grant.c.run_id,
        agent_grant.c.activation_id,
        agent_grant.c.card_id,
        agent_grant.c.agent,
        agent_grant.c.person_id,
        agent_grant.c.operations,
        agent_grant.c.ended_at,
    ).where(agent_grant.c.id == bindparam("k_id"))
)
_END = prepared(
    update(agent_grant)
    .where(agent_grant.c.id == bindparam("k_id"), agent_grant.c.ended_at.is_(None))
    .values(ended_at=bindparam("ended_at"))
)
_END_ACTIVATION = prepared(
    update(agent_grant)
    .where(agent_grant.c.activation_id == bindparam("k_activation_id"), agent_grant.c.ended_at.is_(None))
    .values(ended_at=bindparam("ended_at"))
)
_END_RUN = prepared(
    update(agent_grant)
    .where(agent_grant.c.run_id == bindparam("k_run_id"), agent_grant.c.ended_at.is_(None))
    .values(ended_at=bindparam("ended_at"))
)


def add(tx: Tx, grant: Grant) -> None:
    """Open a grant."""
    tx.run(
        _ADD,
        id=grant.id,
        project_id=grant.project_id,
        run_id=grant.run_id,
        activation_id=grant.activation_id,
        card_id=grant.card_id,
        agent=grant.agent,
        person_id=grant.person_id,
        operations=canonical.text(sorted(grant.operations)),
        opened_at=tx.at,
        ended_at=None,
    )


def read(tx: Tx, grant_id: str) -> Grant | None:
    """One grant, whatever its state."""
    row = tx.one(_READ, k_id=grant_id)
    if row is None:
        return None
    identity, project_id, run_id, activation_id, card_id, agent, person_id, operations, ended_at = row
    return Grant(
        id=cast("str", identity),
        project_id=cast("str", project_id),
        run_id=cast("str", run_id),
        activation_id=cast("str", activation_id),
        card_id=cast("str", card_id),
        agent=cast("str", agent),
        person_id=cast("str", person_id),
        operations=frozenset(cast("Sequence[str]", canonical.parse(cast("str", operations)))),
        ended_at=cast("str | None", ended_at),
    )


def end(tx: Tx, grant_id: str) -> None:
    """Close one grant."""
    tx.run(_END, k_id=grant_id, ended_at=tx.at)


def end_activation(tx: Tx, activation_id: str) -> None:
    """Close the grant of whatever agent is at work in an activation."""
    tx.run(_END_ACTIVATION, k_activation_id=activation_id, ended_at=tx.at)


def end_run(tx: Tx, run_id: str) -> int:
    """Close every grant of a run; returns how many were open."""
    return tx.run(_END_RUN, k_run_id=run_id, ended_at=tx.at)
