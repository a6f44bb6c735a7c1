"""Availability: what this process has seen of a candidate."""

import pytest

from workstead.agents.models.availability import Availability, Standing, State
from workstead.testing import SetClock

pytestmark = pytest.mark.covers("W15")


def test_a_candidate_rests_until_its_time_and_the_record_stays() -> None:
    """facts/work.md 9.3: HEALTHY, BLOCKED_UNTIL, COOLING; expiry rewrites nothing."""
    clock = SetClock()
    seen = Availability(clock=clock)
    assert (seen.state("a"), seen.wait_s("a")) == (State(), 0)
    seen.rest("a", Standing.BLOCKED, seconds=60, why="rate_limit")
    assert (seen.wait_s("a"), seen.wait_s("b")) == (60, 0)
    clock.advance(seconds=61)
    assert (seen.wait_s("a"), seen.state("a").standing) == (0, Standing.BLOCKED)
    seen.heal("a")
    assert seen.state("a").standing is Standing.HEALTHY


def test_a_wall_clock_that_is_set_changes_nothing() -> None:
    """Only the clock that never goes back counts."""
    clock = SetClock()
    seen = Availability(clock=clock)
    seen.rest("a", Standing.COOLING, seconds=15, why="transient")
    clock.set(clock.now().replace(year=2000))
    assert seen.wait_s("a") == 15
