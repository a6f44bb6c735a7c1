"""Live hints: a stream that says what changed, never what it became; the page fetches that itself (K11)."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from workstead import errors
from workstead.agents.partials import Partial
from workstead.doors.watch import Watch
from workstead.doors.web.desk import Desk
from workstead.kernel import canonical
from workstead.kernel.access import Proof
from workstead.kernel.canonical import Json
from workstead.kernel.feed import FeedPage

PROJECTS = "projects"
RETRY_MS = 1000

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class LiveStream(Response):
    """One browser's stream; ends when the browser leaves, the right is lost or the server stops."""

    def __init__(
        self,
        pages: AsyncGenerator[FeedPage, None],
        *,
        ending: anyio.Event,
        partials: AsyncGenerator[Partial, None] | None = None,
    ) -> None:
        self.background = None
        self._pages = pages
        self._partials = partials
        self._sending = anyio.Lock()
        self._ending = ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until one of the three ends it."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        async with aclosing(self._pages), anyio.create_task_group() as group:
            group.start_soon(_until_gone, receive, group.cancel_scope)
            group.start_soon(_until_set, self._ending, group.cancel_scope)
            if self._partials is not None:
                group.start_soon(self._write, send, self._partials)
            await self._stream(send)
            group.cancel_scope.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _stream(self, send: Send) -> None:
        await self._send(send, f"retry: {RETRY_MS}\n\n")
        try:
            async for page in self._pages:
                await self._send(send, _text(page))
        except errors.Refusal:
            await self._send(send, "event: gone\ndata: {}\n\n")

    async def _write(self, send: Send, partials: AsyncGenerator[Partial, None]) -> None:
        """What a model writes; a browser that reads slowly gets the newest and misses what was between."""
        async with aclosing(partials):
            async for one in partials:
                said: dict[str, Json] = {
                    "exchange": one.exchange,
                    "state": one.state.value,
                    "text": one.text,
                    "cut": one.cut,
                    "tool": one.tool,
                }
                await self._send(send, f"event: partial\ndata: {canonical.text(said)}\n\n")

    async def _send(self, send: Send, text: str) -> None:
        async with self._sending:
            await send(_chunk(text))


async def stream(desk: Desk, request: Request, *, ending: anyio.Event) -> Response:
    """The stream of `?topic=projects` or `?topic=projects/SLUG`; with `&writing=CARD/AGENT` also what is written."""
    proof, topic = desk.proof(request), request.query_params.get("topic", "")
    pages = _pages(desk.watch, proof, topic)
    # The first page asks for authority: a refusal is still an ordinary answer then.
    await anext(pages)
    writing, slug = request.query_params.get("writing"), topic.partition("/")[2]
    partials = desk.watch.partials(proof, slug, conversation=writing) if writing and slug else None
    return LiveStream(pages, ending=ending, partials=partials)


def _pages(watch: Watch, proof: Proof, topic: str) -> AsyncGenerator[FeedPage, None]:
    area, _, slug = topic.partition("/")
    if area != PROJECTS:
        raise errors.invalid("topic_unknown", "Follow `projects` or `projects/NAME`.")
    return watch.project(proof, slug) if slug else watch.instance(proof)


def _text(page: FeedPage) -> str:
    if not page.rows:
        return ": still here\n\n"
    newest = {row.topic: row.revision for row in page.rows}
    hints = ({"topic": topic, "revision": revision} for topic, revision in newest.items())
    return "".join(f"event: changed\ndata: {canonical.text(hint)}\n\n" for hint in hints)


def _chunk(text: str) -> Message:
    return {"type": "http.response.body", "body": text.encode(), "more_body": True}


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _until_set(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
