"""The MCP door for the public conformance suite: real code over fixture operations, with its token added to requests.

`python tests/conformance/open_door.py 3001`, then point the suite at http://127.0.0.1:3001/mcp. The suite sends no
token and expects tools by name, so this program adds the one and has the others; docs/conformance.md says what passes.
"""

import sys
import tempfile
from pathlib import Path

import anyio
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from conformance import fixtures
from support import door, instance
from workstead.doors.http import Guard
from workstead.doors.watch import ServerFacts


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
        with instance.opened(found.path, operations=fixtures.operations()) as live:
            facts = ServerFacts(boot_id="b", pid=1, version="0", host="127.0.0.1", port=port, started_at="")
            endpoint = door.endpoint(live, library=fixtures.library(), acts=fixtures.acts())
            front = with_token(Guard(endpoint, facts=facts, bearer=True), token)
            config = uvicorn.Config(front, host="127.0.0.1", port=port, http="httptools", lifespan="off")
            await uvicorn.Server(config).serve()


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]))
