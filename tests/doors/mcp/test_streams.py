"""A call that reports is answered in a stream, to those who asked for one; everybody else gets one value (D01, D03)."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.types import Message

from support import door, instance
from workstead import errors
from workstead.doors.mcp.endpoint import Endpoint
from workstead.kernel.acts import Act, Asked
from workstead.kernel.operations import Door, Effect, Input

pytestmark = pytest.mark.covers("D01")

BOTH = "application/json, text/event-stream"


class Dig(Input):
    """How deep, and how it ends."""

    depth: int = 3
    then: str = "done"


class Garden:
    """Somewhere to dig: tells what happened to whoever dug."""

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.cancelled = anyio.Event()

    async def dig(self, asked: Asked[Dig]) -> dict[str, int]:
        """Report each step, then end as it was told."""
        for step in range(asked.args.depth):
            await asked.report(done=step, total=asked.args.depth, message=f"step {step}, key ws_ast_{'a' * 43}")
            await asked.report(done=step - 1)
        self.begun.set()
        if asked.args.then == "refuse":
            raise errors.conflict("rock_found", "There is a rock.")
        if asked.args.then == "break":
            raise RuntimeError("the spade broke on ws_ast_secret")
        if asked.args.then == "wait":
            try:
                await anyio.sleep_forever()
            finally:
                self.cancelled.set()
        return {"depth": asked.args.depth}


@asynccontextmanager
async def digging(tmp_path: Path, garden: Garden) -> AsyncIterator[tuple[Endpoint, str]]:
    """A door behind which one can dig."""
    found = instance.founded(tmp_path / "db")
    token = door.token(found.path, owner_id=found.operator.person.id)
    act = Act(
        name="dig",
        summary="Dig.",
        input=Dig,
        output=dict[str, int],
        permissions=frozenset(),
        effect=Effect.OUTWARD,
        doors=frozenset({Door.MCP}),
        perform=garden.dig,
    )
    with instance.opened(found.path) as live:
        yield door.endpoint(live, acts=[act]), token


async def ask(
    endpoint: Endpoint,
    token: str,
    *,
    accept: str = BOTH,
    progress: object = "p",
    leaves: anyio.Event | None = None,
    blocks: bool = False,
    **arguments: object,
) -> list[Message]:
    """What was sent back. leaves: the client goes away then. blocks: it reads nothing."""
    meta = {} if progress is None else {"_meta": {"progressToken": progress}}
    params = {"name": "dig", "arguments": arguments, **meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).encode()
    headers = {
        "authorization": f"Bearer {token}",
        "content-type": "application/json",
        "accept": accept,
        "mcp-protocol-version": "2025-11-25",
    }
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": raw, "client": ("127.0.0.1", 1)}
    came: list[Message] = [{"type": "http.request", "body": body}]
    sent: list[Message] = []

    async def receive() -> Message:
        if came:
            return came.pop()
        await (leaves.wait() if leaves is not None else anyio.sleep_forever())
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)
        if blocks and message["type"] == "http.response.body" and message.get("more_body"):
            await anyio.sleep_forever()

    with anyio.fail_after(5):
        await endpoint(scope, receive, send)
    return sent


def events(sent: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages of a stream."""
    assert (b"content-type", b"text/event-stream") in sent[0]["headers"]
    assert not sent[-1].get("more_body", False)
    return [json.loads(each["body"].removeprefix(b"event: message\ndata: ")) for each in sent[1:]]


async def test_reports_come_before_the_answer_and_go_forward(tmp_path: Path) -> None:
    """The protocol: progress grows; the answer is the last event. Secrets are hidden in a report too."""
    async with digging(tmp_path, Garden()) as (endpoint, token):
        *reports, answer = events(await ask(endpoint, token, progress=9))
    assert [(each["method"], each["params"]["progress"]) for each in reports] == [
        ("notifications/progress", 0),
        ("notifications/progress", 1),
        ("notifications/progress", 2),
    ]
    assert {each["params"]["progressToken"] for each in reports} == {9}
    assert "ws_ast_a" not in json.dumps(reports)
    assert (answer["id"], answer["result"]["structuredContent"]) == (7, {"depth": 3})


@pytest.mark.parametrize(
    "given", [{"accept": "application/json"}, {"progress": None}, {"progress": True}, {"progress": [1]}, {"depth": 0}]
)
async def test_who_asks_for_no_reports_gets_one_value(tmp_path: Path, given: dict[str, Any]) -> None:
    """D01: JSON answers; a stream only where one was asked for and there is something to say."""
    async with digging(tmp_path, Garden()) as (endpoint, token):
        start, body = await ask(endpoint, token, **given)
    assert (b"content-type", b"application/json") in start["headers"]
    assert json.loads(body["body"])["result"]["isError"] is False


@pytest.mark.parametrize("then", ["refuse", "break"])
async def test_a_stream_ends_with_the_error_too(tmp_path: Path, then: str) -> None:
    """A refusal is a result, something unexpected an error that shows nothing of it."""
    async with digging(tmp_path, Garden()) as (endpoint, token):
        answer = events(await ask(endpoint, token, then=then))[-1]
    if then == "refuse":
        assert door.refused(answer["result"]) == "rock_found"
    else:
        assert "spade" not in json.dumps(answer)
        assert answer["error"]["code"] == -32603


async def test_a_call_ends_when_its_reader_leaves(tmp_path: Path) -> None:
    """Issue: cancellation when the client goes away, in a stream as before one."""
    garden = Garden()
    async with digging(tmp_path, garden) as (endpoint, token):
        sent = await ask(endpoint, token, then="wait", leaves=garden.begun)
        assert garden.cancelled.is_set()
    assert sent[-1].get("more_body") is True


async def test_a_reader_that_reads_nothing_does_not_hold_up_the_work(tmp_path: Path) -> None:
    """Issue: slow clients; a report is lost rather than the work."""
    async with digging(tmp_path, Garden()) as (endpoint, token):
        *_, answer = events(await ask(endpoint, token, blocks=True))
    assert answer["result"]["structuredContent"] == {"depth": 3}
