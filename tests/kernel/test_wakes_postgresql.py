"""Wakes between servers that share a PostgreSQL database (K11; architecture, "wake")."""

from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from support import database as databases
from support import instance
from support.postgresql import Server
from workstead.kernel import feed
from workstead.kernel.feed import Event, Wakes
from workstead.kernel.store import Connection
from workstead.kernel.transaction import Tx
from workstead.kernel.wakes_postgresql import WakesBetween

pytestmark = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)

PATIENCE_S = 10
NEVER_S = 60


async def hears(wakes: Wakes, scope_id: str, *, told_by: Wakes) -> None:
    """Announce there until it is heard here; the first ones may come before anybody listens."""
    event = wakes.event(scope_id)
    while not event.is_set():
        told_by.announce({scope_id})
        with anyio.move_on_after(0.05):
            await event.wait()


@pytest.mark.covers("K11", "K13")
async def test_a_change_of_one_server_wakes_a_follower_of_another(tmp_path: Path) -> None:
    """The follower's poll is a minute, so only the wake can bring the row."""
    found = instance.founded(tmp_path / "db")
    address = databases.address_of(found.path)
    assert address is not None
    with instance.opened(found.path) as here, instance.opened(found.path) as there, anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            for one in (here, there):
                group.start_soon(WakesBetween(address, wakes=one.wakes).serve)
            await hears(here.wakes, "nothing", told_by=there.wakes)
            pages = feed.follow(here.store, here.wakes, cursor={found.project.scope: 0}, poll_s=NEVER_S)
            seen: list[str] = []

            async def first() -> None:
                seen.extend(row.topic for row in (await anext(pages)).rows)

            async with anyio.create_task_group() as following:
                following.start_soon(first)
                await anyio.lowlevel.checkpoint()

                def job(connection: Connection) -> set[str]:
                    tx = Tx(connection, clock=there.clock)
                    feed.add(tx, found.project.scope, Event.CARD_CHANGED, topic="cards/a")
                    return tx.wakes

                await there.store.write(job, announce=there.wakes.announce)
            await pages.aclose()
            group.cancel_scope.cancel()
    assert seen == ["cards/a"]


async def test_a_lost_connection_is_made_again_and_wakes_whoever_waits(
    tmp_path: Path, postgresql_server: Server
) -> None:
    """What was told meanwhile was not heard."""
    found = instance.founded(tmp_path / "db")
    address = databases.address_of(found.path)
    assert address is not None
    here, there = Wakes(), Wakes()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            for wakes in (here, there):
                group.start_soon(WakesBetween(address, wakes=wakes).serve)
            await hears(here, "a", told_by=there)
            waiting = here.event("never told")
            postgresql_server.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'workstead wakes'"
            )
            await waiting.wait()
            await hears(here, "a", told_by=there)
            group.cancel_scope.cancel()


async def test_its_own_wakes_do_not_come_back(tmp_path: Path) -> None:
    """A server that heard itself would wake everybody twice."""
    found = instance.founded(tmp_path / "db")
    address = databases.address_of(found.path)
    assert address is not None
    here, there = Wakes(), Wakes()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            for wakes in (here, there):
                group.start_soon(WakesBetween(address, wakes=wakes).serve)
            await hears(here, "a", told_by=there)
            here.announce({"own"})
            own = here.event("own")
            await hears(there, "b", told_by=here)
            await hears(here, "c", told_by=there)
            assert not own.is_set()
            group.cancel_scope.cancel()
