"""History: the rows of a conversation as the messages a model is sent, bounded, with omission declared."""

from collections.abc import Sequence
from typing import cast

from workstead.agents import conversations
from workstead.agents.conversations import Row, RowKind
from workstead.agents.models.shape import Call, Message, Role
from workstead.kernel import canonical
from workstead.kernel.canonical import Json
from workstead.kernel.transaction import Tx

LIMIT_BYTES = 400_000
_PAGE = 500
_SILENT = Message(role=Role.ASSISTANT, text="")


class History:
    """The trusted tail of one conversation in memory: read once from its end, then only what was appended since."""

    def __init__(self, conversation_id: str) -> None:
        self._conversation_id = conversation_id
        self._rows: list[Row] = []
        self._bytes = 0
        self.omitted = 0
        self.last = 0

    @property
    def first(self) -> int:
        """The number of the first row that is sent; 0 while there is none."""
        return self._rows[0].number if self._rows else 0

    def catch_up(self, tx: Tx) -> None:
        """Read the rows that were appended since the last time."""
        if not self.last:
            self._read_tail(tx)
        while page := conversations.rows_after(tx, self._conversation_id, after=self.last, limit=_PAGE):
            for row in page:
                self._rows.append(row)
                self._bytes += _size(row)
            self.last = page[-1].number
            self._drop_old()

    def messages(self) -> tuple[Message, ...]:
        """What a model is sent of the history."""
        told = [_omission(self.omitted)] if self.omitted else []
        return (*told, *to_messages(self._rows))

    def _read_tail(self, tx: Tx) -> None:
        """The first time: backwards, page by page, until more than fits is held; a long past is never walked."""
        one = conversations.read(tx, self._conversation_id)
        before = one.rows + 1 if one is not None else 1
        newest_first: list[Row] = []
        whole = False  # an activation that is held from its begin
        while before > 1 and not (whole and self._bytes > LIMIT_BYTES):
            page = conversations.rows_before(tx, self._conversation_id, before=before, limit=_PAGE)
            newest_first += page
            self._bytes += sum(_size(row) for row in page)
            whole = whole or any(row.kind is RowKind.ACTIVATION for row in page)
            before = page[-1].number
        self._rows = newest_first[::-1]
        self.omitted = before - 1
        self.last = self._rows[-1].number if self._rows else 0
        if before > 1:
            # The rest of an activation whose begin is not held.
            self._drop_before(self._begins()[0])
        self._drop_old()

    def _drop_old(self) -> None:
        """Let go of whole activations from the front until the rest fits; the newest always stays."""
        while self._bytes > LIMIT_BYTES:
            later = [index for index in self._begins() if index > 0]
            if not later:
                return
            self._drop_before(later[0])

    def _begins(self) -> list[int]:
        return [index for index, row in enumerate(self._rows) if row.kind is RowKind.ACTIVATION]

    def _drop_before(self, index: int) -> None:
        self._bytes -= sum(_size(row) for row in self._rows[:index])
        self.omitted += index
        del self._rows[:index]


def to_messages(rows: Sequence[Row]) -> tuple[Message, ...]:
    """Rows as messages: an answer's text and calls are one, each result follows as its own."""
    made: list[Message] = []
    for row in rows:
        content = cast("dict[str, Json]", row.content)
        match row.kind:
            case RowKind.ACTIVATION:
                made.append(Message(role=Role.USER, text=f"[Activation begins at {row.at}.]"))
            case RowKind.TOOL_CALL:
                call = Call(
                    id=cast("str", content["id"]), name=row.tool or "", arguments=cast("str", content["arguments"])
                )
                answer = made.pop() if made[-1:] and made[-1].role is Role.ASSISTANT else _SILENT
                made.append(Message(role=Role.ASSISTANT, text=answer.text, calls=(*answer.calls, call)))
            case RowKind.TOOL_RESULT:
                text = canonical.text(content["result"])
                made.append(Message(role=Role.TOOL, text=text, call_id=cast("str", content["id"])))
            case _:
                made.append(Message(role=row.role, text=cast("str", content["text"])))
    return tuple(made)


def _omission(rows: int) -> Message:
    return Message(role=Role.USER, text=f"[{rows} earlier rows of this conversation are not repeated here.]")


def _size(row: Row) -> int:
    return len(canonical.dump(row.content)) + 64
