"""The schema on PostgreSQL: made or upgraded at start, or refused; loaded only when an address is set.

An up-to-date database costs two queries, and Alembic is loaded only when a revision must be applied.
"""

import importlib
from contextlib import closing
from typing import Protocol, cast

from workstead import errors
from workstead.kernel import store_postgresql
from workstead.migrations import schema

_TABLES = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()"
_REVISION = "SELECT version_num FROM alembic_version"


class _Upgrade(Protocol):
    """The face of the module that knows Alembic."""

    def upgrade_postgresql(self, address: str) -> None:
        """Apply every revision that is missing."""
        ...


def prepare(address: str) -> None:
    """Bring the database to the newest schema, all revisions in one transaction.

    Raises `conflict` for a database of a newer release (`schema_newer`) or of another program (`schema_foreign`), and
    `unavailable` when the server cannot be used; then nothing was changed. No sentence shows the address.
    """
    with closing(store_postgresql.connect(address)) as raw:
        tables = {cast("str", name) for (name,) in raw.execute(_TABLES).fetchall()}
        row = raw.execute(_REVISION).fetchone() if "alembic_version" in tables else None
    if row is None and tables - {"alembic_version"}:
        message = "The database of the database_url setting belongs to another program; make an empty one for this."
        raise errors.conflict("schema_foreign", message)
    if row is None or row[0] != schema.NEWEST:
        module = cast("_Upgrade", importlib.import_module("workstead.migrations.upgrade"))
        module.upgrade_postgresql(address)
