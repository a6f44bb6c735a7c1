"""The pages' routes: one printed table, and the application made of it."""

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from workstead.doors.http import Guard
from workstead.doors.watch import ServerFacts, Watch
from workstead.kernel.operations import Operations
from workstead.kernel.redaction import Redactor


class Web:
    """The pages as one ASGI application. ending: set when the server stops, so that streams end at once."""

    def __init__(self, *, operations: Operations, watch: Watch, facts: ServerFacts, redactor: Redactor) -> None:
        self.ending = anyio.Event()
        inner = Starlette(routes=[Route("/health", _health)])
        self._guarded = Guard(inner, facts=facts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._guarded(scope, receive, send)


async def _health(_: Request) -> Response:
    return PlainTextResponse("ok\n")
