"""Prepared statements: one text for each database, checked against the schema of both (K13)."""

import importlib
import pkgutil
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import bindparam, select

import workstead
from support import instance
from workstead.kernel.store import Prepared, prepared
from workstead.kernel.tables import scope


def test_a_hidden_literal_is_refused_when_the_module_is_imported() -> None:
    """It would be bound under a name that nobody passes; SQLite would say so at the first call only."""
    with pytest.raises(ValueError, match="hidden literal"):
        prepared(select(scope.c.seq).where(scope.c.id == "instance"))
    with pytest.raises(ValueError, match="hidden literal"):
        prepared(select(scope.c.seq).limit(1))


def test_one_statement_is_compiled_for_both_databases() -> None:
    """The same code runs on both (K13)."""
    statement = prepared(select(scope.c.seq).where(scope.c.id == bindparam("k_id")).with_for_update())
    texts = [" ".join(text.split()) for text in (statement.sqlite, statement.postgresql)]
    assert texts == [
        "SELECT scope.seq FROM scope WHERE scope.id = :k_id",
        'SELECT scope.seq FROM scope WHERE scope.id = %(k_id)s::VARCHAR COLLATE "C" FOR UPDATE',
    ]


def statements() -> Iterator[tuple[str, Prepared]]:
    """Every prepared statement that stands in a module of the package."""
    for found in pkgutil.walk_packages(workstead.__path__, "workstead."):
        if found.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(found.name)).items():
            if isinstance(value, Prepared):
                yield f"{found.name}.{name}", value


@pytest.mark.covers("K13")
def test_every_statement_of_the_package_fits_the_schema_and_both_databases(tmp_path: Path) -> None:
    """A wrong column is found here, not at the first call; both texts bind the same names."""
    instance.founded(tmp_path / "db")
    found = dict(statements())
    assert len(found) > 30
    with closing(sqlite3.connect(tmp_path / "db")) as raw:
        for name, statement in found.items():
            raw.execute(f"EXPLAIN {statement.sqlite}", defaultdict(lambda: None)).fetchall()
            ours = set(re.findall(r":(\w+)", statement.sqlite))
            theirs = set(re.findall(r"%\((\w+)\)s", statement.postgresql))
            assert ours == theirs, name
            assert "?" not in statement.sqlite, name
