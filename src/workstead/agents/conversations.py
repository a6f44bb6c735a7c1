"""Conversations: an agent's durable transcript on a card (W13); rows are appended and never changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from sqlalchemy import bindparam, insert, literal_column, or_, select, update

from workstead import errors
from workstead.agents.models.shape import Role
from workstead.agents.tables import conversation, conversation_row
from workstead.kernel import canonical, feed
from workstead.kernel import scopes as lock_scopes
from workstead.kernel.canonical import Json
from workstead.kernel.store import Row as StoredRow
from workstead.kernel.store import prepared
from workstead.kernel.transaction import Tx


class RowKind(StrEnum):
    """What a row is."""

    ACTIVATION = "activation"  # an activation begins here, with the instructions as they were prepared
    CONTEXT = "context"  # what led here: entry, transition, reviewer context
    CORRECTION = "correction"  # why an answer was not accepted
    NOTIFICATION = "notification"
    PRIVATE = "private"  # reasoning of an answer, which only its provider reads again; no page shows it
    RECOVERED = "recovered"  # says that what came before was interrupted
    REFUSAL = "refusal"  # a provider refused twice; the card was blocked
    REFUSAL_RETRY = "refusal_retry"  # the notice with which a refused request is made once more
    SEGMENT = "segment"  # a shortened conversation begins: what stands for everything before
    SHOWN = "shown"  # which versions of records the agent was shown; no model is sent this row
    TEXT = "text"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """segment, genesis_row: how often it was shortened, and the row that stands for what is no longer sent (0: none).

    rows: the number of its last row. answer_row: where the last answer begins.
    """

    id: str
    project_id: str
    card_id: str
    agent: str
    started_at: str
    segment: int
    genesis_row: int
    rows: int
    answer_row: int


@dataclass(frozen=True, kw_only=True)
class NewRow:
    """A row to append. call_id: of a tool call and of its result."""

    kind: RowKind
    role: Role
    content: Json
    input_id: str | None = None
    call_id: str | None = None
    tool: str | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """A stored row."""

    number: int
    segment: int
    kind: RowKind
    role: Role
    at: str
    activation_id: str
    input_id: str | None
    call_id: str | None
    tool: str | None
    content: Json


_COLUMNS = (
    conversation.c.id,
    conversation.c.project_id,
    conversation.c.card_id,
    conversation.c.agent,
    conversation.c.started_at,
    conversation.c.segment,
    conversation.c.genesis_row,
    conversation.c.rows,
    conversation.c.answer_row,
)
_ADD = prepared(insert(conversation))
_READ = prepared(select(*_COLUMNS).where(conversation.c.id == bindparam("k_id")))
_OF_CARD = prepared(
    select(*_COLUMNS)
    .where(conversation.c.project_id == bindparam("k_project_id"), conversation.c.card_id == bindparam("k_card_id"))
    .order_by(conversation.c.agent)
)
_OF_PROJECT = prepared(
    select(*_COLUMNS)
    .where(conversation.c.project_id == bindparam("k_project_id"))
    .order_by(conversation.c.card_id, conversation.c.agent)
)
_GROW = prepared(
    update(conversation)
    .where(conversation.c.id == bindparam("k_id"))
    .values(rows=conversation.c.rows + bindparam("k_count"))
    .returning(conversation.c.rows, conversation.c.segment)
)
_SHORTEN = prepared(
    update(conversation)
    .where(conversation.c.id == bindparam("k_id"), conversation.c.segment == bindparam("k_segment"))
    .values(
        segment=conversation.c.segment + literal_column("1"),
        genesis_row=conversation.c.rows + literal_column("1"),
    )
)
_ANSWERED = prepared(
    update(conversation).where(conversation.c.id == bindparam("k_id")).values(answer_row=bindparam("answer_row"))
)
_ADD_ROW = prepared(insert(conversation_row))
_ROW_COLUMNS = (
    conversation_row.c.number,
    conversation_row.c.segment,
    conversation_row.c.kind,
    conversation_row.c.role,
    conversation_row.c.at,
    conversation_row.c.activation_id,
    conversation_row.c.input_id,
    conversation_row.c.call_id,
    conversation_row.c.tool,
    conversation_row.c.content,
)
_AFTER = prepared(
    select(*_ROW_COLUMNS)
    .where(
        conversation_row.c.conversation_id == bindparam("k_id"),
        conversation_row.c.number > bindparam("k_after"),
    )
    .order_by(conversation_row.c.number)
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)
_BEFORE = prepared(
    select(*_ROW_COLUMNS)
    .where(
        conversation_row.c.conversation_id == bindparam("k_id"),
        conversation_row.c.number < bindparam("k_before"),
    )
    .order_by(conversation_row.c.number.desc())
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)
_ANSWERS = prepared(
    select(conversation_row.c.number)
    .select_from(conversation_row.join(conversation, conversation.c.id == conversation_row.c.conversation_id))
    .where(
        conversation_row.c.conversation_id == bindparam("k_id"),
        conversation_row.c.number > conversation.c.answer_row,
        conversation_row.c.kind == literal_column("'tool_result'"),
        conversation_row.c.call_id == bindparam("k_call_id"),
    )
)
_REFUSALS = prepared(
    select(*_COLUMNS, *_ROW_COLUMNS)
    .select_from(conversation.join(conversation_row, conversation_row.c.conversation_id == conversation.c.id))
    .where(
        conversation.c.project_id == bindparam("k_project_id"),
        conversation_row.c.kind == literal_column("'refusal'"),
    )
    .order_by(conversation_row.c.at.desc(), conversation.c.id, conversation_row.c.number.desc())
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)
_CALLS = prepared(
    select(*_ROW_COLUMNS)
    .where(
        conversation_row.c.conversation_id == bindparam("k_id"),
        conversation_row.c.number >= bindparam("k_from"),
        or_(
            conversation_row.c.kind == literal_column("'tool_call'"),
            conversation_row.c.kind == literal_column("'tool_result'"),
        ),
    )
    .order_by(conversation_row.c.number)
)


def identity(project_id: str, *, agent: str, card_id: str) -> str:
    """The one id of an agent's conversation on a card, stable for ever."""
    return f"{project_id}/agent:{agent}:{card_id}"


def topic(card_id: str, agent: str) -> str:
    """What feed rows about a conversation are about."""
    return f"conversations/{card_id}/{agent}"


def ensure(tx: Tx, project_id: str, *, agent: str, card_id: str) -> Conversation:
    """The conversation, made when this is its first use."""
    conversation_id = identity(project_id, agent=agent, card_id=card_id)
    found = read(tx, conversation_id)
    if found is not None:
        return found
    made = Conversation(
        id=conversation_id,
        project_id=project_id,
        card_id=card_id,
        agent=agent,
        started_at=tx.at,
        segment=1,
        genesis_row=0,
        rows=0,
        answer_row=0,
    )
    tx.run(
        _ADD,
        id=made.id,
        project_id=project_id,
        card_id=card_id,
        agent=agent,
        started_at=made.started_at,
        segment=made.segment,
        genesis_row=0,
        rows=0,
        answer_row=0,
    )
    return made


def read(tx: Tx, conversation_id: str) -> Conversation | None:
    """One conversation, or None."""
    row = tx.one(_READ, k_id=conversation_id)
    return _conversation(row) if row is not None else None


def of_card(tx: Tx, project_id: str, card_id: str) -> tuple[Conversation, ...]:
    """The conversations on a card, by agent."""
    return tuple(_conversation(row) for row in tx.all(_OF_CARD, k_project_id=project_id, k_card_id=card_id))


def of_project(tx: Tx, project_id: str) -> tuple[Conversation, ...]:
    """Every conversation of a project."""
    return tuple(_conversation(row) for row in tx.all(_OF_PROJECT, k_project_id=project_id))


def append(tx: Tx, one: Conversation, rows: Sequence[NewRow], *, activation_id: str) -> int:
    """Append rows in one batch; returns the number of the last. The cost does not grow with the conversation."""
    grown = tx.one(_GROW, k_id=one.id, k_count=len(rows))
    if grown is None:
        raise LookupError(f"no conversation {one.id}")
    last, segment = cast("tuple[int, int]", grown)
    first = last - len(rows) + 1
    for number, row in enumerate(rows, start=first):
        tx.run(
            _ADD_ROW,
            conversation_id=one.id,
            number=number,
            segment=segment,
            kind=row.kind.value,
            role=row.role.value,
            at=tx.at,
            activation_id=activation_id,
            input_id=row.input_id,
            call_id=row.call_id,
            tool=row.tool,
            content=canonical.text(row.content),
        )
    if any(row.kind is RowKind.TOOL_CALL for row in rows):
        tx.run(_ANSWERED, k_id=one.id, answer_row=first)
    feed.add(
        tx,
        lock_scopes.project(one.project_id),
        feed.Event.CONVERSATION_GREW,
        topic=topic(one.card_id, one.agent),
        revision=last,
    )
    return last


def begin_segment(tx: Tx, one: Conversation, genesis: NewRow, *, segment: int, activation_id: str) -> int:
    """Let the successor of a segment begin with this row; returns its number. Nothing that stands is changed.

    Raises `conflict` `segment_gone` when another successor has begun meanwhile.
    """
    if not tx.run(_SHORTEN, k_id=one.id, k_segment=segment):
        raise errors.conflict("segment_gone", f"Segment {segment} of this conversation has a successor already.")
    return append(tx, one, [genesis], activation_id=activation_id)


def row_at(tx: Tx, conversation_id: str, number: int) -> Row | None:
    """One row, or None."""
    found = rows_after(tx, conversation_id, after=number - 1, limit=1)
    return found[0] if found and found[0].number == number else None


def rows_after(tx: Tx, conversation_id: str, *, after: int = 0, limit: int = 500) -> tuple[Row, ...]:
    """Rows in order, after one of them."""
    found = tx.all(_AFTER, k_id=conversation_id, k_after=after, k_limit=limit, k_offset=0)
    return tuple(_row(row) for row in found)


def rows_before(tx: Tx, conversation_id: str, *, before: int, limit: int = 500) -> tuple[Row, ...]:
    """The rows just before one of them, newest first."""
    found = tx.all(_BEFORE, k_id=conversation_id, k_before=before, k_limit=limit, k_offset=0)
    return tuple(_row(row) for row in found)


def refusals(tx: Tx, project_id: str, *, offset: int, limit: int) -> tuple[tuple[Conversation, Row], ...]:
    """The markers of refusals in a project with the conversations they stand in, newest first."""
    found = tx.all(_REFUSALS, k_project_id=project_id, k_offset=offset, k_limit=limit)
    split = len(_COLUMNS)
    return tuple((_conversation(each[:split]), _row(each[split:])) for each in found)


def answered(tx: Tx, conversation_id: str, call_id: str) -> bool:
    """Whether a call of the last answer has its result."""
    return tx.one(_ANSWERS, k_id=conversation_id, k_call_id=call_id) is not None


def open_calls(tx: Tx, one: Conversation) -> tuple[Row, ...]:
    """The calls of the last answer that no result answers, in answer order."""
    rows = [_row(row) for row in tx.all(_CALLS, k_id=one.id, k_from=one.answer_row)]
    answered = {row.call_id for row in rows if row.kind is RowKind.TOOL_RESULT}
    return tuple(row for row in rows if row.kind is RowKind.TOOL_CALL and row.call_id not in answered)


def _conversation(row: StoredRow) -> Conversation:
    conversation_id, project_id, card_id, agent, started_at, segment, genesis_row, rows, answer_row = row
    return Conversation(
        id=cast("str", conversation_id),
        project_id=cast("str", project_id),
        card_id=cast("str", card_id),
        agent=cast("str", agent),
        started_at=cast("str", started_at),
        segment=cast("int", segment),
        genesis_row=cast("int", genesis_row),
        rows=cast("int", rows),
        answer_row=cast("int", answer_row),
    )


def _row(row: StoredRow) -> Row:
    number, segment, kind, role, at, activation_id, input_id, call_id, tool, content = row
    return Row(
        number=cast("int", number),
        segment=cast("int", segment),
        kind=RowKind(cast("str", kind)),
        role=Role(cast("str", role)),
        at=cast("str", at),
        activation_id=cast("str", activation_id),
        input_id=cast("str | None", input_id),
        call_id=cast("str | None", call_id),
        tool=cast("str | None", tool),
        content=canonical.parse(cast("str", content)),
    )
