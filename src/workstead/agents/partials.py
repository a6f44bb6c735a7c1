"""Partials: what models are writing right now, for whoever watches; in memory, bounded, lossy, never a row (W13).

Each belongs to one exchange and one conversation. A watcher gets the whole of what may be shown, not pieces, so that
one who comes late or falls behind misses nothing that counts. Nothing is redacted while nobody watches.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

import anyio

from workstead.kernel.redaction import Redactor

KEPT_CHARS = 64 << 10
SHOWN_CHARS = 8 << 10
MAX_WRITERS = 256
PAUSE_S = 0.08


class State(StrEnum):
    """Where an answer stands. done: its rows follow. dropped: none do."""

    WRITING = "writing"
    DONE = "done"
    DROPPED = "dropped"


@dataclass(frozen=True, kw_only=True)
class Partial:
    """What a watcher sees. text: the end of what may be shown, redacted. cut: more stands before it."""

    exchange: str
    state: State
    text: str
    cut: bool
    tool: str | None


# How it stands where no answer is being written.
NOTHING = Partial(exchange="", state=State.DROPPED, text="", cut=False, tool=None)


class Writer:
    """One answer as it is written: the listener of a model call."""

    def __init__(self, conversation: str, exchange: str) -> None:
        self.conversation = conversation
        self.exchange = exchange
        self.state = State.WRITING
        self.tool: str | None = None
        self.changed = anyio.Event()
        self.turned = anyio.Event()
        self._pieces: list[str] = []
        self._chars = 0
        self._shown: Partial | None = None

    def said(self, text: str) -> None:
        """Keep a piece, as far as there is room."""
        if self._chars < KEPT_CHARS:
            self._pieces.append(text[: KEPT_CHARS - self._chars])
            self._chars += len(text)
            self._wake()

    def writes(self, tool: str) -> None:
        """Show which tool is called next."""
        if tool != self.tool:
            self.tool = tool
            self._wake()

    def again(self) -> None:
        """Forget an attempt that came to nothing."""
        if self._chars or self.tool is not None:
            self._pieces, self._chars, self.tool = [], 0, None
            self._turn()

    def end(self, state: State) -> None:
        """No more follows."""
        self.state = state
        self._turn()

    def shown(self, redactor: Redactor) -> Partial:
        """What may be seen now; made once for all watchers."""
        if self._shown is None:
            whole = "".join(self._pieces)
            self._pieces = [whole]
            text = redactor.unfinished(whole).text if self.state is State.WRITING else ""
            self._shown = Partial(
                exchange=self.exchange,
                state=self.state,
                text=_tail(text),
                cut=len(text) > SHOWN_CHARS,
                tool=self.tool,
            )
        return self._shown

    def _turn(self) -> None:
        """What was shown holds no longer: whoever pauses before the next look looks now."""
        self._wake()
        self.turned.set()
        self.turned = anyio.Event()

    def _wake(self) -> None:
        self._shown = None
        self.changed.set()
        self.changed = anyio.Event()


class Partials:
    """Every answer that is being written in this process. Used on the loop only.

    pause_s: how long a watcher is left alone between two pieces of one answer.
    """

    def __init__(self, redactor: Redactor, *, pause_s: float = PAUSE_S) -> None:
        self._redactor = redactor
        self._pause_s = pause_s
        self._writers: dict[tuple[str, str], Writer] = {}
        self._begun = anyio.Event()

    @contextmanager
    def listening(self, scope: str, conversation: str, exchange: str) -> Iterator[Writer | None]:
        """The listener for one model call; None where too many are being written."""
        key = (scope, conversation)
        if len(self._writers) >= MAX_WRITERS and key not in self._writers:
            yield None
            return
        writer = Writer(conversation, exchange)
        self._writers[key] = writer
        self._begun.set()
        self._begun = anyio.Event()
        state = State.DROPPED
        try:
            yield writer
            state = State.DONE
        finally:
            if self._writers.get(key) is writer:
                del self._writers[key]
            writer.end(state)

    @property
    def count(self) -> int:
        """How many answers are being written now."""
        return len(self._writers)

    def writing(self, scope: str, conversation: str) -> bool:
        """Whether an answer is being written there."""
        return (scope, conversation) in self._writers

    async def follow(self, scope: str, conversation: str) -> AsyncGenerator[Partial, None]:
        """The newest state of each answer in one conversation; what was between is lost.

        Begins with how it stands now, also where nothing is being written, so that a watcher who was away drops what
        they kept. More of the same text comes at most once in the pause; the end and the first words of the next come
        at once.
        """
        if (scope, conversation) not in self._writers:
            yield NOTHING
        while True:
            begun = self._begun
            writer = self._writers.get((scope, conversation))
            if writer is None:
                await begun.wait()
                continue
            seen: Partial | None = None
            while seen is None or seen.state is State.WRITING:
                changed, turned = writer.changed, writer.turned
                now = writer.shown(self._redactor)
                if now != seen:
                    seen = now
                    yield now
                    if now.text:  # the first words are never held up
                        with anyio.move_on_after(self._pause_s):
                            await turned.wait()
                elif writer.state is State.WRITING:
                    await changed.wait()


def _tail(text: str) -> str:
    """The end of a redacted text, from a line or a word on, so that nothing is cut through."""
    if len(text) <= SHOWN_CHARS:
        return text
    start = len(text) - SHOWN_CHARS
    for mark in ("\n", " "):
        found = text.find(mark, start)
        if found >= 0:
            return text[found + 1 :]
    return text[start:]
