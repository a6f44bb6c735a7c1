"""The store: writer and reader threads over one database, hands for files, the hops to them, and prepared statements.

Which database it is stands in `store_sqlite` and `store_postgresql`; nothing above this module knows.

The only module that may name asyncio: a started write must be waited for however its waiter is cancelled,
and anyio's own thread hop gives its slot back while the thread still runs when asyncio cancels natively.
"""

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Generic, Literal, Protocol, TypeVar

import anyio
from sqlalchemy import Dialect
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql import ClauseElement

from workstead import errors
from workstead.kernel import faults
from workstead.logger import get_logger
from workstead.metrics import Family, Histogram, Sample

T = TypeVar("T")
Value = str | int | None
Row = tuple[Value, ...]
Dialects = Literal["sqlite", "postgresql"]

_DIALECTS: Mapping[str, Dialect] = {
    "sqlite": sqlite.dialect(paramstyle="named"),
    # The library leaves this one untyped.
    "postgresql": postgresql.dialect(paramstyle="pyformat"),  # type: ignore[no-untyped-call]
}
_READERS = 8
_HANDS = 4
_QUEUED_WRITES = 256
_LONG_S = 5.0
_LOG = get_logger()


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


class Cursor(Protocol):
    """What a driver answers a statement with."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        ...

    def fetchone(self) -> Row | None:
        """The next row, or None."""
        ...

    def fetchall(self) -> list[Row]:
        """Every row that is left."""
        ...


class Driver(Protocol):
    """The part of a driver's connection that statements need."""

    def execute(self, text: str, parameters: Mapping[str, Value], /) -> Cursor:
        """Execute one statement."""
        ...


class Connection:
    """One database connection inside one transaction; rows are tuples in the statement's column order."""

    def __init__(self, raw: Driver, *, dialect: Dialects = "sqlite") -> None:
        self._raw = raw
        self._dialect = dialect

    def run(self, statement: Prepared, /, **parameters: Value) -> int:
        """Execute, and return how many rows were changed."""
        return self._raw.execute(getattr(statement, self._dialect), parameters).rowcount

    def one(self, statement: Prepared, /, **parameters: Value) -> Row | None:
        """The first row, or None."""
        return self._raw.execute(getattr(statement, self._dialect), parameters).fetchone()

    def all(self, statement: Prepared, /, **parameters: Value) -> list[Row]:
        """Every row."""
        return self._raw.execute(getattr(statement, self._dialect), parameters).fetchall()


class Session(Protocol):
    """A connection of one thread, made again when it is lost."""

    def write(self, job: Callable[[Connection], T], *, persists: Callable[[], bool]) -> T:
        """Run `job` in one write transaction, and return what it returned once that is committed.

        persists: whether to go on asking a server that does not answer what became of a commit. Raises what the job
        raised, and Refusal for what the database refuses; then nothing was written.
        """
        ...

    def read(self, job: Callable[[Connection], T]) -> T:
        """Run `job` in one snapshot that cannot write."""
        ...

    def look(self, job: Callable[[Connection], T]) -> T:
        """Run a short `job` that cannot write; it sees what was committed before it began."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


class Database(Protocol):
    """One of the two databases.

    writers: how many write transactions may run at once. near: whether a key lookup costs less than a hop to a
    thread, and a transaction that waits for a lock makes nobody else wait longer.
    """

    @property
    def writers(self) -> int:
        """See the class."""
        ...

    @property
    def near(self) -> bool:
        """See the class."""
        ...

    def session(self, *, read_only: bool) -> Session:
        """A session of the calling thread."""
        ...


class _Hop(Generic[T]):
    """One job on its way to a thread and back; its end is handled by the loop whether or not anyone waits."""

    def __init__(
        self, job: Callable[..., T], announce: Callable[[T], None] | None, *, patient: bool = False, name: str = ""
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = anyio.Event()
        self._announce = announce
        self._future: Future[T] = Future()
        self.job = job
        self.patient = patient
        self.name = name

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
    """The database of an instance: its writer threads with a bounded queue, eight readers, one reader on the loop.

    database: must hold the current schema.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writes: queue.SimpleQueue[_Hop[object] | None] = queue.SimpleQueue()
        self._reads: queue.SimpleQueue[_Hop[object] | None] = queue.SimpleQueue()
        self._works: queue.SimpleQueue[_Hop[object] | None] = queue.SimpleQueue()
        self._hands: list[threading.Thread] = []
        self._written = Histogram()
        self._looked = Histogram()
        self.hurried = False
        self._here = database.session(read_only=True)
        self._threads = [
            threading.Thread(target=self._write_loop, name=f"store-writer-{n}", daemon=True)
            for n in range(database.writers)
        ]
        self._threads += [
            threading.Thread(target=self._read_loop, name=f"store-reader-{n}", daemon=True) for n in range(_READERS)
        ]
        for thread in self._threads:
            thread.start()

    def families(self) -> tuple[Family, ...]:
        """What transactions came to, for whoever watches the server."""
        waiting = (Sample(value=self._writes.qsize()),)
        said, took = "Writes that wait for their turn.", "How long transactions on {} threads took."
        writes, reads = took.format("writer"), took.format("reader")
        return (
            Family(name="workstead_writes_waiting", kind="gauge", help=said, samples=waiting),
            Family(name="workstead_write_seconds", kind="histogram", help=writes, samples=self._written.samples()),
            Family(name="workstead_read_seconds", kind="histogram", help=reads, samples=self._looked.samples()),
        )

    @property
    def near(self) -> bool:
        """Whether a key lookup belongs on the loop (see `Database`)."""
        return self._database.near

    async def write(
        self,
        job: Callable[[Connection], T],
        *,
        announce: Callable[[T], None] | None = None,
        withdrawable: bool = True,
        patient: bool = False,
        name: str = "",
    ) -> T:
        """Run `job` in one write transaction on a writer thread and return what it returned.

        The job may run again where the database lost its transaction, so it must leave nothing behind but rows.
        announce: called on the loop after the commit, even when the waiter was cancelled. withdrawable: whether a
        cancelled waiter takes a still queued job back; a settlement never is. patient: whether a commit that no server
        can be asked about is asked about until `hurry`, because nobody would look what became of it. name: says in the
        log what took long.
        Raises `busy` when the queue is full, and whatever `job` raised after the rollback.
        """
        if withdrawable and self._writes.qsize() >= _QUEUED_WRITES:
            message = "The database is busy; try the same call again."
            raise errors.busy("writes_busy", message, retry_after_s=1)
        hop = _Hop(job, announce, patient=patient, name=name)
        self._writes.put(hop)  # type: ignore[arg-type]  # the queue forgets the result's type, the hop keeps it
        return await hop.wait(withdrawable=withdrawable)

    async def read(self, job: Callable[[Connection], T], *, name: str = "") -> T:
        """Run `job` in one read snapshot on a reader thread. name: says in the log what took long."""
        hop = _Hop(job, None, name=name)
        self._reads.put(hop)  # type: ignore[arg-type]  # as above
        return await hop.wait(withdrawable=True)

    async def look(self, job: Callable[[Connection], T]) -> T:
        """Run a short key lookup where that is cheapest: on the loop's own connection, or on a reader thread."""
        return self.read_here(job) if self._database.near else await self.read(job)

    async def work(self, job: Callable[[], T]) -> T:
        """Run a job that waits for a disk or a program, and touches no database, on a thread.

        A cancelled waiter takes a job back that has not begun; one that has is waited for.
        """
        if not self._hands:
            self._hands = [
                threading.Thread(target=self._work_loop, name=f"store-hand-{n}", daemon=True) for n in range(_HANDS)
            ]
            for thread in self._hands:
                thread.start()
        hop = _Hop(job, None)
        self._works.put(hop)  # type: ignore[arg-type]  # as above
        return await hop.wait(withdrawable=True)

    def read_here(self, job: Callable[[Connection], T]) -> T:
        """Run a short key lookup on the loop's own connection; it sees the latest commit."""
        return self._here.look(job)

    def hurry(self) -> None:
        """The server is about to end: a lost database is waited for no longer than for anybody else."""
        self.hurried = True

    def close(self) -> None:
        """End the threads after what is queued; call when nothing waits any more."""
        self.hurry()
        for _ in range(_READERS):
            self._reads.put(None)
        for _ in range(self._database.writers):
            self._writes.put(None)
        for _ in self._hands:
            self._works.put(None)
        for thread in (*self._threads, *self._hands):
            thread.join()
        self._here.close()

    def _write_loop(self) -> None:
        session = self._database.session(read_only=False)
        while (hop := self._writes.get()) is not None:
            if not hop.start():
                continue
            try:
                write = partial(session.write, hop.job, persists=self._persists(hop))
                value = _timed(write, hop.name, self._written)
            except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the waiter
                hop.failed(error)
            else:
                hop.done(value)
        session.close()

    def _persists(self, hop: _Hop[object]) -> Callable[[], bool]:
        return lambda: hop.patient and not self.hurried

    def _read_loop(self) -> None:
        # Opened by the first read: an instance at rest does not pay for eight connections.
        session: Session | None = None
        while (hop := self._reads.get()) is not None:
            if not hop.start():
                continue
            try:
                session = session or self._database.session(read_only=True)
                value = _timed(partial(session.read, hop.job), hop.name, self._looked)
            except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the waiter
                hop.failed(error)
            else:
                hop.done(value)
        if session is not None:
            session.close()

    def _work_loop(self) -> None:
        while (hop := self._works.get()) is not None:
            if not hop.start():
                continue
            try:
                value = hop.job()
            except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the waiter
                hop.failed(error)
            else:
                hop.done(value)


def _timed(transaction: Callable[[], T], name: str, taken: Histogram) -> T:
    """Run it, count how long it took, and say in the log what took long."""
    began_s = time.monotonic()
    try:
        return transaction()
    finally:
        took_s = time.monotonic() - began_s
        taken.add(took_s)
        if took_s > _LONG_S:
            _LOG.warning("a transaction took long", operation=name, took_ms=round(took_s * 1000))
