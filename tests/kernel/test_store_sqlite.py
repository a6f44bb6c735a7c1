"""SQLite behind the store: what only the file can do or refuse (architecture, "Concurrency")."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import insert

from support import instance
from workstead import errors
from workstead.kernel.store import Connection, Durability, Prepared, Store, prepared
from workstead.kernel.store_sqlite import Sqlite, keep_log
from workstead.kernel.tables import scope

ADD = prepared(insert(scope))


def pragma(text: str) -> Prepared:
    return Prepared(sqlite=f"PRAGMA {text}", postgresql="")


def adds(name: str) -> Callable[[Connection], str]:
    def job(connection: Connection) -> str:
        connection.run(ADD, id=name, seq=0)
        return name

    return job


@contextmanager
def opened(path: Path, *, durability: Durability = Durability.NORMAL) -> Iterator[Store]:
    instance.founded(path)
    made = Store(Sqlite(path, durability=durability))
    try:
        yield made
    finally:
        made.close()


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


@pytest.mark.parametrize(("durability", "level"), [(Durability.FULL, 2), (Durability.NORMAL, 1)])
async def test_the_promised_durability_is_the_databases_setting(
    tmp_path: Path, durability: Durability, level: int
) -> None:
    """An acknowledged change survives power loss unless the operator chose otherwise."""
    with opened(tmp_path / "db", durability=durability) as database:
        found = await database.write(lambda connection: connection.one(pragma("synchronous")))
    assert found == (level,)


def test_starts_that_open_a_new_file_at_the_same_moment_all_open_it(tmp_path: Path) -> None:
    """A past bug: switching to the log at the same moment was refused at once, and the start with it."""

    def open_it(path: Path, together: threading.Barrier) -> str:
        raw = sqlite3.connect(path, isolation_level=None)
        with closing(raw):
            together.wait(5)
            keep_log(raw)
            return str(raw.execute("PRAGMA journal_mode").fetchone()[0])

    with ThreadPoolExecutor(4) as pool:
        for n in range(60):
            together = threading.Barrier(4)
            waiting = [pool.submit(open_it, tmp_path / f"db-{n}", together) for _ in range(4)]
            assert [one.result(20) for one in waiting] == ["wal"] * 4
