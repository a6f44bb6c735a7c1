"""The official SDK's client against a real server, in every way it can connect (D11), and many at once (K06)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
import mcp
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from support import door
from support.server import Running

CLIENTS = 32


@asynccontextmanager
async def connected(live: Running, token: str, mode: str) -> AsyncIterator[mcp.Client]:
    """A client that holds the token."""
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http:
        transport = streamable_http_client(f"{live.origin}/mcp", http_client=http)
        async with mcp.Client(transport, mode=mode) as client:
            yield client


@pytest.mark.covers("D11", "D03")
@pytest.mark.parametrize(
    ("mode", "revision"), [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]
)
async def test_the_sdk_finds_and_calls_tools(live: Running, token: str, mode: str, revision: str) -> None:
    """It checks every structured answer against the tool's own schema, and raises where they differ."""
    async with connected(live, token, mode) as client:
        assert client.protocol_version == revision
        listed = await client.list_tools()
        assert listed.next_cursor is None
        assert "get_card" in {tool.name for tool in listed.tools}
        reads: list[tuple[str, dict[str, object]]] = [
            ("list_projects", {}),
            ("get_project", {"project": "garden"}),
            ("get_configuration", {"project": "garden"}),
            ("get_tree", {"project": "garden"}),
            ("list_cards", {"project": "garden"}),
            ("get_card", {"project": "garden", "card_id": "project"}),
            ("list_card_versions", {"project": "garden", "card_id": "project"}),
            ("get_card_version", {"project": "garden", "card_id": "project", "version": 1}),
            ("list_records", {"project": "garden", "card_id": "project"}),
            ("read_record", {"project": "garden", "card_id": "project", "name": "brief.md"}),
            ("list_runs", {"project": "garden"}),
            ("list_activations", {"project": "garden", "card_id": "project"}),
            ("list_conversations", {"project": "garden", "card_id": "project"}),
            ("list_processes", {"project": "garden", "card_id": "project"}),
            ("list_evidence", {"project": "garden"}),
        ]
        for name, arguments in reads:
            found = await client.call_tool(name, arguments)
            assert not found.is_error, (name, found.content)
            assert found.structured_content is not None


@pytest.mark.covers("D11")
async def test_a_vanished_tool_is_said_to_be(live: Running, token: str) -> None:
    """facts/mcp.md 6, line 15: clients keep stale lists, so the message must help."""
    async with connected(live, token, "auto") as client:
        with pytest.raises(MCPError, match="List the tools again"):
            await client.call_tool("no_such_tool", {})


@pytest.mark.covers("K06", "D02")
async def test_revocation_ends_thirty_two_busy_clients(live: Running) -> None:
    """Issue: under load, what begins after the revocation has returned is refused, writes and replays too."""
    token = door.token_of(live, "crowd")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    going = anyio.Semaphore(0)
    ended: list[int] = []
    revoked = anyio.Event()

    async def work(http: httpx2.AsyncClient, number: int) -> None:
        for turn in range(1_000):
            before = revoked.is_set()
            answer = await http.post(f"{live.origin}/mcp", json=frame(number, turn), headers=headers)
            if turn == 1:
                going.release()
            if answer.status_code == 401:
                ended.append(number)
                return
            assert answer.status_code == 200
            assert not before, "a call that began after the revocation was answered"

    limits = httpx2.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)
    with anyio.fail_after(30):
        async with httpx2.AsyncClient(limits=limits, timeout=20) as http, anyio.create_task_group() as group:
            for number in range(CLIENTS):
                group.start_soon(work, http, number)
            for _ in range(CLIENTS):
                await going.acquire()
            door.revoke(live, "crowd")
            revoked.set()
    assert sorted(ended) == list(range(CLIENTS))


def frame(number: int, turn: int) -> dict[str, object]:
    """Reads, a write, and its replay, in turns."""
    read = {"name": "get_card", "arguments": {"project": "garden", "card_id": "project"}}
    key = f"crowd-{number}"
    card = {"project": "garden", "parent": "project", "type": "code", "title": key, "bootstrap_content": "x"}
    write = {"name": "create_card", "arguments": {**card, "request_id": key}}
    return {"jsonrpc": "2.0", "id": turn, "method": "tools/call", "params": write if turn % 4 == 1 else read}
