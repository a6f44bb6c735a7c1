"""Ends that are asked for, and ends in the middle of a command: nothing lives on, and nothing starts by itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import invariants, killable
from support.killable import Server, Workplace

pytestmark = pytest.mark.both_databases


def held(server: Server, pages: Iterator[list[dict[str, Any]]]) -> None:
    """Return when a command of the run is in the middle of its work, with a child that left its session."""
    for _ in pages:
        if (server.place.folder / "held").exists():
            return


def begun(server: Server) -> None:
    """A run whose first command does not end by itself."""
    (server.place.folder / "hold").touch()
    server.up()
    server.init()
    with server.watched() as (control, pages):
        server.start_run(control)
        held(server, pages)
    (server.place.folder / "hold").unlink()


def goes_on(place: Workplace) -> None:
    """The next start settles and starts nothing, also when it is left alone for a while; Run carries it to its end."""
    with killable.serving(place) as server:
        server.up()
        assert invariants.check_at_rest(place.database) == []
        before = place.rows()
        with server.watched() as (_, pages):
            for _ in range(2):
                # Empty pages are signs of life, each as late as the supervisor looks for work.
                assert next(pages) == []
        assert place.rows() == before
        assert place.query("SELECT ending FROM run") == [("interrupted",)]
        assert {row[0] for row in place.query("SELECT status FROM card WHERE card_id = 'project'")} == {"stopped"}
        assert server.run() == "done"
        assert server.stop() == 0
    assert invariants.check_at_rest(place.database) == []
    assert place.passes() is None
    assert len(place.ran()) == len(set(place.ran()))


@pytest.mark.covers("W09", "K15")
def test_a_server_told_to_end_ends_what_runs_and_says_so(tmp_path: Path) -> None:
    """SIGTERM in the middle of a command: exit code 0, no process left, interrupted at the next start."""
    place = killable.workplace(tmp_path)
    with killable.serving(place) as server:
        begun(server)
        assert server.stop() == 0, server.log()
        assert server.orphans() == []
        assert "Traceback" not in server.log()
    assert place.alive() == []
    assert invariants.check(place.database) == []
    goes_on(place)


@pytest.mark.covers("W09", "W10", "K15")
def test_a_server_killed_in_the_middle_of_a_command_takes_the_command_with_it(tmp_path: Path) -> None:
    """Kill -9 while a command runs that has started a process in a session of its own."""
    place = killable.workplace(tmp_path)
    with killable.serving(place) as server:
        begun(server)
        assert place.alive() != []
        server.kill()
        assert server.orphans() == []
    assert place.alive() == []
    assert invariants.check(place.database) == []
    goes_on(place)
    (first,) = place.query("SELECT process_id FROM process_end WHERE kind = 'killed'")
    assert place.ran()[0] == first[0]
