"""PostgreSQL behind the store; loaded only when an address of one is set.

Writes run under READ COMMITTED on several threads: a scope's row, locked first, puts the writes of that scope and
its feed in one order. A transaction that the server lost or gave up is run again; when the connection breaks at a
commit, a new one asks what became of that transaction.
"""

import time
from collections.abc import Callable, Iterator
from typing import TypeVar, cast

import psycopg
from psycopg.errors import (
    DeadlockDetected,
    DiskFull,
    LockNotAvailable,
    OutOfMemory,
    QueryCanceled,
    SerializationFailure,
    UniqueViolation,
)

from workstead import errors
from workstead.kernel.store import Connection, Driver, Durability

T = TypeVar("T")

PATIENCE_S = 5.0
"""How long a lost server is waited for before a call gives up."""

_WRITERS = 4
_STEP_S = 0.05
_CONNECT_S = 5
_PREPARED = 500
_LIMITS_MS = {"statement_timeout": 30_000, "lock_timeout": 10_000, "idle_in_transaction_session_timeout": 30_000}
_BEGIN = "BEGIN; SELECT pg_current_xact_id()::text"
_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_FATE = "SELECT pg_xact_status(%(id)s::xid8)"


class Postgresql:
    """A database of a server. address: as `postgresql://...`, a secret. durability: what a commit means."""

    writers = _WRITERS
    near = False

    def __init__(self, address: str, *, durability: Durability = Durability.FULL) -> None:
        self._address = address
        self._durability = durability

    def session(self, *, read_only: bool) -> "_Session":
        """A session that connects when it is first used."""
        return _Session(self._address, durability=self._durability, read_only=read_only)


def connect(address: str) -> psycopg.Connection[tuple[object, ...]]:
    """A plain connection without a transaction around statements; raises `unavailable` without showing the address."""
    try:
        return psycopg.connect(
            address,
            autocommit=True,
            prepare_threshold=0,
            connect_timeout=_CONNECT_S,
            application_name="workstead",
            client_encoding="UTF8",
        )
    except psycopg.Error:
        raise unreachable() from None


def unreachable() -> errors.Refusal:
    """The refusal of a server that cannot be used."""
    # A refused connection carries no code, only the driver's sentence, which names host, account and database.
    message = (
        "The PostgreSQL server of the database_url setting cannot be used: it does not answer, or refuses the name, "
        "the password or the database."
    )
    return errors.unavailable("database_unreachable", message)


class _Lost(Exception):  # noqa: N818 - not an error: the transaction is known to be gone, and may be run again
    """The transaction left nothing. refusal: what to say when it is not run again."""

    def __init__(self, refusal: errors.Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class _Session:
    """One connection of one thread, made again when it is lost."""

    def __init__(self, address: str, *, durability: Durability, read_only: bool) -> None:
        self._address = address
        self._durability = durability
        self._read_only = read_only
        self._raw: psycopg.Connection[tuple[object, ...]] | None = None

    def write(self, job: Callable[[Connection], T], *, persists: Callable[[], bool]) -> T:
        """Run `job` in one write transaction, again as long as the server loses it, for five seconds."""
        try:
            return self._again(lambda: self._write_once(job, persists))
        except UniqueViolation:
            # Another scope's write made the row between this job's look and its insert; now the look finds it.
            return self._again(lambda: self._write_once(job, persists))

    def read(self, job: Callable[[Connection], T]) -> T:
        """Run `job` in one snapshot."""
        return self._again(lambda: self._read_once(job))

    def look(self, job: Callable[[Connection], T]) -> T:
        """Run `job` without a transaction around it; once more on a new connection, but the loop never sleeps here."""
        try:
            return self._guarded(job, self._connected())
        except _Lost:
            pass
        try:
            return self._guarded(job, self._connected())
        except _Lost as lost:
            raise lost.refusal from None

    def close(self) -> None:
        """Close the connection if there is one."""
        if self._raw is not None:
            self._raw.close()
            self._raw = None

    def _again(self, once: Callable[[], T]) -> T:
        refusal: errors.Refusal | None = None
        for _ in _steps():
            try:
                return once()
            except _Lost as lost:
                refusal = lost.refusal
        assert refusal is not None  # there is always a first step
        raise refusal

    def _write_once(self, job: Callable[[Connection], T], persists: Callable[[], bool]) -> T:
        raw = self._connected()
        began: list[str] = []

        def transaction(connection: Connection) -> T:
            # One round trip; the id is what a new connection can ask about.
            cursor = raw.execute(_BEGIN, prepare=False)
            cursor.nextset()
            (transaction_id,) = cast("tuple[str]", cursor.fetchone())
            began.append(transaction_id)
            return job(connection)

        value = self._guarded(transaction, raw)
        self._commit(raw, began[0], persists)
        return value

    def _read_once(self, job: Callable[[Connection], T]) -> T:
        raw = self._connected()

        def snapshot(connection: Connection) -> T:
            raw.execute(_BEGIN_READ, prepare=False)
            value = job(connection)
            raw.execute("COMMIT", prepare=False)
            return value

        return self._guarded(snapshot, raw)

    def _guarded(self, job: Callable[[Connection], T], raw: psycopg.Connection[tuple[object, ...]]) -> T:
        """Run, and roll back what fails; raises `_Lost` for what may be run again."""
        try:
            return job(Connection(cast("Driver", raw.cursor()), dialect="postgresql"))
        except BaseException as error:
            lost = not self._roll_back(raw)
            if not isinstance(error, psycopg.Error):
                raise
            refusal = _refusal(error)
            if lost:
                raise _Lost(unreachable()) from error
            if isinstance(error, DeadlockDetected | SerializationFailure) and refusal is not None:
                raise _Lost(refusal) from error
            if refusal is None:
                raise
            raise refusal from error

    def _commit(
        self, raw: psycopg.Connection[tuple[object, ...]], transaction_id: str, persists: Callable[[], bool]
    ) -> None:
        try:
            done = raw.execute("COMMIT", prepare=False).statusmessage
        except psycopg.Error as error:
            if self._roll_back(raw):
                refusal = _refusal(error)
                raise (refusal or error) from error
            if not self._was_committed(transaction_id, persists):
                raise _Lost(unreachable()) from error
            return
        if done != "COMMIT":
            # A job that swallowed a driver's error: the server had given the transaction up and rolled it back.
            raise RuntimeError(f"a transaction ended as {done} instead of being committed")

    def _was_committed(self, transaction_id: str, persists: Callable[[], bool]) -> bool:
        """What became of a transaction whose connection broke at its commit; waits while the server still works on it.

        Raises `unavailable` (`outcome_unknown`) when that cannot be found out in time, unless the job persists.
        """
        for _ in _steps(persists):
            try:
                row = self._connected().execute(_FATE, {"id": transaction_id}).fetchone()
            except _Lost:
                continue
            except psycopg.Error:
                self.close()
                continue
            if row in {("committed",), ("aborted",)}:
                return row == ("committed",)
        message = (
            "The connection to the database broke while a change was being committed, and the server cannot be asked "
            "whether it was; look at what is there before you try again with the same request id."
        )
        raise errors.unavailable("outcome_unknown", message)

    def _roll_back(self, raw: psycopg.Connection[tuple[object, ...]]) -> bool:
        """Whether the connection is still good afterwards."""
        try:
            if not raw.closed:
                raw.execute("ROLLBACK", prepare=False)
        except psycopg.Error:
            pass
        if raw.closed or raw.broken:
            self.close()
            return False
        return True

    def _connected(self) -> psycopg.Connection[tuple[object, ...]]:
        if self._raw is not None and not self._raw.closed:
            return self._raw
        try:
            raw = connect(self._address)
        except errors.Refusal as refusal:
            raise _Lost(refusal) from None
        raw.prepared_max = _PREPARED
        chosen = {
            **{name: str(limit_ms) for name, limit_ms in _LIMITS_MS.items()},
            "synchronous_commit": "on" if self._durability is Durability.FULL else "off",
            # A read that writes would have neither lock nor receipt: it fails instead.
            "default_transaction_read_only": "on" if self._read_only else "off",
        }
        try:
            raw.execute("; ".join(f"SET {name} = {value}" for name, value in chosen.items()), prepare=False)
        except psycopg.Error:
            raw.close()
            raise _Lost(unreachable()) from None
        self._raw = raw
        return raw


def _steps(persists: Callable[[], bool] = lambda: False) -> Iterator[float]:
    """At once, then every step until the patience is over and nobody persists."""
    until_s = time.monotonic() + PATIENCE_S
    while True:
        left_s = until_s - time.monotonic()
        yield left_s
        if time.monotonic() + _STEP_S > until_s and not persists():
            return
        time.sleep(_STEP_S)


def _refusal(error: psycopg.Error) -> errors.Refusal | None:
    """What the server refuses, as a refusal; None for everything else."""
    match error:
        case LockNotAvailable() | DeadlockDetected() | SerializationFailure():
            message = "Another change holds the same rows; try the same call again."
            return errors.busy("database_locked", message, retry_after_s=1)
        case DiskFull():
            message = "The database server's disk is full; nothing was written. Free some space first."
            return errors.unavailable("disk_full", message)
        case QueryCanceled() | OutOfMemory():
            message = "The database server did not finish in time; nothing was written. Try the same call again."
            return errors.unavailable("database_slow", message)
        case _:
            return None
