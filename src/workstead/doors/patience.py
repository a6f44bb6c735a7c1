"""Patience: how long a connection may take to say what it wants, how much it may say, and how many there may be.

The server's own protocol waits for ever for the end of a request's head and keeps any number of header lines; whoever
drips bytes, or never stops, would hold a connection and its memory for nothing. It also writes an answer's head and its
body apart, which wakes a client twice for one answer; here they leave together.
"""

import contextlib
import resource
from asyncio import AbstractEventLoop, Transport
from typing import Any, Literal, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from workstead.logger import get_logger

HEAD_WAIT_S = 10.0
BODY_WAIT_S = 10.0
HEAD_LIMIT_BYTES = 64 * 1024
CONNECTIONS_MOST = 4096
# Beside connections: the database, files of projects, pipes of commands.
FILES_BESIDE = 1024

_LOG = get_logger()
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: 31\r\nconnection: close\r\n\r\nSend at most 64 KiB of headers\n"
)
_TOO_SLOW_BODY = f"The body did not come within {BODY_WAIT_S:g} s; send it again.\n"
_TOO_SLOW = (
    "HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\n"
    f"content-length: {len(_TOO_SLOW_BODY)}\r\nconnection: close\r\n\r\n{_TOO_SLOW_BODY}"
).encode()
_HELD_MOST_BYTES = 16 * 1024


Part = Literal["nothing", "head", "body"]
_WAITS_S: dict[Part, float] = {"head": HEAD_WAIT_S, "body": BODY_WAIT_S}


class Joined:
    """A connection's way out on which what is written in one turn of the loop leaves in one piece."""

    def __init__(self, way: Transport, loop: AbstractEventLoop) -> None:
        self._way = way
        self._loop = loop
        self._held: list[bytes] = []
        self._held_bytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._way, name)

    def write(self, data: bytes) -> None:
        """Keep it until the turn ends; much goes at once, so that a slow reader is noticed."""
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > _HELD_MOST_BYTES:
            self._flush()

    def close(self) -> None:
        """Send what is held, then close."""
        self._flush()
        self._way.close()

    def abort(self) -> None:
        """Close at once; what is held is lost like everything that is under way."""
        self._held.clear()
        self._held_bytes = 0
        self._way.abort()

    def _flush(self) -> None:
        if self._held:
            held = b"".join(self._held)
            self._held.clear()
            self._held_bytes = 0
            self._way.write(held)


class Patient(HttpToolsProtocol):
    """A connection that is closed when what has begun on it does not come to its end in time.

    A request that comes in one piece, as almost all do, sets no timer.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._part: Part = "nothing"
        self._awaited: Part = "nothing"
        self._head_bytes = 0
        self._timer: Any = None

    def connection_made(self, transport: Any) -> None:
        """Take it, unless there are too many; it has to say something soon."""
        super().connection_made(cast("Transport", Joined(transport, self.loop)))
        if len(self.connections) > CONNECTIONS_MOST:
            transport.abort()
            return
        self._wait("head", HEAD_WAIT_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, for so long, and at most so much of a head."""
        super().data_received(data)
        part = self._part
        if part == "nothing":
            self._stop_waiting()
            return
        if part != self._awaited:
            self._wait(part, _WAITS_S[part])
        if part == "head":
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_LIMIT_BYTES and not self.transport.is_closing():
                self.transport.write(_TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """A request's first line has begun to come."""
        self._part = "head"
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A request's head is whole; its body may take longer, or less where its door says so."""
        self._part = "body"
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """A request is whole; another may begin."""
        self._part = "nothing"
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """It was answered; a request that was answered before it was whole is not waited for much longer."""
        super().on_response_complete()
        if self._part == "body" and not self.transport.is_closing():
            self._wait("body", HEAD_WAIT_S)

    def _wait(self, part: Part, seconds: float) -> None:
        self._stop_waiting()
        self._awaited = part
        self._timer = self.loop.call_later(seconds, self._give_up)

    def _stop_waiting(self) -> None:
        self._awaited = "nothing"
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self._awaited == "body" and not self.cycle.response_started:
            self.transport.write(_TOO_SLOW)
            self.transport.close()
        else:
            self.transport.abort()


def make_room() -> int:
    """Let the process have as many open files as connections may come and work needs; returns how many it has."""
    wanted = CONNECTIONS_MOST + FILES_BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        _LOG.warning("few open files are allowed; many clients at once will be turned away", allowed=soft)
    return soft
