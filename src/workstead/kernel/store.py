"""The store: the database file, its one writer thread, its reader threads and prepared statements.

The only module that may name asyncio: a started write must be waited for however its waiter is cancelled,
and anyio's own thread hop gives its slot back while the thread still runs when asyncio cancels natively.
"""

import asyncio
import contextlib
import os
import queue
import sqlite3
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Generic, NoReturn, TypeVar

import anyio
from sqlalchemy import Dialect
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql import ClauseElement

from workstead import errors
from workstead.kernel import faults

T = TypeVar("T")
Value = str | int | None
Row = tuple[Value, ...]

_DIALECTS: Mapping[str, Dialect] = {
    "sqlite": sqlite.dialect(paramstyle="named"),
    # The library leaves this one untyped.
    "postgresql": postgresql.dialect(paramstyle="pyformat"),  # type: ignore[no-untyped-call]
}
_READERS = 8
_QUEUED_WRITES = 256
_BUSY_TIMEOUT_MS = 10_000
_OUTCOME_UNKNOWN_EXIT = 74


class Durability(StrEnum):
    """How far a commit has got when it is acknowledged."""

    FULL = "full"  # on the disk
    NORMAL = "normal"  # in the system's hands: safe against kill, not against power loss


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A statement compiled once to driver text; its parameters are bound by name."""

    sqlite: str
    postgresql: str


def prepared(statement: ClauseElement) -> Prepared:
    """Compile a Core statement for both databases.

    Raises ValueError for a hidden literal: it would be bound under a name nobody passes. Spell it as a
    `bindparam` or `literal_column`.
    """
    texts: dict[str, str] = {}
    for name, dialect in _DIALECTS.items():
        compiled = statement.compile(dialect=dialect)
        hidden = [key for key, value in (compiled.params or {}).items() if value is not None]
        if hidden:
            raise ValueError(f"hidden literal {hidden} in {compiled}")
        texts[name] = str(compiled)
    return Prepared(**texts)


class Connection:
    """One database connection inside one transaction; rows are tuples in the statement's column order."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw

    def run(self, statement: Prepared, /, **parameters: Value) -> int:
        """Execute, and return how many rows were changed."""
        return self._raw.execute(statement.sqlite, parameters).rowcount

    def run_many(self, statement: Prepared, parameters: list[Mapping[str, Value]]) -> None:
        """Execute once for each parameter set."""
        self._raw.executemany(statement.sqlite, parameters)

    def one(self, statement: Prepared, /, **parameters: Value) -> Row | None:
        """The first row, or None."""
        row: Row | None = self._raw.execute(statement.sqlite, parameters).fetchone()
        return row

    def all(self, statement: Prepared, /, **parameters: Value) -> list[Row]:
        """Every row."""
        return self._raw.execute(statement.sqlite, parameters).fetchall()


class _Hop(Generic[T]):
    """One job on its way to a thread and back; its end is handled by the loop whether or not anyone waits."""

    def __init__(self, job: Callable[[Connection], T], announce: Callable[[T], None] | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = anyio.Event()
        self._announce = announce
        self._future: Future[T] = Future()
        self.job = job

    def start(self) -> bool:
        """Called in the thread: whether the job is still wanted."""
        return self._future.set_running_or_notify_cancel()

    def done(self, value: T) -> None:
        """Called in the thread after the commit."""
        self._future.set_result(value)
        self._back()

    def failed(self, error: BaseException) -> None:
        """Called in the thread after the rollback."""
        self._future.set_exception(error)
        self._back()

    async def wait(self, *, withdrawable: bool) -> T:
        """The job's result. A cancelled waiter withdraws a queued job; a started one is waited for."""
        cancelled: asyncio.CancelledError | None = None
        while not self._ended.is_set():
            try:
                with anyio.CancelScope(shield=cancelled is not None or not withdrawable):
                    await self._ended.wait()
            except asyncio.CancelledError as error:
                if withdrawable and self._future.cancel():
                    raise
                cancelled = error
        if cancelled is not None:
            raise cancelled
        return self._future.result()

    def _back(self) -> None:
        # A closed loop means that the process is ending: the rows are written, nobody is left to tell.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        try:
            if self._announce is not None and self._future.exception() is None:
                faults.point("commit.done")
                self._announce(self._future.result())
                faults.point("announce.done")
        finally:
            self._ended.set()


class Store:
    """The database of an instance: one writer thread with a bounded queue, eight readers, one reader on the loop.

    path: the SQLite file; it must hold the current schema. durability: what an acknowledged commit means.
    """

    def __init__(self, path: Path, *, durability: Durability = Durability.FULL) -> None:
        self._path = path
        self._durability = durability
        self._writes: queue.SimpleQueue[_Hop[object] | None] = queue.SimpleQueue()
        self._reads: queue.SimpleQueue[_Hop[object] | None] = queue.SimpleQueue()
        self._here = self._open(read_only=True)
        self._threads = [threading.Thread(target=self._write_loop, name="store-writer", daemon=True)]
        self._threads += [
            threading.Thread(target=self._read_loop, name=f"store-reader-{n}", daemon=True) for n in range(_READERS)
        ]
        for thread in self._threads:
            thread.start()

    async def write(
        self,
        job: Callable[[Connection], T],
        *,
        announce: Callable[[T], None] | None = None,
        withdrawable: bool = True,
    ) -> T:
        """Run `job` in one write transaction on the writer thread and return what it returned.

        announce: called on the loop after the commit, even when the waiter was cancelled. withdrawable: whether a
        cancelled waiter takes a still queued job back; a settlement never is. Raises `busy` when the queue is full,
        and whatever `job` raised after the rollback.
        """
        if withdrawable and self._writes.qsize() >= _QUEUED_WRITES:
            message = "The database is busy; try the same call again."
            raise errors.busy("writes_busy", message, retry_after_s=1)
        hop = _Hop(job, announce)
        self._writes.put(hop)  # type: ignore[arg-type]  # the queue forgets the result's type, the hop keeps it
        return await hop.wait(withdrawable=withdrawable)

    async def read(self, job: Callable[[Connection], T]) -> T:
        """Run `job` in one read snapshot on a reader thread."""
        hop = _Hop(job, None)
        self._reads.put(hop)  # type: ignore[arg-type]  # as above
        return await hop.wait(withdrawable=True)

    def read_here(self, job: Callable[[Connection], T]) -> T:
        """Run a short key lookup on the loop's own connection; each statement sees the latest commit."""
        return job(Connection(self._here))

    def close(self) -> None:
        """End the threads after what is queued; call when nothing waits any more."""
        for _ in range(_READERS):
            self._reads.put(None)
        self._writes.put(None)
        for thread in self._threads:
            thread.join()
        self._here.close()

    def _open(self, *, read_only: bool = False) -> sqlite3.Connection:
        raw = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, cached_statements=256)
        raw.execute(f"PRAGMA busy_timeout={_BUSY_TIMEOUT_MS}")
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute(f"PRAGMA synchronous={self._durability.value.upper()}")
        raw.execute("PRAGMA foreign_keys=ON")
        # A read that writes would have neither lock nor receipt: it fails instead.
        raw.execute(f"PRAGMA query_only={'ON' if read_only else 'OFF'}")
        return raw

    def _write_loop(self) -> None:
        raw = self._open()
        while (hop := self._writes.get()) is not None:
            if not hop.start():
                continue
            try:
                raw.execute("BEGIN IMMEDIATE")
                value = hop.job(Connection(raw))
            except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the waiter
                _roll_back(raw)
                hop.failed(_translated(error))
                continue
            _commit_or_end(raw)
            hop.done(value)
        raw.close()

    def _read_loop(self) -> None:
        raw = self._open(read_only=True)
        while (hop := self._reads.get()) is not None:
            if not hop.start():
                continue
            try:
                raw.execute("BEGIN DEFERRED")
                value = hop.job(Connection(raw))
                raw.execute("COMMIT")
            except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the waiter
                _roll_back(raw)
                hop.failed(_translated(error))
                continue
            hop.done(value)
        raw.close()


def _translated(error: BaseException) -> BaseException:
    """What the machine refuses, as a refusal; everything else as it is."""
    if not isinstance(error, sqlite3.OperationalError):
        return error
    match error.sqlite_errorcode & 0xFF:
        case sqlite3.SQLITE_BUSY:
            message = "Another process holds the database; try the same call again."
            return errors.busy("database_locked", message, retry_after_s=1)
        case sqlite3.SQLITE_FULL:
            return errors.unavailable("disk_full", "The disk is full; nothing was written. Free some space first.")
        case _:
            return error


def _roll_back(raw: sqlite3.Connection) -> None:
    if not raw.in_transaction:
        return
    try:
        raw.execute("ROLLBACK")
    except sqlite3.Error as error:
        # A thread that ended here would leave every later call waiting for ever.
        _end_process("a transaction could not be rolled back", error)


def _commit_or_end(raw: sqlite3.Connection) -> None:
    try:
        raw.execute("COMMIT")
    except sqlite3.Error as error:
        # What was written is unknown: the next start reads the truth (architecture, "Errors").
        _end_process("the outcome of a commit is unknown", error)


def _end_process(what: str, error: sqlite3.Error) -> NoReturn:
    code = getattr(error, "sqlite_errorname", type(error).__name__)
    print(f"workstead: {what} ({code}); start again", file=sys.stderr)  # noqa: T201 - the log may be what fails
    sys.stderr.flush()
    os._exit(_OUTCOME_UNKNOWN_EXIT)
