"""The schema: makes or upgrades the database file at start, or refuses one that is not ours to open.

An up-to-date file costs one query: Alembic is loaded only when a revision must be applied, because it would take
a third of a second and several megabytes from every start.
"""

import importlib
import sqlite3
from pathlib import Path
from typing import Protocol, cast

from workstead import errors

NEWEST = "0001"
"""The newest revision under `versions/`."""

_BUSY_TIMEOUT_MS = 10_000


class _Upgrade(Protocol):
    """The face of the module that knows Alembic."""

    def upgrade(self, path: Path, *, was: str | None) -> None:
        """Apply every revision after `was`."""
        ...


class _Postgresql(Protocol):
    """The face of the module that loads the driver."""

    def prepare(self, address: str) -> None:
        """Bring the database to the newest schema."""
        ...


def prepare(path: Path) -> None:
    """Bring the database file to the newest schema; a missing file is made, each revision is one transaction.

    Raises `conflict` for a file of a newer release (`schema_newer`) or of another program (`schema_foreign`), and
    `invalid` for one that is no database (`database_unreadable`); then nothing was changed.
    """
    was = _revision(path)
    if was == NEWEST:
        return
    module = cast("_Upgrade", importlib.import_module("workstead.migrations.upgrade"))
    module.upgrade(path, was=was)


def prepare_postgresql(address: str) -> None:
    """Bring a PostgreSQL database to the newest schema; see `schema_postgresql.prepare`, which loads the driver."""
    module = cast("_Postgresql", importlib.import_module("workstead.migrations.schema_postgresql"))
    module.prepare(address)


def newer(which: str, revision: str) -> errors.Refusal:
    """The refusal of a revision that this release does not know."""
    return errors.conflict(
        "schema_newer",
        f"The database {which} has schema {revision}, which this release (schema {NEWEST}) does not know. Start the "
        "release that wrote it or a later one, or restore a backup that was made before that upgrade.",
        found=revision,
        newest=NEWEST,
    )


def _revision(path: Path) -> str | None:
    if not path.exists():
        return None
    raw = sqlite3.connect(path, isolation_level=None)
    try:
        raw.execute(f"PRAGMA busy_timeout={_BUSY_TIMEOUT_MS}")
        tables = {name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        row = raw.execute("SELECT version_num FROM alembic_version").fetchone() if "alembic_version" in tables else None
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
            raise
        message = f"The file {path} is not a database; move it away or restore a backup."
        raise errors.invalid("database_unreadable", message) from None
    finally:
        raw.close()
    if row is None and tables:
        message = f"The database {path} belongs to another program; choose another data folder."
        raise errors.conflict("schema_foreign", message)
    return cast("str", row[0]) if row is not None else None
