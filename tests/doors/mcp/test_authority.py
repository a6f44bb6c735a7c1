"""Authority under load: what is taken away is gone for every call that begins afterwards, with 32 clients (K06)."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.types import Message

from support import door, instance, notes
from support.instance import Founded, Instance, Member
from workstead.accounts import assistants, credentials
from workstead.accounts.roles import Role
from workstead.doors.mcp.endpoint import Endpoint
from workstead.kernel import scopes
from workstead.kernel.store import Prepared
from workstead.kernel.transaction import Tx
from workstead.testing import SetClock

CLIENTS = 32
ROUNDS_MOST = 400
ROUNDS_LEAST = 3


def _sql(text: str, *names: str) -> Prepared:
    return Prepared(
        sqlite=text.format(**{name: f":{name}" for name in names}),
        postgresql=text.format(**{name: f"%({name})s" for name in names}),
    )


SUSPEND = _sql("UPDATE person SET suspended_at = {at} WHERE id = {person_id}", "at", "person_id")
UNSHARE = _sql("DELETE FROM share WHERE person_id = {person_id}", "person_id")
DEMOTE = _sql("UPDATE share SET role = 'viewer' WHERE person_id = {person_id}", "person_id")
NARROW = _sql("UPDATE assistant SET projects = '[]' WHERE digest = {digest}", "digest")


@dataclass(frozen=True, kw_only=True)
class Site:
    """A door, its one busy assistant, and the person behind."""

    found: Founded
    owner: Member
    token: str
    clock: SetClock
    live: Instance
    endpoint: Endpoint

    @property
    def digest(self) -> str:
        """What the token is stored as."""
        return credentials.digest(self.token)


async def revoked(site: Site) -> None:
    def job(tx: Tx) -> None:
        one = assistants.read(tx, site.digest)
        assert one is not None
        assistants.revoke(tx, one)

    await site.live.effects.settle(scopes.INSTANCE, job)


async def expired(site: Site) -> None:
    site.clock.advance(seconds=91 * 86_400)


async def suspended(site: Site) -> None:
    await site.live.effects.settle(
        scopes.INSTANCE, lambda tx: tx.run(SUSPEND, at=tx.at, person_id=site.owner.person.id)
    )


async def unshared(site: Site) -> None:
    await site.live.effects.settle(site.found.project.scope, lambda tx: tx.run(UNSHARE, person_id=site.owner.person.id))


async def demoted(site: Site) -> None:
    await site.live.effects.settle(site.found.project.scope, lambda tx: tx.run(DEMOTE, person_id=site.owner.person.id))


async def narrowed(site: Site) -> None:
    await site.live.effects.settle(scopes.INSTANCE, lambda tx: tx.run(NARROW, digest=site.digest))


async def ask(site: Site, name: str, arguments: Mapping[str, object]) -> str:
    """How a call ended: `ok`, `401`, or a refusal's code."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    came: list[Message] = [{"type": "http.request", "body": json.dumps(body).encode()}]
    sent: list[Message] = []
    headers = {"authorization": f"Bearer {site.token}", "content-type": "application/json"}
    raw = [(key.encode(), value.encode()) for key, value in headers.items()]

    async def receive() -> Message:
        if not came:
            await anyio.sleep_forever()
        return came.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": raw, "client": ("127.0.0.1", 1)}
    await site.endpoint(scope, receive, send)
    if sent[0]["status"] != 200:
        return str(sent[0]["status"])
    result: dict[str, Any] = json.loads(sent[1]["body"])["result"]
    return door.refused(result) if result["isError"] else "ok"


@dataclass(kw_only=True)
class Crowd:
    """Clients that read, write and repeat their write until what they may is taken away and they have seen it."""

    site: Site
    writes: bool
    gone: anyio.Event = field(default_factory=anyio.Event)
    seen: set[str] = field(default_factory=set)
    late: list[str] = field(default_factory=list)

    async def work(self, number: int, ready: Callable[[], None]) -> None:
        """One client."""
        write = {"project": "garden", "note": f"n{number}", "text": "t", "request_id": f"k{number}"}
        read = {"project": "garden", "note": f"n{number}"}
        for turn in range(ROUNDS_MOST):
            for name, arguments in (("create_note", write), ("read_note", read)):
                before = self.gone.is_set()
                ended = await ask(self.site, name, arguments)
                if ended in {"calls_active", "server_busy"}:
                    await anyio.sleep(0.002)  # four changes of an account at once; the next try may have a place
                    continue
                if before and (name == "create_note" or not self.writes):
                    self.seen.add(ended)
                    self.late += [name] if ended == "ok" else []
            if turn == ROUNDS_LEAST:
                ready()
            if self.gone.is_set() and self.seen:
                return


@pytest.mark.both_databases
@pytest.mark.covers("K05", "K06", "D02")
@pytest.mark.parametrize(
    ("taken", "ended"),
    [
        (revoked, "401"),
        (expired, "401"),
        (suspended, "401"),
        (unshared, "permission_missing"),
        (demoted, "permission_missing"),
        (narrowed, "permission_missing"),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
async def test_thirty_two_busy_clients_lose_what_is_taken_with_their_next_call(
    tmp_path: Path, taken: Callable[[Site], Any], ended: str
) -> None:
    """Issue: revocation, expiry, unsharing and boundary changes; inside transactions and on replays, both databases."""
    clock = SetClock()
    found = instance.founded(tmp_path / "db", clock=clock)
    bo = instance.joined(found, name="Bo", role=Role.EDITOR, clock=clock)
    token = door.token(found.path, owner_id=bo.person.id, clock=clock)
    with instance.opened(found.path, operations=notes.OPERATIONS, clock=clock) as live:
        site = Site(found=found, owner=bo, token=token, clock=clock, live=live, endpoint=door.endpoint(live))
        crowd = Crowd(site=site, writes=taken is demoted)
        ready = anyio.Semaphore(0)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for number in range(CLIENTS):
                    group.start_soon(crowd.work, number, ready.release)
                for _ in range(CLIENTS):
                    await ready.acquire()
                await taken(site)
                crowd.gone.set()
        assert crowd.seen == {ended}
        assert crowd.late == []
