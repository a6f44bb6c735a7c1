"""Patience: how long a connection may take to say what it wants, how much it may say, and how many there may be.

The server's own protocol waits for ever for the end of a request's head and keeps any number of header lines; whoever
drips bytes, or never stops, would hold a connection and its memory for nothing.
"""

import contextlib
import resource
from typing import Any

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

WAIT_S = 10.0
HEAD_LIMIT_BYTES = 64 * 1024
CONNECTIONS_MOST = 4096
# Beside connections: the database, files of projects, pipes of commands.
FILES_BESIDE = 1024

_LOG = structlog.get_logger()
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: 31\r\nconnection: close\r\n\r\nSend at most 64 KiB of headers\n"
)


class Patient(HttpToolsProtocol):
    """A connection that is closed when its next request does not come to the end of its head in time."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head_bytes = 0
        self._in_head = True
        self._waiting: Any = None

    def connection_made(self, transport: Any) -> None:
        """Take it, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS_MOST:
            transport.abort()
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, at most so much of a head."""
        in_head = self._in_head
        super().data_received(data)
        if not (in_head and self._in_head):
            return
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_LIMIT_BYTES and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def on_message_begin(self) -> None:
        """A request's first line has begun to come."""
        super().on_message_begin()
        self._head_bytes = 0
        self._in_head = True
        if self._waiting is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """A request's head is whole; its door decides how long its body may take."""
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """A request is whole; another may begin."""
        super().on_message_complete()
        self._stop_waiting()
        self._in_head = True
        self._head_bytes = 0

    def on_response_complete(self) -> None:
        """It was answered; a request that was answered before it was whole is not waited for much longer."""
        super().on_response_complete()
        if not self._in_head and self._waiting is None and not self.transport.is_closing():
            self._wait()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(WAIT_S, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if not self.transport.is_closing():
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
