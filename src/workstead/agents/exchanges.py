"""Exchanges: one model call each, claimed before and ended after; the request's body is never kept."""

from dataclasses import dataclass

from sqlalchemy import bindparam, insert, literal_column, select, update

from workstead.agents import budgets
from workstead.agents.models.shape import Finish, Purpose, Sent, Usage
from workstead.agents.tables import exchange, exchange_end
from workstead.kernel.effects import Ended
from workstead.kernel.store import prepared
from workstead.kernel.transaction import Tx


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """What was sent, by position, digest and size."""

    id: str
    project_id: str
    conversation_id: str
    activation_id: str
    effect_id: str
    purpose: Purpose
    segment: int
    first_row: int
    last_row: int
    provider: str
    model: str
    prefix_digest: str
    tools_digest: str
    request_bytes: int


_ADD = prepared(insert(exchange))
_END = prepared(insert(exchange_end))
_CLOSE = prepared(update(exchange).where(exchange.c.id == bindparam("k_id")).values(open=literal_column("0")))
_OPEN = prepared(
    select(exchange.c.id).where(
        exchange.c.project_id == bindparam("k_project_id"), exchange.c.open == literal_column("1")
    )
)


def add(tx: Tx, one: Exchange) -> None:
    """Write the row before the call."""
    tx.run(
        _ADD,
        id=one.id,
        project_id=one.project_id,
        conversation_id=one.conversation_id,
        activation_id=one.activation_id,
        effect_id=one.effect_id,
        purpose=one.purpose.value,
        segment=one.segment,
        first_row=one.first_row,
        last_row=one.last_row,
        provider=one.provider,
        model=one.model,
        prefix_digest=one.prefix_digest,
        tools_digest=one.tools_digest,
        request_bytes=one.request_bytes,
        at=tx.at,
        open=1,
    )


def end_unknown(tx: Tx, project_id: str) -> int:
    """Mark calls whose server is gone; nobody knows what they came to, and nothing is asked again."""
    budgets.settle_unknown(tx, project_id)
    found = tx.all(_OPEN, k_project_id=project_id)
    for row in found:
        end(tx, str(row[0]), ended=Ended.UNKNOWN, finish=None, failure=None, usage=Usage())
    return len(found)


def end(
    tx: Tx,
    exchange_id: str,
    *,
    ended: Ended,
    finish: Finish | None,
    failure: str | None,
    usage: Usage,
    sent: Sent | None = None,
) -> None:
    """Write the row after the call.

    failure: a word of `failure_words`, never a provider's text. sent: what the last attempt was; None where
    nothing went over a wire.
    """
    tx.run(
        _END,
        exchange_id=exchange_id,
        ended=ended.value,
        finish=finish.value if finish is not None else None,
        failure=failure,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        provider=sent.candidate.provider if sent is not None else None,
        model=sent.candidate.model if sent is not None else None,
        sent_digest=sent.digest if sent is not None else None,
        sent_bytes=sent.size_bytes if sent is not None else None,
        attempts=sent.attempts if sent is not None else None,
        at=tx.at,
    )
    tx.run(_CLOSE, k_id=exchange_id)
