"""The one writer, the readers and their waiters (architecture, "Concurrency"; quality, "Tests")."""

import asyncio
import importlib
import pkgutil
import re
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import anyio
import pytest
from sqlalchemy import bindparam, func, insert, literal_column, select

import workstead
from support import instance
from workstead import errors
from workstead.kernel import store
from workstead.kernel.store import Connection, Durability, Prepared, Store, prepared
from workstead.kernel.tables import scope

PATIENCE_S = 5
ADD = prepared(insert(scope))
COUNT = prepared(select(func.count(literal_column("*"))).select_from(scope))


def pragma(text: str) -> Prepared:
    return Prepared(sqlite=f"PRAGMA {text}", postgresql="")


def adds(name: str) -> Callable[[Connection], str]:
    def job(connection: Connection) -> str:
        connection.run(ADD, id=name, seq=0)
        return name

    return job


def names(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as raw:
        return {name for (name,) in raw.execute("SELECT id FROM scope")}


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
def opened(path: Path, *, durability: Durability = Durability.NORMAL) -> Iterator[Store]:
    instance.founded(path)
    made = Store(path, durability=durability)
    try:
        yield made
    finally:
        made.close()


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
        held = Held()
        first = asyncio.ensure_future(database.write(held))
        await held.started.wait()
        queued = asyncio.ensure_future(database.write(adds("queued"), announce=announced.append))
        await turns()
        queued.cancel()
        with pytest.raises(asyncio.CancelledError):
            await queued
        assert not first.done()
        held.release()
        assert await first == "held"
        assert await database.write(adds("later")) == "later"
        assert "queued" not in names(tmp_path / "db")
        assert announced == []


async def test_a_queued_settlement_is_never_withdrawn(tmp_path: Path) -> None:
    """What has happened outside must be written down whoever still waits (effects)."""
    announced: list[str] = []
    with opened(tmp_path / "db") as database, anyio.fail_after(PATIENCE_S):
        held = Held()
        first = asyncio.ensure_future(database.write(held))
        await held.started.wait()
        settlement = asyncio.ensure_future(
            database.write(adds("settled"), announce=announced.append, withdrawable=False)
        )
        await turns()
        settlement.cancel()
        await turns()
        settlement.cancel()
        await turns()
        assert not settlement.done()
        held.release()
        await first
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
        held = Held()
        first = asyncio.ensure_future(database.write(held))
        await held.started.wait()
        waiting = [asyncio.ensure_future(database.write(adds(f"queued-{n}"))) for n in range(store._QUEUED_WRITES)]
        await turns()
        with pytest.raises(errors.Refusal) as refused:
            await database.write(adds("too much"))
        assert (refused.value.kind, refused.value.details) == (errors.Kind.BUSY, {"retry_after_s": 1})
        settlement = asyncio.ensure_future(database.write(adds("settled"), withdrawable=False))
        await turns()
        held.release()
        await asyncio.wait([first, settlement, *waiting])
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


async def test_a_read_cannot_write(tmp_path: Path) -> None:
    """A read has neither lock nor receipt (house style 33)."""
    with opened(tmp_path / "db") as database:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            await database.read(adds("sneaked in"))
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            database.read_here(adds("sneaked in"))
        assert "sneaked in" not in names(tmp_path / "db")


async def test_a_lock_of_another_process_is_busy(tmp_path: Path) -> None:
    """A backup tool or a second server must not look like a fault of ours."""
    path = tmp_path / "db"
    with opened(path) as database, closing(sqlite3.connect(path, isolation_level=None)) as other:
        await database.write(lambda connection: connection.all(pragma("busy_timeout=0")))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(errors.Refusal) as refused:
            await database.write(adds("locked out"))
        other.execute("ROLLBACK")
        assert (refused.value.kind, refused.value.code) == (errors.Kind.BUSY, "database_locked")
        assert await database.write(adds("next")) == "next"


async def test_a_full_disk_is_unavailable_and_leaves_nothing(tmp_path: Path) -> None:
    """A person can act on it; an internal error says nothing."""

    def fills(connection: Connection) -> None:
        connection.run(ADD, id="x" * 1_000_000, seq=0)

    with opened(tmp_path / "db") as database:
        await database.write(lambda connection: connection.all(pragma("max_page_count=1")))
        with pytest.raises(errors.Refusal) as refused:
            await database.write(fills)
        assert (refused.value.kind, refused.value.code) == (errors.Kind.UNAVAILABLE, "disk_full")
        await database.write(lambda connection: connection.all(pragma("max_page_count=1000000")))
        assert await database.write(adds("next")) == "next"


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


@pytest.mark.parametrize(("durability", "level"), [(Durability.FULL, 2), (Durability.NORMAL, 1)])
async def test_the_promised_durability_is_the_databases_setting(
    tmp_path: Path, durability: Durability, level: int
) -> None:
    """An acknowledged change survives power loss unless the operator chose otherwise."""
    with opened(tmp_path / "db", durability=durability) as database:
        found = await database.write(lambda connection: connection.one(pragma("synchronous")))
    assert found == (level,)


async def test_a_closed_store_leaves_no_thread(tmp_path: Path) -> None:
    """A test or a reset opens many."""
    with opened(tmp_path / "db") as database:
        await database.write(adds("queued before the end"))
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("store-")]


def test_a_hidden_literal_is_refused_when_the_module_is_imported() -> None:
    """It would be bound under a name that nobody passes; SQLite would say so at the first call only."""
    with pytest.raises(ValueError, match="hidden literal"):
        prepared(select(scope.c.seq).where(scope.c.id == "instance"))
    with pytest.raises(ValueError, match="hidden literal"):
        prepared(select(scope.c.seq).limit(1))


def test_one_statement_is_compiled_for_both_databases() -> None:
    """The same code runs on both (K13)."""
    statement = prepared(select(scope.c.seq).where(scope.c.id == bindparam("k_id")).with_for_update())
    texts = [" ".join(text.split()) for text in (statement.sqlite, statement.postgresql)]
    assert texts == [
        "SELECT scope.seq FROM scope WHERE scope.id = :k_id",
        "SELECT scope.seq FROM scope WHERE scope.id = %(k_id)s::VARCHAR FOR UPDATE",
    ]


def statements() -> Iterator[tuple[str, Prepared]]:
    """Every prepared statement that stands in a module of the package."""
    for found in pkgutil.walk_packages(workstead.__path__, "workstead."):
        if found.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(found.name)).items():
            if isinstance(value, Prepared):
                yield f"{found.name}.{name}", value


@pytest.mark.covers("K13")
def test_every_statement_of_the_package_fits_the_schema_and_both_databases(tmp_path: Path) -> None:
    """A wrong column is found here, not at the first call; both texts bind the same names."""
    instance.founded(tmp_path / "db")
    found = dict(statements())
    assert len(found) > 30
    with closing(sqlite3.connect(tmp_path / "db")) as raw:
        for name, statement in found.items():
            raw.execute(f"EXPLAIN {statement.sqlite}", defaultdict(lambda: None)).fetchall()
            ours = set(re.findall(r":(\w+)", statement.sqlite))
            theirs = set(re.findall(r"%\((\w+)\)s", statement.postgresql))
            assert ours == theirs, name
            assert "?" not in statement.sqlite, name
