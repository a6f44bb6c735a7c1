"""The servers the door is measured beside, each a process of its own: `python -m bench.door_servers KIND TOOLS`.

Each prints its address and the token it takes. `ours` and `stock` run the same operations on databases of one shape;
the floors answer from memory.
"""

import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import mcp_types as types
import orjson
import uvicorn
from mcp.server.lowlevel import Server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Address
from starlette.types import ASGIApp, Receive, Scope, Send

from bench import documents as bench_documents
from support import door, instance
from support.instance import Instance
from workstead.accounts import api_tokens, credentials, people, projects
from workstead.doors import listening
from workstead.doors.http import Guard
from workstead.doors.limits import Active
from workstead.doors.mcp import tools as tooling
from workstead.doors.patience import Patient
from workstead.doors.rest import endpoint as rest_endpoint
from workstead.doors.rest.table import Route
from workstead.doors.watch import ServerFacts
from workstead.kernel import documents, feed
from workstead.kernel.access import AssistantProof, Caller, Permission
from workstead.kernel.documents import NewVersion
from workstead.kernel.operations import AnyOperation, Door, Effect, Input
from workstead.kernel.redaction import Redactor
from workstead.kernel.store import Durability
from workstead.kernel.transaction import Tx

DOCUMENT, TOKEN = "d", "peer-token"
READ, WRITE = "read_document", "edit_document"
ANSWER = {"document": DOCUMENT, "revision": 1, "text": "start"}

Serve = Callable[[ASGIApp, str], Awaitable[None]]


def main() -> None:
    """Serve until ended."""
    kind, tools = sys.argv[1], int(sys.argv[2])
    anyio.run(KINDS[kind], tools, backend_options={"use_uvloop": True})


async def floor(tools: int) -> None:
    """The least that HTTP and JSON can cost here: no routing, no rights, no rows."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        parts = []
        while True:
            event = await receive()
            parts.append(event.get("body", b""))
            if not event.get("more_body"):
                break
        asked = orjson.loads(b"".join(parts))
        body = orjson.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": _result()})
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    await _serve(app, TOKEN)


async def starlette(tools: int) -> None:
    """A bare Starlette handler."""

    async def answer(request: Request) -> Response:
        asked = orjson.loads(await request.body())
        body = orjson.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": _result()})
        return Response(body, media_type="application/json")

    await _serve(Starlette(routes=[Address("/mcp", answer, methods=["POST"])]), TOKEN)


async def stock(tools: int) -> None:
    """The SDK's own endpoint before the same operations: stateless, JSON answers, the schema hook set."""
    with _founded(tools) as (live, token):
        by_name = live.operations.table
        described = {each.name: dict(tooling.tool(each).shown) for each in by_name.values()}
        shown = [types.Tool.model_validate(each) for each in described.values()]
        proof = AssistantProof(digest=credentials.digest(token))

        async def tools_listed(context: Any, params: Any) -> types.ListToolsResult:
            return types.ListToolsResult(tools=shown)

        async def called(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
            answer = await live.operations.run(proof, params.name, params.arguments or {}, door=Door.MCP)
            found = by_name[params.name].adapter.dump_python(answer, mode="json")
            text = types.TextContent(type="text", text=orjson.dumps(found).decode())
            return types.CallToolResult(content=[text], structured_content=found)

        server: Server[Any] = Server(
            "peer",
            on_list_tools=tools_listed,
            on_call_tool=called,
            get_tool_input_schema=lambda name: cast("dict[str, Any]", described[name]["inputSchema"]),
        )
        app = server.streamable_http_app(json_response=True, stateless_http=True)
        async with app.router.lifespan_context(app):
            await _serve(app, token)


async def ours(tools: int) -> None:
    """Our door, with the guard and the connections that stand before it in the product."""
    with _founded(tools) as (live, token):
        await _serve(door.endpoint(live), token, guarded=True)


async def rest(tools: int) -> None:
    """Our API before the same operations, behind the same guard and connections."""
    with _founded(tools) as (live, _):
        path = live.path
        with instance.transaction(path) as tx:
            operator = people.operator(tx)
            assert operator is not None
            token, _ = api_tokens.add(tx, person_id=operator.id, name="peer", days=1)
        routes = [
            Route(method="GET", path=f"/api/documents/{{document}}/{name}", operation=name)
            for name, each in live.operations.table.items()
            if each.effect is Effect.READ
        ]
        limits = rest_endpoint.limits(
            live.clock, per_address=600_000, per_credential=600_000, active=Active(per_account=4, per_process=16)
        )
        facts = ServerFacts(boot_id="b", pid=1, version="0", host="127.0.0.1", port=0, started_at="")
        api = rest_endpoint.Endpoint(
            live.operations, facts=facts, redactor=Redactor(), limits=limits, routes=tuple(routes)
        )
        await _serve(api, token, guarded=True)


@contextmanager
def _founded(tools: int) -> Iterator[tuple[Instance, str]]:
    """An instance with a project, a document in it, that many operations, and an assistant's token."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "workstead.sqlite3"
        founded = instance.founded(path)
        with instance.transaction(path) as tx:
            first = bench_documents.version("start")
            documents.create(tx, DOCUMENT, scope=founded.project.scope, new=first)
        token = door.token(path, owner_id=founded.operator.person.id)
        with instance.opened(path, operations=_operations(tools), durability=Durability.FULL) as live:
            yield live, token


def _operations(tools: int) -> Sequence[AnyOperation]:
    both = frozenset({Door.MCP, Door.REST})
    known = {each.name: each for each in bench_documents.OPERATIONS}
    read = replace(known[READ], permissions=frozenset({Permission.PROJECTS_READ}), doors=both, lock=_garden)
    write = replace(known[WRITE], doors=both, lock=_garden, handler=_edit)
    others = (replace(read, name=f"other_{number}", summary=f"other {number}") for number in range(tools - 2))
    return (read, write, *others)


def _edit(tx: Tx, caller: Caller, args: bench_documents.WriteDocument) -> bench_documents.DocumentView:
    """The benchmark's edit, told in the project's scope, because no assistant writes in the instance's."""
    was = documents.current(tx, args.document)
    assert was is not None
    new = NewVersion(body={"text": args.text}, author=caller.author, change="write", changed=("text",))
    head = documents.publish(tx, was, new=new)
    scope = cast("str", _garden(tx, args))
    feed.add(tx, scope, feed.Event.CARD_CHANGED, topic=f"documents/{args.document}", revision=head.revision)
    return bench_documents.DocumentView(document=args.document, revision=head.revision, text=args.text)


def _garden(tx: Tx, args: Input) -> str | None:
    return projects.scope_of(tx, "garden")


def _result() -> dict[str, object]:
    return {"content": [{"type": "text", "text": orjson.dumps(ANSWER).decode()}], "structuredContent": ANSWER}


async def _serve(app: ASGIApp, token: str, *, guarded: bool = False) -> None:
    listener = listening.listen("127.0.0.1", 0)
    listener.listen(128)  # before the address is told
    port = listener.getsockname()[1]
    if guarded:
        facts = ServerFacts(boot_id="b", pid=1, version="0", host="127.0.0.1", port=port, started_at="")
        app = Guard(app, facts=facts, bearer=True)
    config = uvicorn.Config(
        app,
        http=Patient if guarded else "httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
    )
    print(f"http://127.0.0.1:{port} {token}", flush=True)
    await uvicorn.Server(config).serve(sockets=[listener])


KINDS: dict[str, Callable[[int], Awaitable[None]]] = {
    "floor": floor,
    "ours": ours,
    "rest": rest,
    "starlette": starlette,
    "stock": stock,
}

if __name__ == "__main__":
    main()
