"""Streams: a reply that reports while it is made; one JSON value unless something was reported before its end."""

from collections.abc import Mapping

import anyio
from starlette.types import Send

from workstead.doors.mcp import frames
from workstead.doors.mcp.frames import Message
from workstead.kernel.canonical import Json

EVENTS = "text/event-stream"
# A reader that does not read must not hold up what it asked for.
REPORT_WAIT_S = 0.25

_TOKEN_KEY = "progressToken"  # noqa: S105 - the protocol's name for what a report is about


class Stream:
    """What is sent back while one message is answered. Nothing is sent unless its sender asked to be told."""

    def __init__(self, send: Send, *, headers: Mapping[str, str]) -> None:
        self._send = send
        self._headers = headers
        self._accepts = False
        self._token: Json = None
        self._last = float("-inf")
        self.begun = False

    def about(self, message: Message, *, accepted: str) -> None:
        """Report about this message, if it says how and its sender takes streams."""
        self._accepts = EVENTS in accepted.lower()
        meta = message.params.get("_meta")
        token = meta.get(_TOKEN_KEY) if isinstance(meta, dict) else None
        self._token = token if isinstance(token, str | int) and not isinstance(token, bool) else None

    async def report(self, *, done: float, total: float | None = None, message: str = "") -> None:
        """Send how far it is; one that does not go forward is left out, as the protocol wants it."""
        if not self._accepts or self._token is None or done <= self._last:
            return
        self._last = done
        params: dict[str, Json] = {"progressToken": self._token, "progress": done}
        params |= {"total": total} if total is not None else {}
        params |= {"message": message} if message else {}
        with anyio.move_on_after(REPORT_WAIT_S):
            await self._begin()
            await self._event(frames.notification("notifications/progress", params), more=True)

    async def end(self, body: bytes) -> None:
        """Send the answer as the last event."""
        await self._event(body, more=False)

    async def _begin(self) -> None:
        if self.begun:
            return
        self.begun = True
        headers = {**self._headers, "content-type": EVENTS, "cache-control": "no-store", "x-accel-buffering": "no"}
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": 200, "headers": raw})

    async def _event(self, data: bytes, *, more: bool) -> None:
        # One line: what we write has its line ends escaped.
        body = b"event: message\ndata: " + data + b"\n\n"
        await self._send({"type": "http.response.body", "body": body, "more_body": more})
