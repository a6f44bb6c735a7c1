"""SQLite behind the store: one file with a write-ahead log and one writer."""

import os
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

from workstead import errors
from workstead.kernel.store import Connection, Durability

T = TypeVar("T")

_BUSY_TIMEOUT_MS = 10_000
_STEP_S = 0.01
_OUTCOME_UNKNOWN_EXIT = 74


class Sqlite:
    """A database file. durability: what an acknowledged commit means."""

    writers = 1
    near = True

    def __init__(self, path: Path, *, durability: Durability = Durability.FULL) -> None:
        self._path = path
        self._durability = durability

    def session(self, *, read_only: bool) -> "_Session":
        """A connection to the file, opened now."""
        raw = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, cached_statements=256)
        raw.execute(f"PRAGMA busy_timeout={_BUSY_TIMEOUT_MS}")
        keep_log(raw)
        raw.execute(f"PRAGMA synchronous={self._durability.value.upper()}")
        raw.execute("PRAGMA foreign_keys=ON")
        # A read that writes would have neither lock nor receipt: it fails instead.
        raw.execute(f"PRAGMA query_only={'ON' if read_only else 'OFF'}")
        return _Session(raw)


def keep_log(raw: sqlite3.Connection) -> None:
    """Switch a file to its write-ahead log; raises `sqlite3.OperationalError` when others hold it for ten seconds."""
    until_s = time.monotonic() + _BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            raw.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            # Two starts that switch a new file at the same moment hold the same shared lock: SQLite refuses one of
            # them at once, whatever its busy timeout says, because waiting could never end.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until_s:
                raise
        else:
            return
        time.sleep(_STEP_S)


class _Session:
    """One connection of one thread."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw

    def write(self, job: Callable[[Connection], T], *, persists: Callable[[], bool]) -> T:
        """Run `job` in one write transaction; ends the process when it is unknown whether that was committed."""
        value = self._run("BEGIN IMMEDIATE", job)
        try:
            self._raw.execute("COMMIT")
        except sqlite3.Error as error:
            # What was written is unknown: the next start reads the truth (architecture, "Errors").
            _end_process("the outcome of a commit is unknown", error)
        return value

    def read(self, job: Callable[[Connection], T]) -> T:
        """Run `job` in one snapshot."""
        value = self._run("BEGIN DEFERRED", job)
        self._raw.execute("COMMIT")
        return value

    def look(self, job: Callable[[Connection], T]) -> T:
        """Run `job` in one snapshot: from three statements on that is also cheaper than none.

        A look inside a look sees the same snapshot.
        """
        return job(Connection(self._raw)) if self._raw.in_transaction else self.read(job)

    def close(self) -> None:
        """Close the connection."""
        self._raw.close()

    def _run(self, begin: str, job: Callable[[Connection], T]) -> T:
        try:
            self._raw.execute(begin)
            return job(Connection(self._raw))
        except BaseException as error:
            self._roll_back()
            refusal = _refusal(error)
            if refusal is None:
                raise
            raise refusal from error

    def _roll_back(self) -> None:
        if not self._raw.in_transaction:
            return
        try:
            self._raw.execute("ROLLBACK")
        except sqlite3.Error as error:
            # A thread that ended here would leave every later call waiting for ever.
            _end_process("a transaction could not be rolled back", error)


def _refusal(error: BaseException) -> errors.Refusal | None:
    """What the machine refuses, as a refusal; None for everything else."""
    if not isinstance(error, sqlite3.OperationalError):
        return None
    match error.sqlite_errorcode & 0xFF:
        case sqlite3.SQLITE_BUSY:
            message = "Another process holds the database; try the same call again."
            return errors.busy("database_locked", message, retry_after_s=1)
        case sqlite3.SQLITE_FULL:
            return errors.unavailable("disk_full", "The disk is full; nothing was written. Free some space first.")
        case _:
            return None


def _end_process(what: str, error: sqlite3.Error) -> NoReturn:
    code = getattr(error, "sqlite_errorname", type(error).__name__)
    print(f"workstead: {what} ({code}); start again", file=sys.stderr)  # noqa: T201 - the log may be what fails
    sys.stderr.flush()
    os._exit(_OUTCOME_UNKNOWN_EXIT)
