"""The schema at start: made, upgraded or refused (K13; quality, "Tests")."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workstead import errors
from workstead.migrations import schema

PREPARE = """
import sys
from pathlib import Path
from workstead.migrations import schema
schema.prepare(Path(sys.argv[1]))
print("alembic" in sys.modules)
"""


def prepare_in_process(path: Path, *, crash_at: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "WORKSTEAD_CRASH_AT"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    if crash_at is not None:
        environment["WORKSTEAD_CRASH_AT"] = crash_at
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", PREPARE, str(path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def facts(path: Path) -> tuple[str | None, set[str], str]:
    """Revision, tables and journal mode of a file."""
    raw = sqlite3.connect(path)
    try:
        tables = {name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        row = raw.execute("SELECT version_num FROM alembic_version").fetchone() if "alembic_version" in tables else None
        return (row[0] if row else None), tables, raw.execute("PRAGMA journal_mode").fetchone()[0]
    finally:
        raw.close()


@pytest.mark.covers("K13")
def test_a_missing_file_is_made_at_the_newest_revision(tmp_path: Path) -> None:
    """A fresh install needs no step of its own."""
    path = tmp_path / "workstead.sqlite3"
    schema.prepare(path)
    revision, tables, journal = facts(path)
    assert (revision, journal) == (schema.NEWEST, "wal")
    assert {"scope", "receipt", "version", "head", "feed", "person", "project"} <= tables


def test_a_current_file_starts_without_alembic(tmp_path: Path) -> None:
    """Start time and idle memory have a budget (quality, "Performance")."""
    path = tmp_path / "workstead.sqlite3"
    first = prepare_in_process(path)
    second = prepare_in_process(path)
    assert (first.stdout.strip(), first.stderr) == ("True", "")
    assert (second.stdout.strip(), second.stderr) == ("False", "")


@pytest.mark.covers("K13", "K15")
def test_a_crash_inside_a_revision_leaves_nothing_and_the_next_start_makes_it(tmp_path: Path) -> None:
    """Each revision is one transaction (house style 40)."""
    path = tmp_path / "workstead.sqlite3"
    assert prepare_in_process(path, crash_at="migration.half").returncode == -signal.SIGKILL
    assert facts(path)[:2] == (None, set())
    again = prepare_in_process(path)
    assert (again.returncode, again.stderr) == (0, "")
    assert facts(path)[0] == schema.NEWEST


@pytest.mark.covers("K13")
def test_a_newer_schema_is_refused_with_what_to_do_and_left_alone(tmp_path: Path) -> None:
    """The program refuses to start on an unknown schema (house style 40)."""
    path = tmp_path / "workstead.sqlite3"
    schema.prepare(path)
    raw = sqlite3.connect(path)
    raw.execute("UPDATE alembic_version SET version_num = '9999'")
    raw.commit()
    raw.close()
    with pytest.raises(errors.Refusal) as refused:
        schema.prepare(path)
    assert (refused.value.kind, refused.value.code) == (errors.Kind.CONFLICT, "schema_newer")
    assert refused.value.details == {"found": "9999", "newest": schema.NEWEST}
    assert "restore a backup" in refused.value.message
    assert facts(path)[0] == "9999"


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A wrong data folder must not be filled with our tables."""
    path = tmp_path / "notes.sqlite3"
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE note (text TEXT)")
    raw.close()
    with pytest.raises(errors.Refusal) as refused:
        schema.prepare(path)
    assert refused.value.code == "schema_foreign"
    assert facts(path)[1] == {"note"}


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A library's error is translated once, where the library is called (house style 29)."""
    path = tmp_path / "workstead.sqlite3"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(errors.Refusal) as refused:
        schema.prepare(path)
    assert refused.value.code == "database_unreadable"
    assert path.read_bytes() == b"not a database" * 1000


def test_two_starts_at_once_make_one_schema(tmp_path: Path) -> None:
    """A person may press twice; the second start finds the work done."""
    path = tmp_path / "workstead.sqlite3"
    together = threading.Barrier(4)

    def start() -> tuple[int, str]:
        together.wait(5)
        prepared = prepare_in_process(path)
        return prepared.returncode, prepared.stderr

    with ThreadPoolExecutor(4) as pool:
        ended = [one.result(30) for one in [pool.submit(start) for _ in range(4)]]
    assert ended == [(0, "")] * 4
    assert facts(path)[0] == schema.NEWEST
