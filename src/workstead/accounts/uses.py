"""Uses: what assistants did, counted in memory and written together once a second (K07)."""

from dataclasses import dataclass

from workstead.accounts import assistants
from workstead.accounts.assistants import Use
from workstead.kernel.transaction import Tx

FLUSH_S = 1.0
OK = "ok"


@dataclass(frozen=True, kw_only=True)
class _Key:
    assistant_id: str
    operation: str
    code: str


class Uses:
    """Counts per assistant, operation and outcome; a crash loses at most what the last second saw."""

    def __init__(self) -> None:
        self._counted: dict[_Key, tuple[int, str]] = {}

    def note(self, assistant_id: str, *, operation: str, code: str, at: str) -> None:
        """One call. operation: empty for a name that is none, so that made-up names do not grow the table."""
        key = _Key(assistant_id=assistant_id, operation=operation, code=code)
        calls, _ = self._counted.get(key, (0, at))
        self._counted[key] = (calls + 1, at)

    @property
    def pending(self) -> bool:
        """Whether there is something to write."""
        return bool(self._counted)

    def write(self, tx: Tx) -> None:
        """Write what was counted; called in a transaction that commits."""
        counted, self._counted = self._counted, {}
        for key, (calls, last_at) in sorted(counted.items(), key=lambda each: each[1][1]):
            use = Use(operation=key.operation, code=key.code, calls=calls, last_at=last_at)
            assistants.count(tx, key.assistant_id, use)
