"""Tables are the sum of the migrations, in both databases (house style 40)."""

import importlib
import io
import pkgutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import BigInteger, Text, create_engine
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

import workstead
from workstead.kernel.tables import METADATA
from workstead.migrations import schema, upgrade


def load_every_table() -> None:
    """Import each package's `tables.py`, which puts its tables into the one metadata."""
    for module in pkgutil.walk_packages(workstead.__path__, "workstead."):
        if module.name.endswith(".tables"):
            importlib.import_module(module.name)


def shape(path: Path) -> Mapping[str, object]:
    """Columns and indexes of every table of ours, as the database itself tells them."""
    raw = sqlite3.connect(path)
    try:
        tables = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        # Partial indexes tell their condition in their text only.
        found: dict[str, object] = {
            name: " ".join(sql.split())
            for name, sql in raw.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        }
        for table in sorted(set(tables) - {"alembic_version"}):
            columns = raw.execute(f"PRAGMA table_xinfo({table})").fetchall()
            indexes = {
                (name if origin == "c" else origin, unique, partial): raw.execute(
                    f"PRAGMA index_xinfo({name})"
                ).fetchall()
                for _, name, unique, origin, partial in raw.execute(f"PRAGMA index_list({table})")
            }
            found[table] = (columns, sorted(indexes.items()))
        return found
    finally:
        raw.close()


@pytest.mark.covers("K13")
def test_the_tables_are_the_sum_of_the_migrations(tmp_path: Path) -> None:
    """Models and migrations are written twice; this is what keeps them one."""
    load_every_table()
    schema.prepare(tmp_path / "migrated.sqlite3")
    engine = create_engine(f"sqlite:///{tmp_path / 'models.sqlite3'}")
    METADATA.create_all(engine)
    engine.dispose()
    assert shape(tmp_path / "migrated.sqlite3") == shape(tmp_path / "models.sqlite3")


def test_the_newest_revision_is_the_only_head_of_the_scripts() -> None:
    """The start compares with a constant, so that it need not read the scripts."""
    assert upgrade.scripts().get_heads() == [schema.NEWEST]


@pytest.mark.covers("K13")
def test_the_revisions_make_the_same_tables_on_postgresql() -> None:
    """The same code runs on both databases; this needs no server."""
    load_every_table()
    written = io.StringIO()
    context = MigrationContext.configure(dialect_name="postgresql", opts={"as_sql": True, "output_buffer": written})
    with Operations.context(context):
        for script in list(upgrade.scripts().walk_revisions())[::-1]:
            script.module.upgrade()
    migrated = sorted(" ".join(one.split()) for one in written.getvalue().split(";") if one.strip())
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # the library leaves it untyped
    models = [str(CreateTable(table).compile(dialect=dialect)) for table in METADATA.sorted_tables]
    models += [
        str(CreateIndex(index).compile(dialect=dialect)) for table in METADATA.sorted_tables for index in table.indexes
    ]
    assert migrated == sorted(" ".join(one.split()) for one in models)


def test_columns_are_text_and_integers_only() -> None:
    """No driver converts anything (architecture, "Data rules")."""
    load_every_table()
    kinds = {type(column.type) for table in METADATA.tables.values() for column in table.columns}
    assert kinds == {Text, BigInteger}
