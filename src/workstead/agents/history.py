"""History: the rows of a conversation that a model is sent: what its segment begins with, then every row since."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from workstead.agents import conversations, genesis, reasoning, shown
from workstead.agents.conversations import Row, RowKind
from workstead.agents.genesis import Genesis
from workstead.agents.models.shape import Call, Message, Private, Role
from workstead.agents.shown import Shown
from workstead.kernel import canonical
from workstead.kernel.canonical import Json
from workstead.kernel.transaction import Tx

_BEGIN_TOKENS = 16
_PAGE = 500
_UNSENT = frozenset({RowKind.SEGMENT, RowKind.SHOWN})
_SILENT = Message(role=Role.ASSISTANT, text="")


class History:
    """One segment of a conversation in memory: read once, then only what was appended since.

    A segment is bounded, because a conversation is shortened before it outgrows its models; what came before it is
    never read. begins: what the segment begins with, None in the first.
    """

    def __init__(self, conversation_id: str) -> None:
        self._conversation_id = conversation_id
        self._known: tuple[Shown, ...] = ()
        self.begins: Genesis | None = None
        self.segment = 1
        self.rows: list[Row] = []
        self.last = 0

    @property
    def first(self) -> int:
        """The number of the first row that is sent; 0 while there is none."""
        return self.rows[0].number if self.rows else 0

    @property
    def shown(self) -> tuple[Shown, ...]:
        """The versions of records that this conversation was shown last."""
        return self._known

    def catch_up(self, tx: Tx) -> None:
        """Read the rows that were appended since the last time."""
        if not self.last:
            self._begin(tx)
        while page := conversations.rows_after(tx, self._conversation_id, after=self.last, limit=_PAGE):
            self.last = page[-1].number
            for row in page:
                self._take(row)

    def messages(self) -> tuple[Message, ...]:
        """What a model is sent of the history."""
        return sent(self.begins, self.rows)

    def _begin(self, tx: Tx) -> None:
        one = conversations.read(tx, self._conversation_id)
        if one is None or not one.genesis_row:
            return
        begins = conversations.row_at(tx, self._conversation_id, one.genesis_row)
        if begins is None:
            raise LookupError(f"{self._conversation_id} lacks row {one.genesis_row}")
        self._adopt(begins)
        self.last = self.begins.covered_through if self.begins is not None else 0

    def _take(self, row: Row) -> None:
        if row.kind is RowKind.SEGMENT:
            # One that an earlier segment began with stands for less than what is held already.
            if row.segment > self.segment:
                self._adopt(row)
            return
        self.rows.append(row)
        if row.kind is RowKind.SHOWN:
            self._known = shown.newest((*self._known, *shown.of_row(row)))

    def _adopt(self, row: Row) -> None:
        self.begins = genesis.of_row(row)
        self.segment = row.segment
        self.rows = [each for each in self.rows if each.number > self.begins.covered_through]
        self._known = shown.newest((*self.begins.facts.shown, *self._known))


def sent(begins: Genesis | None, rows: Sequence[Row]) -> tuple[Message, ...]:
    """What a model is sent of a segment."""
    told = (begins.message(),) if begins is not None else ()
    return (*told, *to_messages(rows))


def to_messages(rows: Sequence[Row]) -> tuple[Message, ...]:
    """Rows as messages: an answer's text and calls are one, each result follows as its own."""
    made: list[Message] = []
    thought: tuple[Private, ...] = ()
    for row in rows:
        if row.kind in _UNSENT:
            continue
        content = cast("dict[str, Json]", row.content)
        match row.kind:
            case RowKind.ACTIVATION:
                made.append(Message(role=Role.USER, text=f"[Activation begins at {row.at}.]"))
            case RowKind.TOOL_CALL:
                call = Call(
                    id=cast("str", content["id"]), name=row.tool or "", arguments=cast("str", content["arguments"])
                )
                answer = made.pop() if made[-1:] and made[-1].role is Role.ASSISTANT else _SILENT
                made.append(replace(answer, calls=(*answer.calls, call)))
            case RowKind.TOOL_RESULT:
                text = canonical.text(content["result"])
                made.append(Message(role=Role.TOOL, text=text, call_id=cast("str", content["id"])))
            case RowKind.PRIVATE:
                thought = reasoning.of_row(row)
            case _:
                made.append(Message(role=row.role, text=cast("str", content["text"]), private=thought))
                thought = ()
    return tuple(made)


def tokens_of(row: Row) -> int:
    """What a row is taken for when it is decided what stays; at least one, nothing for what no model is sent."""
    if row.kind in _UNSENT:
        return 0
    # The instructions that an activation's row records are no part of what is sent of it.
    return _BEGIN_TOKENS if row.kind is RowKind.ACTIVATION else -(-len(canonical.dump(row.content)) // 4)
