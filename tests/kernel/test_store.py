"""The one writer, the readers and their waiters (architecture, "Concurrency"; quality, "Tests")."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import anyio
import psycopg
import pytest
from sqlalchemy import func, insert, literal_column, select

from support import database as databases
from support import instance
from workstead import errors
from workstead.kernel import store
from workstead.kernel.store import Connection, Store, prepared
from workstead.kernel.tables import scope

pytestmark = pytest.mark.both_databases

PATIENCE_S = 5
ADD = prepared(insert(scope))
COUNT = prepared(select(func.count(literal_column("*"))).select_from(scope))


def adds(name: str) -> Callable[[Connection], str]:
    def job(connection: Connection) -> str:
        connection.run(ADD, id=name, seq=0)
        return name

    return job


def names(path: Path) -> set[str]:
    return set(databases.first_of(databases.rows(path, "SELECT id FROM scope")))


class Held:
    """A job that says when it has started, and goes on when it is let go."""

    def __init__(self, name: str = "held") -> None:
        self._loop = asyncio.get_running_loop()
        self._go = threading.Event()
        self._name = name
        self.started = anyio.Event()

    def __call__(self, connection: Connection) -> str:
        connection.run(ADD, id=self._name, seq=0)
        self._loop.call_soon_threadsafe(self.started.set)
        assert self._go.wait(PATIENCE_S)
        return self._name

    def release(self) -> None:
        self._go.set()


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    instance.founded(path)
    made = Store(databases.of(path))
    try:
        yield made
    finally:
        made.close()


@asynccontextmanager
async def all_writers_held(made: Store) -> AsyncIterator[Callable[[], None]]:
    """Every writer thread is inside a write until what is given is called; then they end."""
    held = [Held(f"held-{n}") for n in range(made._database.writers)]
    writes = [asyncio.ensure_future(made.write(one)) for one in held]
    for one in held:
        await one.started.wait()

    def release() -> None:
        for one in held:
            one.release()

    yield release
    release()
    for write in writes:
        assert (await write).startswith("held-")


async def turns(count: int = 20) -> None:
    """Give every waiting task the loop a few times."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.covers("K15")
async def test_a_started_write_outlives_the_cancellation_of_its_waiter(tmp_path: Path) -> None:
    """Anyio's own hop would return at once and free its slot while the thread is inside the transaction."""
    announced: list[str] = []
    with opened(tmp_path / "db") as database, anyio.fail_after(PATIENCE_S):
        held = Held()
        waiter = asyncio.ensure_future(database.write(held, announce=announced.append))
        await held.started.wait()
        waiter.cancel()
        await turns()
        assert not waiter.done()
        assert (announced, "held" in names(tmp_path / "db")) == ([], False)
        held.release()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert (announced, "held" in names(tmp_path / "db")) == (["held"], True)


async def test_a_started_write_outlives_a_cancelled_scope(tmp_path: Path) -> None:
    """Stop cancels scopes; what has begun is finished and announced first."""
    announced: list[str] = []
    with opened(tmp_path / "db") as database, anyio.fail_after(PATIENCE_S):
        held, around = Held(), anyio.CancelScope()

        async def scoped() -> None:
            with around:
                await database.write(held, announce=announced.append)

        waiter = asyncio.ensure_future(scoped())
        await held.started.wait()
        around.cancel()
        await turns()
        assert not waiter.done()
        held.release()
        await waiter
        assert around.cancelled_caught
        assert (announced, "held" in names(tmp_path / "db")) == (["held"], True)


async def test_a_queued_write_is_withdrawn_with_its_waiter(tmp_path: Path) -> None:
    """What nobody wants any more and has not begun must not happen."""
    announced: list[str] = []
    with opened(tmp_path / "db") as database, anyio.fail_after(PATIENCE_S):
        async with all_writers_held(database):
            queued = asyncio.ensure_future(database.write(adds("queued"), announce=announced.append))
            await turns()
            queued.cancel()
            with pytest.raises(asyncio.CancelledError):
                await queued
        assert await database.write(adds("later")) == "later"
        assert "queued" not in names(tmp_path / "db")
        assert announced == []


async def test_a_queued_settlement_is_never_withdrawn(tmp_path: Path) -> None:
    """What has happened outside must be written down whoever still waits (effects)."""
    announced: list[str] = []
    with opened(tmp_path / "db") as database, anyio.fail_after(PATIENCE_S):
        async with all_writers_held(database):
            settlement = asyncio.ensure_future(
                database.write(adds("settled"), announce=announced.append, withdrawable=False)
            )
            await turns()
            settlement.cancel()
            await turns()
            settlement.cancel()
            await turns()
            assert not settlement.done()
        with pytest.raises(asyncio.CancelledError):
            await settlement
        assert "settled" in names(tmp_path / "db")
        assert announced == ["settled"]


async def test_a_settlement_asked_for_in_a_cancelled_scope_is_written(tmp_path: Path) -> None:
    """A Stop reaches the act first; its settlement is written from inside the cancelled scope."""
    with opened(tmp_path / "db") as database, anyio.fail_after(PATIENCE_S):
        with anyio.CancelScope() as scope_:
            scope_.cancel()
            await database.write(adds("settled"), withdrawable=False)
        assert "settled" in names(tmp_path / "db")


async def test_a_failed_job_leaves_nothing_and_is_not_announced(tmp_path: Path) -> None:
    """Nothing is announced that was not committed (house style 35)."""
    announced: list[object] = []

    def fails(connection: Connection) -> None:
        adds("half")(connection)
        raise LookupError("on purpose")

    with opened(tmp_path / "db") as database:
        with pytest.raises(LookupError, match="on purpose"):
            await database.write(fails, announce=announced.append)
        assert await database.write(adds("next")) == "next"
        assert "half" not in names(tmp_path / "db")
        assert announced == []


async def test_the_announcement_sees_the_commit(tmp_path: Path) -> None:
    """A follower that is woken must find the rows."""
    with opened(tmp_path / "db") as database:
        seen: list[bool] = []
        await database.write(adds("new"), announce=lambda name: seen.append(name in names(tmp_path / "db")))
        assert seen == [True]


async def test_a_failing_announcement_does_not_leave_its_waiter_hanging(tmp_path: Path) -> None:
    """The change is committed whether or not a wake works."""
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    wrong = LookupError("on purpose")

    def announce(name: str) -> None:
        raise wrong

    with opened(tmp_path / "db") as database, anyio.fail_after(PATIENCE_S):
        assert await database.write(adds("new"), announce=announce) == "new"
    assert reported == [wrong]


@pytest.mark.covers("K16")
async def test_a_full_queue_is_busy_but_takes_settlements(tmp_path: Path) -> None:
    """Waiting without a bound would hide an overload; what has happened is recorded all the same."""
    with opened(tmp_path / "db") as database, anyio.fail_after(PATIENCE_S):
        async with all_writers_held(database):
            waiting = [asyncio.ensure_future(database.write(adds(f"queued-{n}"))) for n in range(store._QUEUED_WRITES)]
            await turns()
            with pytest.raises(errors.Refusal) as refused:
                await database.write(adds("too much"))
            assert (refused.value.kind, refused.value.details) == (errors.Kind.BUSY, {"retry_after_s": 1})
            settlement = asyncio.ensure_future(database.write(adds("settled"), withdrawable=False))
            await turns()
        await asyncio.wait([settlement, *waiting])
        assert {"settled", "queued-0", f"queued-{store._QUEUED_WRITES - 1}"} <= names(tmp_path / "db")
        assert "too much" not in names(tmp_path / "db")


async def test_reads_go_on_beside_a_write_and_see_the_last_commit(tmp_path: Path) -> None:
    """WAL: readers neither wait for the writer nor see its half."""
    with opened(tmp_path / "db") as database, anyio.fail_after(PATIENCE_S):
        before = database.read_here(lambda connection: connection.one(COUNT))
        held = Held()
        write = asyncio.ensure_future(database.write(held))
        await held.started.wait()
        assert await database.read(lambda connection: connection.one(COUNT)) == before
        assert database.read_here(lambda connection: connection.one(COUNT)) == before
        held.release()
        await write
        after = await database.read(lambda connection: connection.one(COUNT))
        assert before is not None
        assert after is not None
        assert (int(after[0] or 0), database.read_here(lambda connection: connection.one(COUNT))) == (
            int(before[0] or 0) + 1,
            after,
        )


async def test_a_read_is_one_snapshot(tmp_path: Path) -> None:
    """Two statements of a read agree although a commit falls between them."""
    with opened(tmp_path / "db") as database, anyio.fail_after(PATIENCE_S):
        loop = asyncio.get_running_loop()
        started, go = anyio.Event(), threading.Event()

        def twice(connection: Connection) -> bool:
            first = connection.one(COUNT)
            loop.call_soon_threadsafe(started.set)
            assert go.wait(PATIENCE_S)
            return first == connection.one(COUNT)

        read = asyncio.ensure_future(database.read(twice))
        await started.wait()
        await database.write(adds("between"))
        go.set()
        assert await read


async def test_a_look_inside_a_look_sees_the_same(tmp_path: Path) -> None:
    """A regression: the second one began a transaction within the first."""
    with opened(tmp_path / "db") as database:
        whole = database.read_here(lambda one: (one.one(COUNT), database.read_here(lambda other: other.one(COUNT))))
        assert whole[0] == whole[1]


async def test_a_read_cannot_write(tmp_path: Path) -> None:
    """A read has neither lock nor receipt (house style 33)."""
    with opened(tmp_path / "db") as database:
        refusals = (sqlite3.OperationalError, psycopg.errors.ReadOnlySqlTransaction)
        with pytest.raises(refusals, match=r"read-?only"):
            await database.read(adds("sneaked in"))
        with pytest.raises(refusals, match=r"read-?only"):
            database.read_here(adds("sneaked in"))
        assert "sneaked in" not in names(tmp_path / "db")


async def test_a_thousand_reads_and_writes_at_once_all_end(tmp_path: Path) -> None:
    """No hop may be lost between loop and threads."""
    with opened(tmp_path / "db") as database, anyio.fail_after(30):
        done: list[str] = []

        async def one(n: int) -> None:
            if n % 8 == 0:
                await database.write(adds(f"row-{n}"))
            else:
                await database.read(lambda connection: connection.one(COUNT))
            done.append(f"row-{n}")

        async with anyio.create_task_group() as group:
            for n in range(1000):
                group.start_soon(one, n)
        assert len(done) == 1000


async def test_a_closed_store_leaves_no_thread(tmp_path: Path) -> None:
    """A test or a reset opens many."""
    with opened(tmp_path / "db") as database:
        await database.write(adds("queued before the end"))
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("store-")]


@pytest.mark.covers("K15")
async def test_work_that_began_is_waited_for_and_work_that_did_not_is_withdrawn(tmp_path: Path) -> None:
    """A file that is half written when a Stop comes is written to its end; the next one is not begun."""
    loop = asyncio.get_running_loop()
    began: list[int] = []
    all_began, go = anyio.Event(), threading.Event()

    def work(number: int) -> int:
        began.append(number)
        if len(began) == 4:
            loop.call_soon_threadsafe(all_began.set)
        assert go.wait(PATIENCE_S)
        return threading.get_ident()

    with opened(tmp_path / "db") as database, anyio.fail_after(PATIENCE_S):
        waiters = [asyncio.ensure_future(database.work(partial(work, number))) for number in range(4)]
        await all_began.wait()
        late = asyncio.ensure_future(database.work(partial(work, 5)))
        await turns()
        late.cancel()
        waiters[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await late
        assert not waiters[0].done()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await waiters[0]
        threads = {await one for one in waiters[1:]}
        assert threading.get_ident() not in threads
        assert sorted(began) == [0, 1, 2, 3]
