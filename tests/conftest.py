"""What every test shares: the capabilities plugin, one backend for async tests, and the two databases."""

import os
from collections.abc import Iterator

import pytest

from support import database as databases
from support import postgresql
from workstead.migrations import schema

pytest_plugins = ["plugin.capabilities"]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, as the server does."""
    return "asyncio"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that is marked runs once on each database."""
    marked = metafunc.definition.get_closest_marker
    if marked("both_databases") is not None and marked("only_sqlite") is None:
        metafunc.parametrize("database_kind", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[postgresql.Server]:
    """A server of the session's own; skipped where its programs are missing, which CI never is."""
    programs = postgresql.binaries()
    if programs is None:
        missing = "the programs of a PostgreSQL server (initdb, pg_ctl) are not installed"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    with postgresql.running(programs) as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_template(postgresql_server: postgresql.Server) -> str:
    """The name of a database with the newest schema, to be copied."""
    address = postgresql_server.create()
    schema.prepare_postgresql(address)
    return postgresql.name_of(address)


@pytest.fixture(autouse=True)
def database_kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """Which database new paths of this test become."""
    name: str = getattr(request, "param", "sqlite")
    if name == "sqlite":
        yield name
        return
    databases.mode.server = request.getfixturevalue("postgresql_server")
    databases.mode.template = request.getfixturevalue("postgresql_template")
    try:
        yield name
    finally:
        databases.mode.end()
