"""Traffic: what goes through the doors, counted by door and status, and the requests that failed last (K18)."""

import time
from collections import Counter
from collections.abc import Mapping
from typing import cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workstead.clock import Clock, iso
from workstead.doors import http
from workstead.kernel.redaction import Redactor
from workstead.metrics import Family, Histogram, counted
from workstead.runs.failed_requests import FailedRequest, Ring

_DOORS: Mapping[str, str] = {
    "api": "api",
    "health": "health",
    "live": "live",
    "mcp": "mcp",
    "metrics": "metrics",
    "static": "static",
}
_PAGES = "pages"
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_PATH_CHARS = 200
_FAILED = 400


class Traffic:
    """Stands before every door. What is counted has few names: no path, method or header of a stranger is a label."""

    def __init__(self, *, clock: Clock, redactor: Redactor, ring: Ring) -> None:
        self._clock = clock
        self._redactor = redactor
        self._ring = ring
        self._ended: Counter[tuple[str, ...]] = Counter()
        self._open: Counter[tuple[str, ...]] = Counter()
        self._took: dict[str, Histogram] = {}

    def around(self, inner: ASGIApp) -> ASGIApp:
        """The application, counted."""

        async def passed(scope: Scope, receive: Receive, send: Send) -> None:
            await self._pass(inner, scope, receive, send)

        return passed

    async def _pass(self, inner: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await inner(scope, receive, send)
            return
        door = _DOORS.get(scope["path"].split("/", 2)[1], _PAGES)
        began_s = time.monotonic()
        started: list[Message] = []

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
            await send(message)

        self._open[(door,)] += 1
        try:
            await inner(scope, receive, sending)
        finally:
            self._open[(door,)] -= 1
            self._count(scope, door, started[0] if started else None, time.monotonic() - began_s)

    def families(self) -> tuple[Family, ...]:
        """What was counted so far."""
        return (
            Family(
                name="workstead_requests_total",
                kind="counter",
                help="Requests that were answered, by door and status; 0 for a client that left before.",
                samples=counted(self._ended, ("door", "status")),
            ),
            Family(
                name="workstead_requests_open",
                kind="gauge",
                help="Requests that are being answered, streams included.",
                samples=counted(self._open, ("door",)),
            ),
            Family(
                name="workstead_request_seconds",
                kind="histogram",
                help="How long answers took, without streams.",
                samples=tuple(
                    sample for door, taken in sorted(self._took.items()) for sample in taken.samples({"door": door})
                ),
            ),
        )

    def _count(self, scope: Scope, door: str, start: Message | None, took_s: float) -> None:
        status = int(start["status"]) if start is not None else 0
        self._ended[door, str(status)] += 1
        if door != "live":
            self._took.setdefault(door, Histogram()).add(took_s)
        if status >= _FAILED and self._ring.kept:
            method = scope["method"] if scope["method"] in _METHODS else "another"
            self._ring.add(
                FailedRequest(
                    at=iso(self._clock.now()),
                    door=door,
                    method=method,
                    path=self._redactor.text(scope["path"][:_PATH_CHARS]).text,
                    status=status,
                    milliseconds=round(took_s * 1000),
                    request_id=_id_of(scope, cast("Message", start)),
                )
            )


def _id_of(scope: Scope, start: Message) -> str:
    """What the answer called the request, or the log where the request broke."""
    found = next((value for name, value in start.get("headers", ()) if name == b"x-request-id"), b"")
    return found.decode("latin-1") or (http.trace_id(scope) if start["status"] >= 500 else "")
