"""PostgreSQL behind the store: lost connections, unknown commits, limits (architecture, "Errors", "Concurrency")."""

import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import anyio
import anyio.lowlevel
import psycopg
import pytest
from sqlalchemy import insert
from structlog.testing import capture_logs

from support import breaking, instance
from support import database as databases
from support.postgresql import Server
from workstead import errors
from workstead.kernel import store, store_postgresql
from workstead.kernel.store import Connection, Store, prepared
from workstead.kernel.store_postgresql import Postgresql
from workstead.kernel.tables import scope

pytestmark = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)

PATIENCE_S = 10
ADD = prepared(insert(scope))
LOCK = databases.statement("SELECT seq FROM scope WHERE id = :id FOR UPDATE")
COUNT = databases.statement("SELECT count(*) FROM scope")


def adds(name: str) -> Callable[[Connection], str]:
    def job(connection: Connection) -> str:
        connection.run(ADD, id=name, seq=0)
        return name

    return job


def names(path: Path) -> list[str]:
    return sorted(databases.first_of(databases.rows(path, "SELECT id FROM scope")))


@contextmanager
def opened(address: str) -> Iterator[Store]:
    made = Store(Postgresql(address))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return instance.founded(tmp_path / "db").path


@pytest.fixture
def address(path: Path) -> str:
    found = databases.address_of(path)
    assert found is not None
    return found


@pytest.mark.covers("K05", "K13")
@pytest.mark.parametrize(("breaks", "times"), [(["after"], 1), (["before"], 2), (["before", "before", "after"], 3)])
async def test_a_commit_whose_answer_is_lost_is_looked_up_and_run_again_only_if_it_is_not_there(
    postgresql_server: Server, path: Path, address: str, breaks: list[breaking.When], times: int
) -> None:
    """Architecture, "Errors": found is committed, absent is the same job once more."""
    ran = count(1)
    last = 0

    def job(connection: Connection) -> str:
        nonlocal last
        last = next(ran)
        connection.run(ADD, id=f"try-{last}", seq=0)
        return f"try-{last}"

    with breaking.relay(postgresql_server) as relay, opened(relay.address(address)) as made:
        relay.break_at = list(breaks)
        with anyio.fail_after(PATIENCE_S):
            answer = await made.write(job)
        assert relay.broken == breaks
    assert (answer, last) == (f"try-{times}", times)
    assert [name for name in names(path) if name.startswith("try-")] == [f"try-{times}"]


async def test_a_commit_that_cannot_be_looked_up_is_given_up_as_unavailable(
    postgresql_server: Server, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody may be told that it was done, nor that it was not."""
    monkeypatch.setattr(store_postgresql, "PATIENCE_S", 0.2)
    with breaking.relay(postgresql_server) as relay, opened(relay.address(address)) as made:
        await made.write(adds("first"))

        def job(connection: Connection) -> str:
            relay.refusing = True
            return adds("second")(connection)

        relay.break_at = ["after"]
        with anyio.fail_after(PATIENCE_S), pytest.raises(errors.Refusal) as refused:
            await made.write(job)
    assert (refused.value.kind, refused.value.code) == (errors.Kind.UNAVAILABLE, "outcome_unknown")


async def test_a_settlement_that_cannot_be_looked_up_is_looked_up_until_it_can(
    postgresql_server: Server, path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would look what became of it, so it is neither given up nor written twice."""
    monkeypatch.setattr(store_postgresql, "PATIENCE_S", 0.1)
    with breaking.relay(postgresql_server) as relay, opened(relay.address(address)) as made:
        await made.write(adds("first"))

        def job(connection: Connection) -> str:
            relay.refusing = True
            return adds("second")(connection)

        relay.break_at = ["after"]
        written: list[str] = []

        async def settles() -> None:
            written.append(await made.write(job, withdrawable=False, patient=True))

        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(settles)
                while not relay.broken:
                    await anyio.lowlevel.checkpoint()
                # Refused while nothing can be reached, each after the whole patience.
                try:
                    for _ in range(3):
                        with pytest.raises(errors.Refusal):
                            await made.read(lambda connection: connection.one(COUNT))
                    assert written == []
                finally:
                    relay.refusing = False
        assert written == ["second"]
    assert names(path).count("second") == 1


async def test_every_session_has_its_limits(address: str) -> None:
    """Operations: nothing may run, wait or stand idle in a transaction for ever."""
    shown = databases.statement(
        "SELECT current_setting('statement_timeout'), current_setting('lock_timeout'), "
        "current_setting('idle_in_transaction_session_timeout')"
    )
    with opened(address) as made:
        for ask in (made.write, made.read, made.look):
            assert await ask(lambda connection: connection.one(shown)) == ("30s", "10s", "30s")


async def test_a_transaction_that_the_server_ended_for_standing_idle_wrote_nothing_and_is_run_again(
    path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that was stopped in the middle must not hold a scope's row for ever."""
    monkeypatch.setitem(store_postgresql._LIMITS_MS, "idle_in_transaction_session_timeout", 50)
    tries = count()

    def job(connection: Connection) -> str:
        added = adds(f"try-{(number := next(tries))}")(connection)
        if number == 0:
            with psycopg.connect(address, autocommit=True) as other:
                ended = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
                while other.execute(ended).fetchone() != (0,):
                    pass
        return added

    with anyio.fail_after(PATIENCE_S), opened(address) as made:
        assert await made.write(job) == "try-1"
    assert [name for name in names(path) if name.startswith("try-")] == ["try-1"]


@pytest.mark.covers("K13")
async def test_a_server_that_ends_every_connection_is_met_again(
    postgresql_server: Server, path: Path, address: str
) -> None:
    """A restart of the database must not need one of ours."""
    with opened(address) as made, anyio.fail_after(PATIENCE_S):
        await made.write(adds("before"))
        await made.read(lambda connection: connection.one(COUNT))
        made.read_here(lambda connection: connection.one(COUNT))
        postgresql_server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'workstead'"
        )
        assert await made.write(adds("after")) == "after"
        found = await made.read(lambda connection: connection.one(COUNT))
        assert found == made.read_here(lambda connection: connection.one(COUNT))
    assert {"before", "after"} <= set(names(path))


async def test_a_server_that_is_gone_is_unavailable_and_its_address_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person can act on it; the address holds a password."""
    monkeypatch.setattr(store_postgresql, "PATIENCE_S", 0.2)
    with opened(f"postgresql://ada:geheim@/garden?host={tmp_path}") as made:
        for ask in (made.write, made.read, made.look):
            with pytest.raises(errors.Refusal) as refused:
                await ask(lambda connection: connection.one(COUNT))
            assert (refused.value.kind, refused.value.code) == (errors.Kind.UNAVAILABLE, "database_unreachable")
            shown = "\n".join(traceback.format_exception(refused.value))
            assert refused.value.message in shown
            assert not [part for part in ("geheim", tmp_path.name) if part in shown]


async def test_a_lock_that_is_held_too_long_is_busy(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer must not look like a fault of ours."""
    monkeypatch.setitem(store_postgresql._LIMITS_MS, "lock_timeout", 50)
    with opened(address) as made, psycopg.connect(address) as other:
        other.execute("SELECT 1 FROM scope FOR UPDATE")
        with pytest.raises(errors.Refusal) as refused:
            await made.write(lambda connection: connection.one(LOCK, id="instance"))
        other.rollback()
        assert (refused.value.kind, refused.value.code) == (errors.Kind.BUSY, "database_locked")
        assert await made.write(adds("next")) == "next"


async def test_a_statement_that_takes_too_long_is_ended(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may hold a scope's row for ever."""
    monkeypatch.setitem(store_postgresql._LIMITS_MS, "statement_timeout", 50)
    slow = databases.statement("SELECT count(*) FROM generate_series(1, 1000000000)")
    with opened(address) as made:
        with pytest.raises(errors.Refusal) as refused:
            await made.write(lambda connection: connection.one(slow))
        assert (refused.value.kind, refused.value.code) == (errors.Kind.UNAVAILABLE, "database_slow")
        assert await made.write(adds("next")) == "next"


@pytest.mark.covers("K13")
async def test_two_writes_that_wait_for_each_other_both_end(path: Path, address: str) -> None:
    """The server ends one of them; it is run again."""
    with psycopg.connect(address, autocommit=True) as raw:
        raw.execute("INSERT INTO scope VALUES ('a', 0), ('b', 0)")
    both = threading.Barrier(2)
    ran = count()

    def crosses(first: str, second: str) -> Callable[[Connection], str]:
        def job(connection: Connection) -> str:
            connection.one(LOCK, id=first)
            if next(ran) < 2:
                both.wait(PATIENCE_S)
            connection.one(LOCK, id=second)
            return adds(f"{first}{second}")(connection)

        return job

    with opened(address) as made, anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(made.write, crosses("a", "b"))
            group.start_soon(made.write, crosses("b", "a"))
    assert next(ran) == 3
    assert {"ab", "ba"} <= set(names(path))


@pytest.mark.covers("K13")
async def test_two_writes_that_look_and_then_insert_the_same_row_agree(path: Path, address: str) -> None:
    """SQLite lets nobody in between; here the second one looks again."""
    both = threading.Barrier(2)
    ran = count()
    there = databases.statement("SELECT 1 FROM scope WHERE id = 'shared'")

    def job(connection: Connection) -> str:
        if connection.one(there) is not None:
            return "found"
        if next(ran) < 2:
            both.wait(PATIENCE_S)
        adds("shared")(connection)
        return "made"

    answers: list[str] = []
    with opened(address) as made, anyio.fail_after(PATIENCE_S):

        async def write() -> None:
            answers.append(await made.write(job))

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            group.start_soon(write)
    assert sorted(answers) == ["found", "made"]
    assert names(path).count("shared") == 1


async def test_a_row_that_is_there_for_good_is_the_jobs_own_fault(address: str) -> None:
    """It is raised as it is, after the second time."""
    with opened(address) as made:
        await made.write(adds("there"))
        with pytest.raises(psycopg.errors.UniqueViolation):
            await made.write(adds("there"))
        assert await made.write(adds("next")) == "next"


async def test_a_job_that_swallows_a_refused_statement_is_a_fault_and_not_a_success(path: Path, address: str) -> None:
    """The server answers such a commit with a rollback, and no error."""

    def swallows(connection: Connection) -> str:
        try:
            connection.one(databases.statement("SELECT 1 FROM no_such_table"))
        except psycopg.Error:
            return "done"
        return "not reached"

    with opened(address) as made:
        with pytest.raises(RuntimeError, match="ROLLBACK"):
            await made.write(swallows)
        assert await made.write(adds("next")) == "next"


async def test_a_long_transaction_is_logged_with_its_operation(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the server learns what holds the others up."""
    monkeypatch.setattr(store, "_LONG_S", -1.0)
    with opened(address) as made, capture_logs() as logs:
        await made.write(adds("slow"), name="create_note")
        await made.read(lambda connection: connection.one(COUNT), name="list_notes")
    assert [(one["log_level"], one["operation"]) for one in logs] == [
        ("warning", "create_note"),
        ("warning", "list_notes"),
    ]


@pytest.mark.covers("K13")
async def test_text_is_ordered_by_its_bytes_whatever_language_the_server_sorts_by(path: Path) -> None:
    """Pages of ids continue after the last one in both databases."""
    given = ["a", "B", "b", "A", "ä", "_", "a-b", "ab", "card-a.b", "card-a"]
    with databases.connected(path) as raw:
        for name in given:
            raw.execute(f"INSERT INTO scope VALUES ('x{name}', 0)")
        ordered = databases.first_of(raw.execute("SELECT id FROM scope WHERE id LIKE 'x%' ORDER BY id").fetchall())
        server = databases.first_of(raw.execute("SELECT v FROM (VALUES ('a'), ('B')) AS t (v) ORDER BY v").fetchall())
        after = databases.first_of(raw.execute("SELECT id FROM scope WHERE id > 'xa' AND id LIKE 'x%'").fetchall())
    assert server == ["a", "B"]
    assert ordered == sorted(f"x{name}" for name in given)
    assert sorted(after) == [name for name in ordered if name > "xa"]


@pytest.mark.covers("K13")
def test_the_driver_is_not_loaded_while_the_database_is_a_file() -> None:
    """Start time and memory of the default stay as they are (quality, "Performance")."""
    program = "import sys, workstead.app; print([name for name in sys.modules if name.partition('.')[0] == 'psycopg'])"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert ended.stdout.strip() == "[]"
