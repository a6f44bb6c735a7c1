"""The hold of one server on its database (K13; architecture, "Scale")."""

from collections.abc import Iterator

import anyio
import pytest

from support.postgresql import Server
from workstead import errors
from workstead.kernel import databases, hold_postgresql
from workstead.kernel.hold_postgresql import Hold
from workstead.kernel.store import Store
from workstead.kernel.store_postgresql import Postgresql

PATIENCE_S = 10
END = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid IN (SELECT pid FROM pg_locks "
    "WHERE locktype = 'advisory')"
)


@pytest.fixture
def address(postgresql_server: Server) -> Iterator[str]:
    made = postgresql_server.create()
    yield made
    postgresql_server.drop(made)


@pytest.mark.covers("K13", "K22")
def test_a_second_server_is_refused_until_the_first_lets_go(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its recovery would end what the first one is doing."""
    monkeypatch.setattr(hold_postgresql, "_PATIENCE_S", 0.0)
    first = Hold(address)
    with pytest.raises(errors.Refusal) as refused:
        Hold(address)
    assert (refused.value.kind, refused.value.code) == (errors.Kind.CONFLICT, "database_held")
    assert "test_" not in refused.value.message
    first.release()
    Hold(address).release()


def test_two_databases_of_one_server_have_their_own_holds(address: str, postgresql_server: Server) -> None:
    """Many instances may share a server."""
    other = postgresql_server.create()
    first, second = Hold(address), Hold(other)
    first.release()
    second.release()
    postgresql_server.drop(other)


def test_a_lost_hold_is_taken_again(address: str, postgresql_server: Server) -> None:
    """A restart of the database lets go of everything."""
    held = Hold(address)
    postgresql_server.run(END)
    assert held.stands()
    assert held.stands()
    held.release()


@pytest.mark.covers("K13")
async def test_a_hold_that_another_has_taken_ends_the_server(address: str, postgresql_server: Server) -> None:
    """Whoever lost it must not write any more."""
    held = Hold(address)
    store = Store(Postgresql(address))
    try:
        postgresql_server.run(END)
        other = Hold(address)
        with anyio.fail_after(PATIENCE_S), pytest.raises(errors.Refusal) as refused:
            await databases.keep_hold(held, store, check_s=0.01)
        assert refused.value.code == "database_held"
        other.release()
    finally:
        store.close()
        held.release()
