"""The part of the schema that knows Alembic; loaded by `schema.prepare` only when a revision must be applied."""

import importlib
import sqlite3
from pathlib import Path

from alembic.config import Config
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection, StaticPool, create_engine, text

from workstead.kernel import faults, store_sqlite
from workstead.migrations import schema

_BUSY_TIMEOUT_MS = 10_000
_LOCK_KEY = 0x576F726B7374656


def scripts() -> ScriptDirectory:
    """The revisions that the package carries."""
    configuration = Config()
    configuration.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    configuration.set_main_option("path_separator", "os")
    return ScriptDirectory.from_config(configuration)


def upgrade(path: Path, *, was: str | None) -> None:
    """Apply every revision after `was`, each in one transaction; raises `schema_newer` for an unknown one."""
    found = scripts()
    known = [script.revision for script in found.walk_revisions()]
    if was is not None and was not in known:
        raise schema.newer(str(path), was)
    waiting = list(found.iterate_revisions("head", was or "base"))[::-1]
    raw = _open(path)
    engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
    try:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for script in waiting:
                _apply(raw, connection, found, script)
    finally:
        engine.dispose()
        raw.close()


def upgrade_postgresql(address: str) -> None:
    """Apply every missing revision in one transaction that only one process can be in; raises `schema_newer`."""
    found = scripts()
    raw = importlib.import_module("workstead.kernel.store_postgresql").connect(address)
    raw.autocommit = False
    engine = create_engine("postgresql+psycopg://", creator=lambda: raw, poolclass=StaticPool)
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
            context = MigrationContext.configure(connection)
            # Another process, which started at the same time, may have been faster.
            was = context.get_current_revision()
            if was is not None and was not in {script.revision for script in found.walk_revisions()}:
                raise schema.newer("of the database_url setting", was)
            for script in list(found.iterate_revisions("head", was or "base"))[::-1]:
                with Operations.context(context):
                    script.module.upgrade()
                faults.point("migration.half")
                context.stamp(found, script.revision)
    finally:
        engine.dispose()


def _open(path: Path) -> sqlite3.Connection:
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute(f"PRAGMA busy_timeout={_BUSY_TIMEOUT_MS}")
    store_sqlite.keep_log(raw)
    raw.execute("PRAGMA synchronous=FULL")
    return raw


def _apply(raw: sqlite3.Connection, connection: Connection, found: ScriptDirectory, script: Script) -> None:
    # The driver never opens or ends a transaction here (isolation_level None), so this one spans all of the revision.
    raw.execute("BEGIN IMMEDIATE")
    try:
        context = MigrationContext.configure(connection)
        if _applied(context, found, script):
            raw.execute("ROLLBACK")
            return
        with Operations.context(context):
            script.module.upgrade()
        faults.point("migration.half")
        context.stamp(found, script.revision)
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise


def _applied(context: MigrationContext, found: ScriptDirectory, script: Script) -> bool:
    """Whether another process, which started at the same time, was faster."""
    now = context.get_current_revision()
    return now is not None and script.revision in {one.revision for one in found.iterate_revisions(now, "base")}
