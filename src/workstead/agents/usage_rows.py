"""Usage: what model calls came to, summed up by day, card, agent or model."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from sqlalchemy import BigInteger, Column, and_, bindparam, or_, select
from sqlalchemy import cast as as_type
from sqlalchemy.sql.functions import sum as sum_of

from workstead.agents.budget_rows import Kind, Spent, Target
from workstead.agents.tables import budget_use, usage_day
from workstead.kernel.store import Prepared, Row, prepared
from workstead.kernel.transaction import Tx
from workstead.work.workflow import identity


class By(StrEnum):
    """What is summed up together."""

    AGENT = "agent"
    CARD = "card"
    DAY = "day"
    MODEL = "model"
    PROJECT = "project"


@dataclass(frozen=True, kw_only=True)
class Usage:
    """One sum. input_tokens: the cached ones included. unknown_tokens: held by calls of which nobody knows their use.

    unpriced_tokens: of models without a price, which are not in `micros`. milliseconds: of calls and their tools.
    """

    key: str
    calls: int
    unknown_calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    unknown_tokens: int
    unpriced_tokens: int
    micros: int
    milliseconds: int


_SUMMED = (
    usage_day.c.calls,
    usage_day.c.unknown_calls,
    usage_day.c.input_tokens,
    usage_day.c.output_tokens,
    usage_day.c.cached_tokens,
    usage_day.c.unknown_tokens,
    usage_day.c.unpriced_tokens,
    usage_day.c.micros,
    usage_day.c.milliseconds,
)
# `.` is the character after `-`, so the range is every id that goes on after `card_id-`.
_WHERE = and_(
    usage_day.c.project_id == bindparam("k_project_id"),
    usage_day.c.day >= bindparam("k_since"),
    or_(
        bindparam("k_card_id") == bindparam("k_root"),
        usage_day.c.card_id == bindparam("k_card_id"),
        and_(usage_day.c.card_id >= bindparam("k_from"), usage_day.c.card_id < bindparam("k_before")),
    ),
)


def _summing(*keys: Column[str]) -> Prepared:
    # PostgreSQL sums whole numbers up to decimals.
    sums = (as_type(sum_of(one), BigInteger) for one in _SUMMED)
    return prepared(select(*keys, *sums).where(_WHERE).group_by(*keys).order_by(*keys))


_SUMS: Mapping[By, Prepared] = {
    By.AGENT: _summing(usage_day.c.agent),
    By.CARD: _summing(usage_day.c.card_id),
    By.DAY: _summing(usage_day.c.day),
    By.MODEL: _summing(usage_day.c.provider, usage_day.c.model),
    By.PROJECT: _summing(usage_day.c.project_id),
}
_USES = prepared(
    select(
        budget_use.c.kind,
        budget_use.c.name,
        budget_use.c.calls,
        budget_use.c.unknown_calls,
        budget_use.c.tokens,
        budget_use.c.unpriced_tokens,
        budget_use.c.micros,
        budget_use.c.milliseconds,
    ).where(budget_use.c.project_id == bindparam("k_project_id"))
)


def summed(tx: Tx, project_id: str, by: By, *, since: str, card_id: str = identity.ROOT) -> list[Usage]:
    """The sums, the newest day or the largest use first. since: the first day. card_id: with all below it."""
    rows = tx.all(
        _SUMS[by],
        k_project_id=project_id,
        k_since=since,
        k_card_id=card_id,
        k_root=identity.ROOT,
        k_from=f"{card_id}-",
        k_before=f"{card_id}.",
    )
    found = [_usage(row, keys=2 if by is By.MODEL else 1) for row in rows]
    if by is By.DAY:
        return found[::-1]
    return sorted(found, key=lambda one: (-one.micros, -one.input_tokens - one.output_tokens, one.key))


def uses(tx: Tx, project_id: str) -> dict[Target, Spent]:
    """What was spent so far by everything that a budget can be of."""
    return {
        Target(kind=Kind(cast("str", row[0])), name=cast("str", row[1])): Spent(
            calls=cast("int", row[2]),
            unknown_calls=cast("int", row[3]),
            tokens=cast("int", row[4]),
            unpriced_tokens=cast("int", row[5]),
            micros=cast("int", row[6]),
            milliseconds=cast("int", row[7]),
        )
        for row in tx.all(_USES, k_project_id=project_id)
    }


def _usage(row: Row, *, keys: int) -> Usage:
    counted = cast("tuple[int, ...]", row[keys:])
    return Usage(
        key=":".join(cast("tuple[str, ...]", row[:keys])),
        calls=counted[0],
        unknown_calls=counted[1],
        input_tokens=counted[2],
        output_tokens=counted[3],
        cached_tokens=counted[4],
        unknown_tokens=counted[5],
        unpriced_tokens=counted[6],
        micros=counted[7],
        milliseconds=counted[8],
    )
