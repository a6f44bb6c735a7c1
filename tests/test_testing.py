"""The set clock is a clock, and the same one in every run."""

import uuid
from datetime import UTC, datetime

import pytest

from workstead.clock import Clock
from workstead.testing import START, SetClock


def test_time_stands_still_until_it_is_advanced() -> None:
    """House style, line 38."""
    clock: Clock = SetClock()
    assert (clock.now(), clock.monotonic_s()) == (START, 0.0)
    assert (clock.now(), clock.monotonic_s()) == (START, 0.0)


def test_advancing_moves_both_clocks() -> None:
    """Deadlines are measured with the monotonic clock, stored times with the other."""
    clock = SetClock()
    assert clock.advance(seconds=90.5) == datetime(2026, 1, 1, 0, 1, 30, 500000, tzinfo=UTC)
    assert (clock.now().minute, clock.monotonic_s()) == (1, 90.5)


def test_the_wall_clock_can_be_set_back_and_the_monotonic_clock_cannot() -> None:
    """An operator, or the network, may set a machine's clock."""
    clock = SetClock()
    clock.advance(seconds=5)
    clock.set(datetime(2025, 1, 1, tzinfo=UTC))
    assert (clock.now().year, clock.monotonic_s()) == (2025, 5.0)
    with pytest.raises(ValueError, match="forwards"):
        clock.advance(seconds=-1)


def test_ids_are_valid_ordered_and_the_same_in_every_run() -> None:
    """Tests may compare whole values."""
    ids = [(clock := SetClock()).new_id(), clock.new_id()]
    clock.advance(seconds=1)
    ids.append(clock.new_id())
    again = SetClock()
    assert ids[:2] == [again.new_id(), again.new_id()]
    assert ids == sorted(ids)
    assert {uuid.UUID(text).version for text in ids} == {7}
    assert uuid.UUID(ids[0]).int >> 80 == int(START.timestamp() * 1000)
