"""What happens to a call whose client goes away, and to an assistant that calls too often, at the endpoint itself."""

import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import select
from starlette.types import Message

from support import door, instance, notes
from support.instance import Instance
from workstead.accounts.tables import assistant_use
from workstead.accounts.uses import Uses
from workstead.doors.mcp.endpoint import Endpoint
from workstead.kernel.store import prepared
from workstead.testing import SetClock

COVERS_MODULES = ("doors/mcp/door.py",)

COUNTED = prepared(
    select(assistant_use.c.operation, assistant_use.c.code, assistant_use.c.calls).order_by(
        assistant_use.c.calls.desc()
    )
)

Receive = Callable[[], Awaitable[Message]]


def scope(token: str) -> dict[str, Any]:
    """An HTTP request as the server hands it over."""
    headers = [(b"authorization", f"Bearer {token}".encode()), (b"content-type", b"application/json")]
    return {"type": "http", "method": "POST", "path": "/mcp", "headers": headers, "client": ("127.0.0.1", 1)}


def call(name: str, **arguments: object) -> bytes:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return json.dumps(body).encode()


def events(*given: Message) -> Receive:
    """What the server would receive, one after the other, and then nothing more."""

    async def each() -> AsyncIterator[Message]:
        for one in given:
            yield one
        await anyio.sleep_forever()

    return each().__anext__


async def answer(endpoint: Endpoint, token: str, receive: Receive) -> list[Message]:
    """What was sent back."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    with anyio.fail_after(5):
        await endpoint(scope(token), receive, send)
    return sent


def result(sent: list[Message]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sent[1]["body"])["result"]
    return found


async def busy(live: Instance, release: threading.Event) -> None:
    """Keep the one writer busy until it is let go."""
    await live.store.write(lambda _: release.wait(5))


@pytest.mark.covers("D01", "K06")
async def test_a_change_that_waits_is_withdrawn_when_its_client_goes_away(tmp_path: Path) -> None:
    """Issue: cancellation when the client goes away; nobody would read the answer."""
    found = instance.founded(tmp_path / "db")
    token = door.token(found.path, owner_id=found.operator.person.id)
    release = threading.Event()
    body: Message = {"type": "http.request", "body": call("create_note", project="garden", note="n", text="t")}
    with instance.opened(found.path, operations=notes.OPERATIONS) as live:
        async with anyio.create_task_group() as group:
            group.start_soon(busy, live, release)
            await anyio.wait_all_tasks_blocked()
            sent = await answer(door.endpoint(live), token, events(body, {"type": "http.disconnect"}))
            release.set()
        assert sent == []
        body = {"type": "http.request", "body": call("read_note", project="garden", note="n")}
        assert door.refused(result(await answer(door.endpoint(live), token, events(body)))) == "note_not_found"


@pytest.mark.covers("D01")
async def test_a_client_that_leaves_before_its_body_came_is_forgotten(tmp_path: Path) -> None:
    """Nothing was begun for it."""
    found = instance.founded(tmp_path / "db")
    token = door.token(found.path, owner_id=found.operator.person.id)
    part: Message = {"type": "http.request", "body": b"{", "more_body": True}
    with instance.opened(found.path, operations=notes.OPERATIONS) as live:
        assert await answer(door.endpoint(live), token, events(part, {"type": "http.disconnect"})) == []


@pytest.mark.covers("K16", "K07")
async def test_an_assistant_that_calls_too_often_is_told_when_it_may_again(tmp_path: Path) -> None:
    """A refusal, so that the program that called reads it; counted with the others."""
    clock = SetClock()
    found = instance.founded(tmp_path / "db", clock=clock)
    token = door.token(found.path, owner_id=found.operator.person.id, clock=clock)
    uses = Uses()
    with instance.opened(found.path, operations=notes.OPERATIONS, clock=clock) as live:
        endpoint = door.endpoint(live, uses=uses, per_minute=2)
        body: Message = {"type": "http.request", "body": call("read_note", project="garden", note="n")}
        codes = [door.refused(result(await answer(endpoint, token, events(body)))) for _ in range(3)]
        said = json.loads(result(await answer(endpoint, token, events(body)))["content"][0]["text"])
        assert codes[2] == said["code"] == "rate_limited"
        assert (said["details"], said["advice"]) == ({"retry_after_s": 30.0}, "try again later")
        clock.advance(seconds=30)
        again = door.refused(result(await answer(endpoint, token, events(body))))
        assert again == codes[0]
        with instance.transaction(found.path) as tx:
            uses.write(tx)
            rows = tx.all(COUNTED)
    assert rows == [("read_note", codes[0], 3), ("read_note", "rate_limited", 2)]


@pytest.mark.covers("K16")
async def test_the_assistants_of_one_account_share_its_calls(tmp_path: Path) -> None:
    """K16: per account too, or whoever has ten tokens would have ten allowances; another account has its own."""
    clock = SetClock()
    found = instance.founded(tmp_path / "db", clock=clock)
    bo = instance.joined(found, name="Bo", clock=clock)
    mine = [door.token(found.path, owner_id=found.operator.person.id, clock=clock) for _ in range(2)]
    another = door.token(found.path, owner_id=bo.person.id, clock=clock)
    body: Message = {"type": "http.request", "body": call("read_note", project="garden", note="n")}
    with instance.opened(found.path, operations=notes.OPERATIONS, clock=clock) as live:
        endpoint = door.endpoint(live, per_account=3)
        codes = [door.refused(result(await answer(endpoint, mine[turn % 2], events(body)))) for turn in range(4)]
        assert codes[2] != "rate_limited"
        assert codes[3] == "rate_limited"
        assert door.refused(result(await answer(endpoint, another, events(body)))) != "rate_limited"
        clock.advance(seconds=20)
        assert door.refused(result(await answer(endpoint, mine[1], events(body)))) == codes[0]


@pytest.mark.covers("K16")
async def test_an_address_that_asks_too_often_is_answered_429(tmp_path: Path) -> None:
    """Before anything is read for it."""
    found = instance.founded(tmp_path / "db")
    token = door.token(found.path, owner_id=found.operator.person.id)
    body: Message = {"type": "http.request", "body": call("read_note", project="garden", note="n")}
    with instance.opened(found.path, operations=notes.OPERATIONS) as live:
        endpoint = door.endpoint(live, per_address=1)
        first, second = [await answer(endpoint, token, events(body)) for _ in range(2)]
    assert (first[0]["status"], second[0]["status"]) == (200, 429)
    assert int(dict(second[0]["headers"])[b"retry-after"]) in range(1, 61)


@pytest.mark.covers("K16")
async def test_guessing_tokens_ends_in_429_for_that_address(tmp_path: Path) -> None:
    """A good token is let in all the same: programs of one machine share its address."""
    clock = SetClock()
    found = instance.founded(tmp_path / "db", clock=clock)
    token = door.token(found.path, owner_id=found.operator.person.id, clock=clock)
    body: Message = {"type": "http.request", "body": call("read_note", project="garden", note="n")}
    with instance.opened(found.path, operations=notes.OPERATIONS, clock=clock) as live:
        endpoint = door.endpoint(live, failures=2)
        guesses = [(await answer(endpoint, f"ws_ast_{number}", events(body)))[0]["status"] for number in range(3)]
        assert guesses == [401, 401, 429]
        assert (await answer(endpoint, token, events(body)))[0]["status"] == 200
        clock.advance(seconds=30)
        assert (await answer(endpoint, "ws_ast_again", events(body)))[0]["status"] == 401
