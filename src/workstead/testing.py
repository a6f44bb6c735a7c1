"""Twins for tests: what stands in for the outside world; nothing of the product imports it."""

from datetime import UTC, datetime, timedelta

from workstead.clock import uuid7

START = datetime(2026, 1, 1, tzinfo=UTC)


class SetClock:
    """A clock that moves only when told, and makes the same ids in every run.

    Ids are valid UUIDv7 of the set time; a counter in their random bits keeps them apart and in order.
    """

    def __init__(self, *, start: datetime = START) -> None:
        self._now = start.astimezone(UTC)
        self._monotonic_s = 0.0
        self._made = 0

    def now(self) -> datetime:
        """The time that was set, aware, UTC."""
        return self._now

    def monotonic_s(self) -> float:
        """Seconds advanced since the clock was made."""
        return self._monotonic_s

    def new_id(self) -> str:
        """The next id."""
        self._made += 1
        return uuid7(_milliseconds(self._now), self._made)

    def advance(self, *, seconds: float) -> datetime:
        """Let time pass and return the new present; time does not go back this way."""
        if seconds < 0:
            raise ValueError("a clock advances forwards; use set() to move the wall clock back")
        self._now += timedelta(seconds=seconds)
        self._monotonic_s += seconds
        return self._now

    def set(self, at: datetime) -> None:
        """Set the wall clock, backwards too, as an operator can; the monotonic clock stays."""
        self._now = at.astimezone(UTC)


def _milliseconds(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
