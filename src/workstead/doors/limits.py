"""Limits: calls per minute for each address and each credential, and changes under way at once (K16)."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from workstead import errors
from workstead.clock import Clock
from workstead.kernel.access import Assistant

ACTIVE_PER_ACCOUNT = 4
ACTIVE_PER_PROCESS = 16
FAILURES_PER_MINUTE = 60

SEEN_S = 1.0

_KEYS_MOST = 10_000
_SEEN_MOST = 1_000
_RETRY_S = 1.0


class Allowance:
    """How much each key may still do: a minute's worth at once, filled again evenly."""

    def __init__(self, *, per_minute: int, clock: Clock) -> None:
        self._most = float(per_minute)
        self._per_s = per_minute / 60
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> float | None:
        """Take one; None when there was one, else in how many seconds there is."""
        now_s = self._clock.monotonic_s()
        known = self._left.get(key)
        left = self._most if known is None else min(self._most, known[0] + (now_s - known[1]) * self._per_s)
        if left < 1:
            return (1 - left) / self._per_s
        if known is None and len(self._left) >= _KEYS_MOST:
            self._forget(now_s)
        self._left[key] = (left - 1, now_s)
        return None

    def _forget(self, now_s: float) -> None:
        """Keep the table small: whose allowance is full again needs no row; past that, the oldest go."""
        self._left = {key: kept for key, kept in self._left.items() if now_s - kept[1] < 60}
        while len(self._left) >= _KEYS_MOST:
            del self._left[next(iter(self._left))]


class Seen:
    """Tokens that were good a moment ago: enough to read a body, never enough to do what it asks."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[Assistant, float]] = {}

    def get(self, digest: str) -> Assistant | None:
        """The assistant behind a token that was good within the last second."""
        found = self._kept.get(digest)
        return found[0] if found is not None and self._clock.monotonic_s() - found[1] < SEEN_S else None

    def keep(self, digest: str, assistant: Assistant) -> None:
        """The token is good now."""
        if len(self._kept) >= _SEEN_MOST:
            self._kept.clear()
        self._kept[digest] = (assistant, self._clock.monotonic_s())


class Active:
    """How many changes of one account, and of all, are under way; one count for all doors of a process."""

    def __init__(self, *, per_account: int = ACTIVE_PER_ACCOUNT, per_process: int = ACTIVE_PER_PROCESS) -> None:
        self._per_account = per_account
        self._per_process = per_process
        self._of: Counter[str] = Counter()

    @contextmanager
    def one(self, account: str) -> Iterator[None]:
        """Hold a place. Raises `limit` when the account has too many, `busy` when the process has."""
        if self._of[account] >= self._per_account:
            message = f"{self._per_account} changes of yours are under way; wait for one of them."
            raise errors.limit("calls_active", message, retry_after_s=_RETRY_S)
        if self._of.total() >= self._per_process:
            message = f"{self._per_process} changes are under way here; try again."
            raise errors.busy("server_busy", message, retry_after_s=_RETRY_S)
        self._of[account] += 1
        try:
            yield
        finally:
            self._of[account] -= 1
            if not self._of[account]:
                del self._of[account]
