"""Evidence: append-only facts of what was seen to happen (K08); never arguments or results (S23)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from sqlalchemy import bindparam, insert, select

from workstead.kernel import canonical
from workstead.kernel.canonical import Json
from workstead.kernel.store import prepared
from workstead.kernel.tables import evidence
from workstead.kernel.transaction import Tx


class Lane(StrEnum):
    """Where a fact belongs."""

    CONTROL = "control"  # what people and credentials decided
    EVENTS = "events"  # what the instance saw
    OUTSIDE = "outside"  # calls that left the instance


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One row. event: `area:thing:action`. subject: what it is about. detail: safe facts, small."""

    id: str
    lane: Lane
    at: str
    event: str
    actor: str
    subject: str
    detail: Mapping[str, Json]


_ADD = prepared(insert(evidence))
_LIST = prepared(
    select(
        evidence.c.id,
        evidence.c.lane,
        evidence.c.at,
        evidence.c.event,
        evidence.c.actor,
        evidence.c.subject,
        evidence.c.detail,
    )
    .where(
        evidence.c.scope == bindparam("k_scope"),
        evidence.c.lane == bindparam("k_lane"),
        evidence.c.id < bindparam("k_before"),
        evidence.c.event.like(bindparam("k_event")),
    )
    .order_by(evidence.c.id.desc())
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)


def add(tx: Tx, scope: str, lane: Lane, *, event: str, actor: str, subject: str, detail: Mapping[str, Json]) -> None:
    """Append one fact."""
    tx.run(
        _ADD,
        id=tx.new_id(),
        scope=scope,
        lane=lane.value,
        at=tx.at,
        event=event,
        actor=actor,
        subject=subject,
        detail=canonical.text(detail),
    )


def listed(
    tx: Tx, scope: str, lane: Lane, *, event: str | None = None, before: str = "~", limit: int = 200
) -> tuple[Fact, ...]:
    """The newest facts first; `before` is the id of the last one seen. event: exact, or `area:%` as a pattern."""
    rows = tx.all(
        _LIST,
        k_scope=scope,
        k_lane=lane.value,
        k_before=before,
        k_event=event or "%",
        k_limit=limit,
        k_offset=0,
    )
    return tuple(
        Fact(
            id=cast("str", number),
            lane=Lane(cast("str", found)),
            at=cast("str", at),
            event=cast("str", what),
            actor=cast("str", actor),
            subject=cast("str", subject),
            detail=cast("Mapping[str, Json]", canonical.parse(cast("str", detail))),
        )
        for number, found, at, what, actor, subject, detail in rows
    )
