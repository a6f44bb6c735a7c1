"""Server-sent events: a strict reader of one stream, fed with bytes as they arrive. Pure.

Broken UTF-8 and oversized events end the stream; nothing is skipped or repaired, because what was lost could be
part of an answer.
"""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

MAX_EVENT_CHARS = 16 << 20

_BOM = "\ufeff"


class BrokenStreamError(Exception):
    """The bytes are no event stream; what was read before stands."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event. name: `message` when the stream names none. data: its lines joined with a line feed."""

    name: str
    data: str


class Reader:
    """Reads lines that end in CR, LF or CRLF, in any mixture and however the bytes were cut."""

    def __init__(self, *, max_event_chars: int = MAX_EVENT_CHARS) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="strict")
        self._max = max_event_chars
        self._line: list[str] = []  # pieces of the line that is not ended yet
        self._after_cr = False
        self._first = True
        self._name = ""
        self._data: list[str] = []
        self._chars = 0

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that these bytes complete. Raises BrokenStreamError."""
        yield from self._text(self._decoded(chunk, final=False))

    def end(self) -> Iterator[Event]:
        """What the end of the stream completes: an unended line, and the event that only lacked its blank line."""
        yield from self._text(self._decoded(b"", final=True))
        if self._line:
            yield from self._take("".join(self._line))
            self._line = []
        yield from self._dispatch()

    def _decoded(self, chunk: bytes, *, final: bool) -> str:
        try:
            text = self._decoder.decode(chunk, final)
        except UnicodeDecodeError:
            raise BrokenStreamError("The stream is not UTF-8.") from None
        if self._first and text:
            self._first = False
            return text.removeprefix(_BOM)
        return text

    def _text(self, text: str) -> Iterator[Event]:
        if self._after_cr and text:
            # The other half of a CRLF that was cut in two.
            text = text.removeprefix("\n")
            self._after_cr = False
        if text.endswith("\r"):
            self._after_cr = True
        self._chars += len(text)
        *ended, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for piece in ended:
            line = "".join((*self._line, piece))
            self._line = []
            yield from self._take(line)
        if rest:
            self._line.append(rest)
        if self._chars > self._max:
            raise BrokenStreamError(f"An event of the stream is larger than {self._max} characters.")

    def _take(self, line: str) -> Iterator[Event]:
        if not line:
            yield from self._dispatch()
            return
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value

    def _dispatch(self) -> Iterator[Event]:
        name, data = self._name or "message", self._data
        self._name, self._data, self._chars = "", [], 0
        if data:
            yield Event(name=name, data="\n".join(data))
