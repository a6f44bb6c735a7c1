"""Exchanges as they are read: what was asked of whom, how long it took and how it ended; no body was ever kept."""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import ColumnElement, and_, bindparam, literal_column, or_, select
from sqlalchemy.sql.functions import coalesce

from workstead.agents.tables import conversation, conversation_row, exchange, exchange_end
from workstead.kernel.store import Row, prepared
from workstead.kernel.transaction import Tx

# No key sorts after it: ids are UUIDs.
_LAST = "~"
# An answer's rows stand right behind those that were sent.
_ANSWER_WITHIN_ROWS = 50


@dataclass(frozen=True, kw_only=True)
class End:
    """How a call ended. failure: a word of `failure_words`. attempts: None where nothing went over a wire."""

    ended: str
    at: str
    finish: str | None
    failure: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    provider: str | None
    model: str | None
    sent_digest: str | None
    sent_bytes: int | None
    attempts: int | None


@dataclass(frozen=True, kw_only=True)
class Found:
    """One exchange with its place. end: None while the call is made."""

    id: str
    card_id: str
    agent: str
    activation_id: str
    purpose: str
    segment: int
    first_row: int
    last_row: int
    provider: str
    model: str
    prefix_digest: str
    tools_digest: str
    request_bytes: int
    at: str
    end: End | None


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which exchanges. Empty texts take all; `failed` takes those without an answer only."""

    card_id: str = ""
    agent: str = ""
    provider: str = ""
    failed: bool = False


_END_COLUMNS = (
    exchange_end.c.ended,
    exchange_end.c.at,
    exchange_end.c.finish,
    exchange_end.c.failure,
    exchange_end.c.input_tokens,
    exchange_end.c.output_tokens,
    exchange_end.c.cached_tokens,
    exchange_end.c.provider,
    exchange_end.c.model,
    exchange_end.c.sent_digest,
    exchange_end.c.sent_bytes,
    exchange_end.c.attempts,
)
_COLUMNS = (
    exchange.c.id,
    conversation.c.card_id,
    conversation.c.agent,
    exchange.c.activation_id,
    exchange.c.purpose,
    exchange.c.segment,
    exchange.c.first_row,
    exchange.c.last_row,
    exchange.c.provider,
    exchange.c.model,
    exchange.c.prefix_digest,
    exchange.c.tools_digest,
    exchange.c.request_bytes,
    exchange.c.at,
)
_JOINED = (
    select(*_COLUMNS, *_END_COLUMNS)
    .join(conversation, conversation.c.id == exchange.c.conversation_id)
    .outerjoin(exchange_end, exchange_end.c.exchange_id == exchange.c.id)
    .where(exchange.c.project_id == bindparam("k_project_id"))
)
_ALL: ColumnElement[str] = literal_column("''")
_PAGE = prepared(
    _JOINED.where(
        exchange.c.id < bindparam("k_before"),
        or_(bindparam("k_card_id") == _ALL, conversation.c.card_id == bindparam("k_card_id")),
        or_(bindparam("k_agent") == _ALL, conversation.c.agent == bindparam("k_agent")),
        or_(
            bindparam("k_provider") == _ALL,
            coalesce(exchange_end.c.provider, exchange.c.provider) == bindparam("k_provider"),
        ),
        or_(
            bindparam("k_failed") == literal_column("0"),
            and_(exchange_end.c.ended.is_not(None), exchange_end.c.ended != literal_column("'done'")),
        ),
    )
    .order_by(exchange.c.id.desc())
    .limit(bindparam("k_limit"))
    .offset(literal_column("0"))
)
_ONE = prepared(_JOINED.where(exchange.c.id == bindparam("k_id")))
_ANSWER = prepared(
    select(conversation_row.c.number)
    .join(exchange, exchange.c.conversation_id == conversation_row.c.conversation_id)
    .where(
        exchange.c.id == bindparam("k_id"),
        conversation_row.c.number > bindparam("k_after"),
        conversation_row.c.number <= bindparam("k_until"),
        conversation_row.c.input_id == bindparam("k_id"),
    )
    .order_by(conversation_row.c.number)
    .limit(literal_column("1"))
    .offset(literal_column("0"))
)


def page(tx: Tx, project_id: str, wanted: Wanted, *, before: str | None, limit: int) -> tuple[Found, ...]:
    """The exchanges of a project, newest first. before: the id that the page before ended with."""
    rows = tx.all(
        _PAGE,
        k_project_id=project_id,
        k_before=before or _LAST,
        k_card_id=wanted.card_id,
        k_agent=wanted.agent,
        k_provider=wanted.provider,
        k_failed=int(wanted.failed),
        k_limit=limit,
    )
    return tuple(map(_found, rows))


def one(tx: Tx, project_id: str, exchange_id: str) -> Found | None:
    """One exchange of a project."""
    row = tx.one(_ONE, k_project_id=project_id, k_id=exchange_id)
    return _found(row) if row is not None else None


def answer_row(tx: Tx, found: Found) -> int | None:
    """The number of the row that its answer begins with; None where it has none."""
    until = found.last_row + _ANSWER_WITHIN_ROWS
    row = tx.one(_ANSWER, k_id=found.id, k_after=found.last_row, k_until=until)
    return cast("int", row[0]) if row is not None else None


def _found(row: Row) -> Found:
    values = dict(zip((column.name for column in _COLUMNS), row[: len(_COLUMNS)], strict=True))
    ends = dict(zip((column.name for column in _END_COLUMNS), row[len(_COLUMNS) :], strict=True))
    end = End(**cast("dict[str, str]", ends)) if ends["ended"] is not None else None  # type: ignore[arg-type]
    return Found(**cast("dict[str, str]", values), end=end)  # type: ignore[arg-type]
