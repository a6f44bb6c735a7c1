"""Availability: which candidates are worth asking now, as this process has seen them; forgotten with the process."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import StrEnum

from workstead.clock import Clock


class Standing(StrEnum):
    """How a candidate stands."""

    BLOCKED = "blocked"  # its provider named a time
    COOLING = "cooling"  # it failed; later may be better
    HEALTHY = "healthy"


@dataclass(frozen=True, kw_only=True)
class State:
    """standing: as recorded. until_s: on the monotonic clock; 0 when healthy. why: the class of the last failure."""

    standing: Standing = Standing.HEALTHY
    until_s: float = 0.0
    why: str = ""


_HEALTHY = State()


@dataclass(kw_only=True)
class Availability:
    """One per process. Candidates are known by what is really asked: kind, address, key name and model."""

    clock: Clock
    _states: dict[Hashable, State] = field(default_factory=dict)

    def state(self, candidate: Hashable) -> State:
        """What was recorded last; a time that has passed does not change it."""
        return self._states.get(candidate, _HEALTHY)

    def wait_s(self, candidate: Hashable) -> float:
        """How long until it is worth asking; 0 when it is now."""
        return max(0.0, self.state(candidate).until_s - self.clock.monotonic_s())

    def now(self, candidate: Hashable) -> State:
        """How it stands now; one whose time has passed is worth asking, which is all that healthy means."""
        return self.state(candidate) if self.wait_s(candidate) > 0 else _HEALTHY

    def heal(self, candidate: Hashable) -> None:
        """It answered."""
        self._states.pop(candidate, None)

    def rest(self, candidate: Hashable, standing: Standing, *, seconds: float, why: str) -> None:
        """It failed and rests."""
        until_s = self.clock.monotonic_s() + seconds
        self._states[candidate] = State(standing=standing, until_s=until_s, why=why)
