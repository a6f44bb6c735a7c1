"""Either database behind one path: a file is SQLite itself, or holds the address of a PostgreSQL database.

A test names a path and never asks which; `mode.server` says what a new path becomes (see the fixture `database`).
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

import psycopg

from support import postgresql
from support.postgresql import Server
from workstead.kernel import databases
from workstead.kernel.store import Connection, Database, Driver, Durability, Prepared
from workstead.migrations import schema

_MARK = b"postgresql://"


@dataclass(kw_only=True)
class Mode:
    """What a new path becomes. server: None is SQLite.

    made: addresses to drop after the test. lent: those that are emptied and kept, in `free`, for the next ones.
    """

    server: Server | None = None
    template: str = ""
    made: list[str] = field(default_factory=list)
    lent: list[str] = field(default_factory=list)
    free: list[str] = field(default_factory=list)

    def end(self) -> None:
        """After a test: SQLite again, and nothing of it is left."""
        server, self.server = self.server, None
        assert server is not None
        for address in self.made:
            server.drop(address)
        for address in self.lent:
            server.empty(address)
        self.free += self.lent
        self.made.clear()
        self.lent.clear()


mode = Mode()


class Rows(Protocol):
    """What a statement is answered with, in both drivers."""

    def fetchone(self) -> Any:
        """The next row."""
        ...

    def fetchall(self) -> list[Any]:
        """Every row."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Raw(Protocol):
    """A connection of either driver, for statements without parameters."""

    def execute(self, text: str, /) -> Rows:
        """Execute one statement."""
        ...


def make(path: Path) -> None:
    """A database with the newest schema at the path."""
    if mode.server is None:
        schema.prepare(path)
        return
    address = mode.free.pop() if mode.free else mode.server.create(like=mode.template)
    mode.lent.append(address)
    path.write_text(address)


def copy(source: Path, target: Path) -> None:
    """A copy of a database that nobody has open."""
    found = address_of(source)
    if found is None:
        target.write_bytes(source.read_bytes())
        return
    assert mode.server is not None
    made = mode.server.create(like=postgresql.name_of(found))
    mode.made.append(made)
    target.write_text(made)


def image(source: Path, target: Path) -> None:
    """What is committed in a database that others have open, as a database of its own."""
    found = address_of(source)
    if found is None:
        with closing(sqlite3.connect(source)) as read, closing(sqlite3.connect(target)) as written:
            read.backup(written)
        return
    make(target)
    made = address_of(target)
    assert made is not None
    with psycopg.connect(found) as read_, psycopg.connect(made) as written_:
        read_.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
        for (table,) in read_.execute(tables).fetchall():
            rows_of = f"COPY {table} TO STDOUT (FORMAT binary)".encode()
            with (
                read_.cursor().copy(rows_of) as out,
                written_.cursor().copy(f"COPY {table} FROM STDIN (FORMAT binary)".encode()) as into,
            ):
                for data in out:
                    into.write(data)


def environ(path: Path) -> dict[str, str]:
    """What a server that is started over a path must be told; a path without a database gets one without tables."""
    if mode.server is not None and not path.exists():
        made = mode.server.create()
        mode.made.append(made)
        path.write_text(made)
    found = address_of(path) if path.exists() else None
    return {} if found is None else {"WORKSTEAD_DATABASE_URL": found}


def address_of(path: Path) -> str | None:
    """The address of the PostgreSQL database behind a path, or None."""
    with path.open("rb") as file:
        return path.read_text() if file.read(len(_MARK)) == _MARK else None


def of(path: Path, *, durability: Durability = Durability.NORMAL) -> Database:
    """The database as the product opens it."""
    return databases.of(path, address_of(path), durability=durability)


@contextmanager
def connected(path: Path) -> Iterator[Raw]:
    """A connection of its own, each statement committed at once."""
    address = address_of(path)
    raw = sqlite3.connect(path, isolation_level=None) if address is None else psycopg.connect(address, autocommit=True)
    try:
        yield cast("Raw", raw)
    finally:
        raw.close()


@contextmanager
def transaction(path: Path) -> Iterator[Connection]:
    """One write transaction on a connection of its own."""
    with connected(path) as raw:
        if address_of(path) is None:
            raw.execute("PRAGMA busy_timeout=5000")
            raw.execute("BEGIN IMMEDIATE")
            yield Connection(cast("Driver", raw))
        else:
            raw.execute("BEGIN")
            yield Connection(cast("Driver", cast("psycopg.Connection[Any]", raw).cursor()), dialect="postgresql")
        raw.execute("COMMIT")


def statement(text: str) -> Prepared:
    """A statement that both databases take, with its parameters as `:name`."""
    return Prepared(sqlite=text, postgresql=re.sub(r"(?<![\w:]):(\w+)", r"%(\1)s", text.replace("%", "%%")))


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Whether somebody else holds what a write locks now."""
    with connected(path) as raw:
        if address_of(path) is None:
            raw.execute("PRAGMA busy_timeout=0")
        lock, end = ("BEGIN IMMEDIATE", "ROLLBACK")
        if address_of(path) is not None:
            lock, end = ("SELECT 1 FROM scope FOR UPDATE NOWAIT", "SELECT 1")
        try:
            raw.execute(lock)
        except (sqlite3.OperationalError, psycopg.errors.LockNotAvailable):
            yield True
            return
        raw.execute(end)
        yield False


def rows(path: Path, text: str) -> list[Any]:
    """What a query finds."""
    with connected(path) as raw:
        return raw.execute(text).fetchall()


def dump(path: Path) -> str:
    """Everything that is stored in tables, as text."""
    tables = (
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        if address_of(path) is None
        else "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    )
    return "\n".join(str(row) for (table,) in rows(path, tables) for row in rows(path, f"SELECT * FROM {table}"))


def first_of(found: Iterable[Sequence[Any]]) -> list[Any]:
    """The first column."""
    return [row[0] for row in found]
