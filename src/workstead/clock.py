"""The clock and the maker of ids; passed in, never global (house style, line 38)."""

import secrets
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What tells time and makes ids; its twin for tests is `workstead.testing.SetClock`."""

    def now(self) -> datetime:
        """The present moment, aware, UTC."""
        ...

    def monotonic_s(self) -> float:
        """Seconds that never go back; for durations and deadlines only."""
        ...

    def new_id(self) -> str:
        """A fresh UUIDv7 in its canonical text form."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The present moment, aware, UTC."""
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        """Seconds of the machine's monotonic clock."""
        return time.monotonic()

    def new_id(self) -> str:
        """A fresh UUIDv7: milliseconds, 12 bits of their fraction (RFC 9562, section 6.2, method 3), random bits.

        The fraction keeps rows in order that are made within one millisecond, as those of one transaction are.
        """
        at_ms, rest_ns = divmod(time.time_ns(), 1_000_000)
        return uuid7(at_ms, (rest_ns << 12) // 1_000_000 << 62 | secrets.randbits(62))


def uuid7(at_ms: int, random_bits: int) -> str:
    """UUIDv7 text from milliseconds since 1970 and 74 random bits."""
    high = (at_ms & 0xFFFFFFFFFFFF) << 16 | 0x7000 | random_bits >> 62
    low = 0x8000000000000000 | random_bits & 0x3FFFFFFFFFFFFFFF
    text = f"{high << 64 | low:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def iso(at: datetime) -> str:
    """The stored form of a time: ISO 8601, UTC, microseconds; text order is time order."""
    return f"{at.astimezone(UTC).isoformat(timespec='microseconds')[:26]}Z"


def parse_iso(text: str) -> datetime:
    """The time that `iso` wrote."""
    return datetime.fromisoformat(text)
