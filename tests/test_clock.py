"""Ids are real UUIDv7 and stored times keep their order."""

import uuid
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from workstead import clock

MOMENTS = st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(9998, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis wants naive bounds
MILLISECONDS = st.integers(min_value=0, max_value=2**48 - 1)
RANDOM = st.integers(min_value=0, max_value=2**74 - 1)


@given(at_ms=MILLISECONDS, random_bits=RANDOM)
def test_an_id_is_a_version_7_uuid_that_holds_its_time(at_ms: int, random_bits: int) -> None:
    """RFC 9562, section 5.7."""
    text = clock.uuid7(at_ms, random_bits)
    read = uuid.UUID(text)
    assert str(read) == text
    assert (read.version, read.variant, read.int >> 80) == (7, uuid.RFC_4122, at_ms)


@given(left=st.tuples(MILLISECONDS, RANDOM), right=st.tuples(MILLISECONDS, RANDOM))
def test_text_order_of_ids_is_the_order_of_time_then_random_bits(left: tuple[int, int], right: tuple[int, int]) -> None:
    """No random bit is lost and later ids sort later: indexes stay append-only."""
    assert (clock.uuid7(*left) < clock.uuid7(*right)) == (left < right)


def test_ids_of_the_system_clock_differ_and_hold_the_present() -> None:
    """architecture.md, data rules: ids are UUIDv7."""
    system = clock.SystemClock()
    ids = {system.new_id() for _ in range(1000)}
    held_ms = uuid.UUID(system.new_id()).int >> 80
    assert len(ids) == 1000
    assert abs(held_ms - system.now().timestamp() * 1000) < 5000


def test_the_system_clock_tells_aware_utc_and_never_goes_back() -> None:
    """House style, line 21."""
    system = clock.SystemClock()
    before = system.monotonic_s()
    assert system.now().tzinfo is UTC
    assert system.monotonic_s() >= before


def test_a_stored_time_has_microseconds_and_a_z() -> None:
    """architecture.md, data rules: ISO 8601 UTC text with microseconds."""
    east = datetime(2026, 3, 1, 2, 0, tzinfo=timezone(timedelta(hours=2)))
    assert clock.iso(east) == "2026-03-01T00:00:00.000000Z"


@given(at=MOMENTS)
def test_a_stored_time_reads_back_exactly(at: datetime) -> None:
    """architecture.md, data rules."""
    assert clock.parse_iso(clock.iso(at)) == at
    assert clock.parse_iso(clock.iso(at)).utcoffset() == timedelta()


@given(left=MOMENTS, right=MOMENTS)
def test_text_order_of_stored_times_is_time_order(left: datetime, right: datetime) -> None:
    """Statements compare times as text."""
    assert (clock.iso(left) < clock.iso(right)) == (left < right)
