"""The schema on PostgreSQL at start: made, upgraded or refused (K13; quality, "Tests")."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from support.postgresql import Server
from workstead import errors
from workstead.migrations import schema

PREPARE = """
import sys
from workstead.migrations import schema
schema.prepare_postgresql(sys.argv[1])
print("alembic" in sys.modules)
"""


@pytest.fixture
def address(postgresql_server: Server) -> Iterator[str]:
    made = postgresql_server.create()
    yield made
    postgresql_server.drop(made)


def prepare_in_process(address: str, *, crash_at: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "WORKSTEAD_CRASH_AT"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    if crash_at is not None:
        environment["WORKSTEAD_CRASH_AT"] = crash_at
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", PREPARE, address],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def facts(address: str) -> tuple[str | None, set[str]]:
    """Revision and tables."""
    with closing(psycopg.connect(address)) as raw:
        found = raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        tables = {str(name) for (name,) in found}
        row = raw.execute("SELECT version_num FROM alembic_version").fetchone() if "alembic_version" in tables else None
    return (row[0] if row else None), tables


@pytest.mark.covers("K13")
def test_an_empty_database_is_made_and_a_current_one_starts_without_alembic(address: str) -> None:
    """A fresh install needs no step of its own; later starts are quick."""
    first, second = prepare_in_process(address), prepare_in_process(address)
    assert (first.stdout.strip(), first.stderr) == ("True", "")
    assert (second.stdout.strip(), second.stderr) == ("False", "")
    revision, tables = facts(address)
    assert revision == schema.NEWEST
    assert {"scope", "receipt", "version", "head", "feed", "person", "project"} <= tables


@pytest.mark.covers("K13")
def test_every_column_of_text_is_ordered_by_its_bytes(postgresql_server: Server, postgresql_template: str) -> None:
    """Pages that continue after an id must not depend on the server's language."""
    with closing(psycopg.connect(postgresql_server.address(postgresql_template))) as raw:
        found = raw.execute(
            "SELECT DISTINCT data_type, collation_name FROM information_schema.columns "
            "WHERE table_schema = 'public' AND table_name <> 'alembic_version'"
        ).fetchall()
    assert set(found) == {("text", "C"), ("bigint", None)}


@pytest.mark.covers("K13", "K15")
def test_a_crash_inside_a_revision_leaves_nothing_and_the_next_start_makes_it(address: str) -> None:
    """All revisions are one transaction (house style 40)."""
    assert prepare_in_process(address, crash_at="migration.half").returncode == -signal.SIGKILL
    assert facts(address) == (None, set())
    again = prepare_in_process(address)
    assert (again.returncode, again.stderr) == (0, "")
    assert facts(address)[0] == schema.NEWEST


@pytest.mark.covers("K13")
def test_a_newer_schema_is_refused_with_what_to_do_and_left_alone(address: str) -> None:
    """The program refuses to start on an unknown schema (house style 40)."""
    schema.prepare_postgresql(address)
    with psycopg.connect(address) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(errors.Refusal) as refused:
        schema.prepare_postgresql(address)
    assert (refused.value.kind, refused.value.code) == (errors.Kind.CONFLICT, "schema_newer")
    assert refused.value.details == {"found": "9999", "newest": schema.NEWEST}
    assert facts(address)[0] == "9999"


def test_another_programs_database_is_refused_and_left_alone(address: str) -> None:
    """A wrong address must not be filled with our tables."""
    with psycopg.connect(address) as raw:
        raw.execute("CREATE TABLE note (text TEXT)")
    with pytest.raises(errors.Refusal) as refused:
        schema.prepare_postgresql(address)
    assert refused.value.code == "schema_foreign"
    assert facts(address) == (None, {"note"})


@pytest.mark.parametrize(
    "wrong",
    [
        "postgresql://workstead:geheim@/no_such_database",
        "postgresql://nobody_here:geheim@/postgres",
        "postgresql://workstead:geheim@localhost:1/postgres",
    ],
)
def test_a_server_that_cannot_be_used_is_unavailable_without_its_address(postgresql_server: Server, wrong: str) -> None:
    """A person is told what to look at; name and password stay theirs."""
    at = "" if "localhost" in wrong else f"?host={postgresql_server.folder}&port={postgresql_server.port}"
    with pytest.raises(errors.Refusal) as refused:
        schema.prepare_postgresql(f"{wrong}{at}")
    assert (refused.value.kind, refused.value.code) == (errors.Kind.UNAVAILABLE, "database_unreachable")
    assert "database_url" in refused.value.message
    assert not [part for part in ("geheim", "nobody_here", "no_such_database") if part in refused.value.message]


def test_two_starts_at_once_make_one_schema(address: str) -> None:
    """Two servers may be started together; the second finds the work done."""
    together = threading.Barrier(3)

    def start() -> tuple[int, str]:
        together.wait(5)
        prepared = prepare_in_process(address)
        return prepared.returncode, prepared.stderr

    with ThreadPoolExecutor(3) as pool:
        ended = [one.result(60) for one in [pool.submit(start) for _ in range(3)]]
    assert ended == [(0, "")] * 3
    assert facts(address)[0] == schema.NEWEST
