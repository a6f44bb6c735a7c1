"""The pages' routes: one printed table, and the application made of it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from workstead import errors
from workstead.doors import http
from workstead.doors.http import Guard
from workstead.doors.watch import ServerFacts, Watch
from workstead.doors.web import live, static_files
from workstead.doors.web.desk import Desk, Keep
from workstead.doors.web.pages import (
    account,
    agents,
    assistants,
    budgets,
    cards,
    comments,
    conversations,
    diagnostics,
    events,
    exchanges,
    files,
    gallery,
    keys,
    processes,
    projects,
    runs,
    settings,
    sign_in,
    workflows,
)
from workstead.doors.web.rendering import Renderer
from workstead.doors.web.views import RefusedView
from workstead.kernel import scopes
from workstead.kernel.canonical import Json
from workstead.kernel.operations import Operations
from workstead.kernel.redaction import Redactor

Handler = Callable[[Desk, Request], Awaitable[Response]]

ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/", projects.index),
    ("GET", "/sign-in", sign_in.show),
    ("POST", "/sign-in", sign_in.spend),
    ("POST", "/sign-out", sign_in.leave),
    ("GET", "/account", account.show),
    ("POST", "/account/tokens", account.create),
    ("POST", "/account/tokens/{token}/revoke", account.revoke),
    ("GET", "/keys", keys.show),
    ("POST", "/keys", keys.put),
    ("POST", "/keys/{name}/delete", keys.delete),
    ("GET", "/api", account.api),
    ("GET", "/mcp", assistants.connect),
    ("GET", "/assistants", assistants.show),
    ("POST", "/assistants", assistants.create),
    ("GET", "/assistants/permissions", assistants.permissions),
    ("POST", "/assistants/{assistant}/revoke", assistants.revoke),
    ("GET", "/diagnostics", diagnostics.show),
    ("GET", "/gallery", gallery.show),
    ("GET", "/projects/{slug}", projects.show),
    ("GET", "/projects/{slug}/configuration", settings.show),
    ("POST", "/projects/{slug}/configuration", settings.trust),
    ("GET", "/projects/{slug}/agents", agents.show),
    ("GET", "/projects/{slug}/budgets", budgets.show),
    ("POST", "/projects/{slug}/budgets", budgets.set_one),
    ("GET", "/projects/{slug}/exchanges", exchanges.show),
    ("GET", "/projects/{slug}/exchanges/{exchange_id}", exchanges.one),
    ("GET", "/projects/{slug}/refusals", exchanges.refusals),
    ("GET", "/projects/{slug}/events", events.show),
    ("GET", "/projects/{slug}/files", files.show),
    ("GET", "/projects/{slug}/files/{path:path}", files.show),
    ("GET", "/projects/{slug}/pictures/{path:path}", files.picture),
    ("GET", "/projects/{slug}/runs", runs.show),
    ("GET", "/projects/{slug}/settings", settings.show),
    ("GET", "/projects/{slug}/workflows/{type}", workflows.show),
    ("GET", "/projects/{slug}/cards/{card_id}", cards.show),
    ("POST", "/projects/{slug}/cards/{card_id}/comments", comments.add),
    ("POST", "/projects/{slug}/cards/{card_id}/reopen", cards.reopen),
    ("GET", "/projects/{slug}/cards/{card_id}/history", cards.history),
    ("GET", "/projects/{slug}/cards/{card_id}/history/difference", cards.difference),
    ("GET", "/projects/{slug}/cards/{card_id}/records/{name}", cards.record),
    ("GET", "/projects/{slug}/cards/{card_id}/records/{name}/difference", cards.record_difference),
    ("GET", "/projects/{slug}/cards/{card_id}/conversations/{agent}", conversations.show),
    ("GET", "/projects/{slug}/cards/{card_id}/processes", processes.show),
    ("GET", "/projects/{slug}/cards/{card_id}/processes/{process_id}/{stream}", processes.capture),
    ("POST", "/projects/{slug}/run", runs.start),
    ("POST", "/projects/{slug}/run/pause", runs.pause),
    ("POST", "/projects/{slug}/run/resume", runs.resume),
    ("POST", "/projects/{slug}/run/stop", runs.stop),
)


class Web:
    """The pages as one ASGI application. ending: set when the server stops, so that streams end at once."""

    def __init__(
        self,
        *,
        operations: Operations,
        watch: Watch,
        facts: ServerFacts,
        redactor: Redactor,
        doctor: Callable[[], Mapping[str, Json]],
        keep: Keep,
        addresses: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        self.ending = anyio.Event()
        static = static_files.read()
        renderer = Renderer(static=static, redactor=redactor)
        desk = Desk(
            operations=operations,
            watch=watch,
            facts=facts,
            renderer=renderer,
            redactor=redactor,
            doctor=doctor,
            keep=keep,
            addresses=addresses,
        )
        routes = [Route(path, partial(handler, desk), methods=[method]) for method, path, handler in ROUTES]
        routes += [
            Route("/live", partial(live.stream, desk, ending=self.ending)),
            Route("/static/{digest}/{name}", static.serve),
            Route("/health", _health),
            Route("/health/ready", partial(_ready, watch)),
        ]
        handlers = {
            errors.Refusal: partial(_refused, desk),
            HTTPException: partial(_not_here, desk),
            Exception: partial(_broken, desk),
        }
        inner = Starlette(routes=routes, exception_handlers=handlers)
        self._guarded = Guard(inner, facts=facts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._guarded(scope, receive, send)


async def _health(_: Request) -> Response:
    """The process answers."""
    return PlainTextResponse("ok\n")


async def _ready(watch: Watch, _: Request) -> Response:
    """The database answers too; 503 while it does not, with what is known of it."""
    try:
        watch.newest(scopes.INSTANCE)
    except errors.Refusal as refused:
        return PlainTextResponse(f"not ready: {refused.message}\n", status_code=503)
    return PlainTextResponse("ready\n")


async def _refused(desk: Desk, _: Request, refusal: errors.Refusal) -> Response:
    return desk.refused(refusal)


async def _broken(desk: Desk, request: Request, _: Exception) -> Response:
    """The guard outside logs the trace under the same id."""
    message = f"Something went wrong in the server; its log has the details under {http.trace_id(request.scope)}."
    return desk.renderer.page(RefusedView(title="That did not work", message=message), status=500)


async def _not_here(desk: Desk, _: Request, error: HTTPException) -> Response:
    message = "There is no such page." if error.status_code == 404 else "That cannot be done here."
    view = RefusedView(title="Not here", message=message)
    response = desk.renderer.page(view, status=error.status_code)
    response.headers.update(error.headers or {})
    return response
