"""The MCP door for the public conformance suite: real code over fixture operations, with its token added to requests.

`python tests/conformance/open_door.py 3001`, then point the suite at http://127.0.0.1:3001/mcp. The suite sends no
token and expects tools by name, so this program adds the one and has the others; docs/conformance.md says what passes.
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import anyio
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from support import door, instance
from workstead import errors
from workstead.doors.http import Guard
from workstead.doors.watch import ServerFacts
from workstead.kernel import scopes
from workstead.kernel.access import Caller
from workstead.kernel.operations import AnyOperation, Door, Effect, Input, Operation
from workstead.kernel.transaction import Tx


class Nothing(Input):
    """No arguments."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """A text."""

    text: str


def say(_: Tx, __: Caller, ___: Nothing) -> Said:
    """What the suite looks for in the text."""
    return Said(text="This is a simple text response for testing.")


def fail(_: Tx, __: Caller, ___: Nothing) -> Said:
    """A refusal, which is a tool's error."""
    raise errors.unavailable("tool_failed", "This tool intentionally returns an error for testing")


def fixtures() -> tuple[AnyOperation, ...]:
    """The operations whose tools the suite calls."""
    return tuple(
        Operation(
            name=name,
            summary=f"A fixture of the conformance suite: {name}.",
            input=Nothing,
            output=Said,
            permissions=frozenset(),
            effect=Effect.READ,
            doors=frozenset({Door.MCP}),
            handler=handler,
            lock=lambda _, __: scopes.INSTANCE,
        )
        for name, handler in (("test_simple_text", say), ("test_error_handling", fail))
    )


def with_token(inner: ASGIApp, token: str) -> ASGIApp:
    """The application, as a client that holds the token reaches it."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {token}".encode())]}
        await inner(scope, receive, send)

    return app


async def main(port: int) -> None:
    """Serve until interrupted."""
    with tempfile.TemporaryDirectory() as folder:
        found = instance.founded(Path(folder) / "db")
        token = door.token(found.path, owner_id=found.operator.person.id)
        with instance.opened(found.path, operations=fixtures()) as live:
            facts = ServerFacts(boot_id="b", pid=1, version="0", host="127.0.0.1", port=port, started_at="")
            front = with_token(Guard(door.endpoint(live), facts=facts, bearer=True), token)
            config = uvicorn.Config(front, host="127.0.0.1", port=port, http="httptools", lifespan="off")
            await uvicorn.Server(config).serve()


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]))
