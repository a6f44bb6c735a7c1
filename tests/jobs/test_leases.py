"""Leases: one holder at a time, and a fence that grows with each new one."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import database as databases
from support import instance
from workstead.jobs import leases
from workstead.jobs.leases import Lease
from workstead.kernel.transaction import Tx
from workstead.testing import SetClock

pytestmark = pytest.mark.both_databases


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "workstead.sqlite3"
    databases.make(path)
    return path


@contextmanager
def at(path: Path, clock: SetClock) -> Iterator[Tx]:
    with instance.transaction(path, clock=clock) as tx:
        yield tx


def claimed(path: Path, clock: SetClock, owner: str, *, dead: bool = False) -> Lease | None:
    with at(path, clock) as tx:
        return leases.claim(tx, "run:1", owner=owner, dead=dead)


@pytest.mark.covers("W09")
def test_a_second_owner_cannot_take_it_until_its_time_has_run_out(database: Path) -> None:
    """Architecture, leases: held for thirty seconds; the fence grows with each new holder."""
    clock = SetClock()
    first = claimed(database, clock, "one")
    assert first is not None
    assert first.fence == 1
    assert claimed(database, clock, "two") is None
    clock.advance(seconds=leases.LEASE_S - 1)
    assert claimed(database, clock, "two") is None
    clock.advance(seconds=2)
    second = claimed(database, clock, "two")
    assert second is not None
    assert second.fence == 2
    with at(database, clock) as tx:
        assert leases.renew(tx, first) is None
        assert not leases.release(tx, first)
        assert not leases.stands(tx, first)
        assert leases.stands(tx, second)


@pytest.mark.covers("W09")
def test_it_is_held_for_longer_or_let_go(database: Path) -> None:
    """A renewal keeps the fence; what is let go can be taken at once, with a new one."""
    clock = SetClock()
    first = claimed(database, clock, "one")
    assert first is not None
    clock.advance(seconds=leases.RENEW_S)
    with at(database, clock) as tx:
        longer = leases.renew(tx, first)
    assert longer is not None
    assert (longer.fence, longer.until > first.until) == (1, True)
    clock.advance(seconds=leases.LEASE_S - leases.RENEW_S + 1)
    assert claimed(database, clock, "two") is None
    with at(database, clock) as tx:
        assert leases.release(tx, longer)
    second = claimed(database, clock, "two")
    assert second is not None
    assert second.fence == 2


@pytest.mark.covers("W09")
def test_an_owner_that_is_known_to_be_gone_is_not_waited_for(database: Path) -> None:
    """One server per data folder: another boot's lease is nobody's."""
    clock = SetClock()
    assert claimed(database, clock, "one") is not None
    taken = claimed(database, clock, "two", dead=True)
    assert taken is not None
    assert (taken.owner, taken.fence) == ("two", 2)


@pytest.mark.covers("W09")
def test_of_many_hands_one_takes_it(database: Path) -> None:
    """Two servers that start at the same moment: one holder, one fence."""
    clock = SetClock()
    found: list[Lease | None] = []
    ready = threading.Barrier(8)

    def take(owner: str) -> None:
        ready.wait(5)
        found.append(claimed(database, clock, owner))

    threads = [threading.Thread(target=take, args=(f"owner-{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    held = [one for one in found if one is not None]
    assert len(found) == 8
    assert [one.fence for one in held] == [1]


@pytest.mark.covers("W09")
@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["claim", "renew", "release", "wait"]), st.sampled_from(["one", "two"])), max_size=25
    )
)
def test_at_no_moment_have_two_owners_a_lease_that_stands(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    """Whatever both do in whatever order; fences never go back."""
    path = tmp_path_factory.mktemp("lease") / "workstead.sqlite3"
    databases.make(path)
    clock = SetClock()
    held: dict[str, Lease] = {}
    fence = 0
    for step, owner in steps:
        with at(path, clock) as tx:
            match step:
                case "claim":
                    taken = leases.claim(tx, "run:1", owner=owner)
                    if taken is not None:
                        assert taken.fence > fence
                        fence = taken.fence
                        held[owner] = taken
                case "renew" if owner in held:
                    held[owner] = leases.renew(tx, held[owner]) or held[owner]
                case "release" if owner in held:
                    leases.release(tx, held.pop(owner))
                case _:
                    clock.advance(seconds=11)
            standing = [one.owner for one in held.values() if leases.stands(tx, one)]
        assert len(standing) <= 1
