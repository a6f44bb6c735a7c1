"""The PostgreSQL server lost while Workstead works: clients are refused, nothing is lost, work goes on by itself."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import database, invariants, killable, postgresql
from support.killable import SLUG, Server, Workplace
from workstead import errors


@pytest.fixture
def own(postgresql_server: postgresql.Server) -> Iterator[postgresql.Server]:
    """A database server that nobody else uses."""
    with postgresql.running(postgresql_server.programs) as server:
        database.mode.server = server
        try:
            yield server
        finally:
            database.mode.made.clear()
            database.mode.server = None


def refused(server: Server) -> None:
    """What a client sees of a read and of a write while the database is away."""
    with server.control() as control:
        for name, given in (("get_run", {"project": SLUG}), ("pause_run", {"project": SLUG, "request_id": "later"})):
            with pytest.raises(errors.Refusal) as no:
                control.operation(name, given)
            assert (no.value.kind, no.value.code) == (errors.Kind.UNAVAILABLE, "database_unreachable")
            assert no.value.advice is errors.Advice.LATER


def refused_to_follow(server: Server) -> bool:
    with server.control() as control, pytest.raises(errors.Refusal) as no:
        next(control.follow(SLUG))
    return no.value.code == "database_unreachable"


def seen(server: Server, *, rows: int) -> None:
    """Follow from where the last follower was cut off until so many rows were shown, or the run is over."""
    place = server.place
    with server.watched(after=max(place.acknowledged, default=0)) as (_, pages):
        for page in pages:
            if len(place.acknowledged) >= rows or any(row["topic"] == "run" for row in page[1:]):
                return


def at_the_end(server: Server) -> str:
    with server.watched(after=max(server.place.acknowledged)) as (control, pages):
        return server.ended(control, pages)


def whole(place: Workplace, server: Server) -> None:
    """The run that was going on is done, once, and everything that was shown stands."""
    assert place.query("SELECT ending FROM run") == [("done",)], server.log()
    assert server.stop() == 0, server.log()
    assert server.orphans() == []
    assert place.lost({}) == []
    assert invariants.check_at_rest(place.database) == []
    assert place.passes() is None
    ran = place.ran()
    assert len(ran) == len(set(ran))
    assert set(ran) == {row[0] for row in place.query("SELECT id FROM process")}


@pytest.mark.covers("K13", "K15", "W10")
def test_a_run_goes_on_by_itself_when_a_lost_database_is_back(tmp_path: Path, own: postgresql.Server) -> None:
    """Three times during one run the database server dies and is away for a while."""
    place = killable.workplace(tmp_path)
    # The database server itself dies, so a commit must have left its memory.
    place.durability = "full"
    with killable.serving(place) as server:
        server.up()
        server.init()
        with server.watched() as (control, _):
            server.start_run(control)
        for rows in (15, 60, 120):
            seen(server, rows=rows)
            before = place.rows()
            own.crash()
            if rows == 60:
                refused(server)
            assert refused_to_follow(server)
            own.begin()
            server.knows(own.pid)
            assert place.lost(before) == []
        assert server.process.poll() is None, server.log()
        assert at_the_end(server) == "done"
        whole(place, server)
        ended = own.pid
        own.crash()
        # It was taken in by this process, as everything is that the server leaves behind.
        os.waitpid(ended, 0)
    own.begin()


@pytest.mark.covers("K13", "K15")
def test_a_run_does_not_notice_that_connections_break_under_it(tmp_path: Path, own: postgresql.Server) -> None:
    """Each page of the feed cuts every connection, in the middle of whatever it reads or writes."""
    place = killable.workplace(tmp_path)
    with killable.serving(place) as server:
        server.up()
        server.init()
        with server.watched() as (control, pages):
            server.start_run(control)
            cuts = 0
            for page in pages:
                own.cut()
                cuts += 1
                if page and control.operation("get_run", {"project": SLUG})["ended_at"] is not None:
                    break
        assert cuts > 10
        assert at_the_end(server) == "done"
        whole(place, server)


@pytest.mark.covers("K13")
def test_a_server_whose_database_is_away_can_be_stopped(tmp_path: Path, own: postgresql.Server) -> None:
    """It must not wait for what may never come back; the next start settles what it could not."""
    place = killable.workplace(tmp_path)
    place.durability = "full"
    with killable.serving(place) as server:
        server.up()
        server.init()
        with server.watched() as (control, _):
            server.start_run(control)
        seen(server, rows=30)
        own.crash()
        server.stop()
        assert server.orphans() == []
    own.begin()
    assert place.alive() == []
    with killable.serving(place) as server:
        server.up()
        assert invariants.check_at_rest(place.database) == []
        assert place.query("SELECT ending FROM run") == [("interrupted",)]
        assert server.run() == "done"
        assert server.stop() == 0
