"""The server killed at random times of the example's run until the work is done; 100 times with `--kills=100`."""

import contextlib
import random
import subprocess
import sys
from pathlib import Path

import pytest

from support import invariants, killable
from support.killable import Server, ServerDiedError, Workplace

pytestmark = pytest.mark.both_databases

KILLS = {"sqlite": 8, "postgresql": 4}
SEED = 20261130

# Kills of one workplace; then its run is let end, and the next one begins. A start takes one or two seconds, the
# whole run about four.
_KILLS_OF_ONE = 8
_LONGEST_START_S = 1.5
_LONGEST_RUN_S = 2.5


def killed_somewhere(place: Workplace, moments: random.Random) -> bool:
    """One start that is killed while it comes up or at some time of its run; False when the run was faster."""
    with killable.serving(place) as server:
        try:
            if moments.random() < 0.25:
                _killed_after(server, moments.uniform(0, _LONGEST_START_S))
                return True
            server.up()
            server.init()
            return _killed_in_run(server, moments.uniform(0, _LONGEST_RUN_S))
        finally:
            server.kill()
            assert server.orphans() == []


def _killed_in_run(server: Server, after_s: float) -> bool:
    # What the follower was sent before the end is acknowledged too, and read only after it.
    with contextlib.suppress(ServerDiedError), server.watched() as (control, pages):
        server.start_run(control)
        _killed_after(server, after_s)
        for _ in pages:
            pass
    return server.place.query("SELECT 1 FROM run WHERE ended_at IS NULL") != []


def _killed_after(server: Server, seconds: float) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(seconds)
    server.kill()


@pytest.mark.covers("K15", "W10", "X01")
def test_work_that_is_killed_again_and_again_is_done_in_the_end(
    tmp_path: Path, request: pytest.FixtureRequest, database_kind: str
) -> None:
    """Whenever the power goes: what was acknowledged stays, what is unknown says so, and Run goes on."""
    wanted = request.config.getoption("--kills", default=None) or KILLS[database_kind]
    moments = random.Random(SEED)
    kills = in_run = places = 0
    while kills < wanted:
        places += 1
        place = killable.workplace(_folder(tmp_path, places))
        before = place.rows()
        for _ in range(min(_KILLS_OF_ONE, wanted - kills)):
            going = killed_somewhere(place, moments)
            kills += 1
            assert place.alive() == []
            assert place.lost(before) == []
            before = place.rows()
            in_run += place.query("SELECT 1 FROM run WHERE ended_at IS NULL") != []
            if before["configuration"]:
                assert invariants.check(place.database) == []
            if not going:
                break
        _finished(place)
        assert place.lost(before) == []
    sys.stdout.write(f"{kills} kills, {in_run} of them while a run lived, in {places} workplaces\n")


def _folder(root: Path, number: int) -> Path:
    folder = root / str(number)
    folder.mkdir()
    return folder


def _finished(place: Workplace) -> None:
    with killable.serving(place) as server:
        server.up()
        server.init()
        assert invariants.check_at_rest(place.database) == []
        if place.query("SELECT 1 FROM run WHERE ending = 'done'") == []:
            assert server.run() == "done", place.query("SELECT ending, reason FROM run")
        assert server.stop() == 0
        assert server.orphans() == []
    assert invariants.check_at_rest(place.database) == []
    assert place.passes() is None
    ran = place.ran()
    assert len(ran) == len(set(ran))
    assert set(ran) <= {row[0] for row in place.query("SELECT id FROM process")}
