"""The hold of the one server on its PostgreSQL database; loaded only when an address of one is set.

A second server would take what the first has claimed for lost. The hold is a lock of a session: the database lets go
of it when this process is gone, however it ends.
"""

import time

import psycopg

from workstead import errors
from workstead.kernel import store_postgresql

_KEY = 0x576F726B68656C64
_TAKE = "SELECT pg_try_advisory_lock(%(key)s)"
# A machine that vanished must not keep its hold for hours.
_KEEP_ALIVE = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"
_PATIENCE_S = 5.0
_STEP_S = 0.1


class Hold:
    """One server's hold, taken when it is made.

    Raises `conflict` (`database_held`) while another server lives, and `unavailable` when the database cannot be used.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._raw = store_postgresql.connect(address)
        until_s = time.monotonic() + _PATIENCE_S
        # A server that was killed a moment ago may still be known to the database.
        while not _taken(self._raw):
            if time.monotonic() > until_s:
                self._raw.close()
                raise held()
            time.sleep(_STEP_S)

    def stands(self) -> bool:
        """Whether nobody else has it; a lost connection is made again. True while the database cannot be asked."""
        try:
            if not self._raw.closed:
                self._raw.execute("SELECT 1")
                return True
        except psycopg.Error:
            self._raw.close()
        try:
            self._raw = store_postgresql.connect(self._address)
            return _taken(self._raw)
        except (psycopg.Error, errors.Refusal):
            return True

    def release(self) -> None:
        """Let go."""
        self._raw.close()


def held() -> errors.Refusal:
    """The refusal of a second server."""
    message = "Another server uses the database of the database_url setting; stop it first or use another database."
    return errors.conflict("database_held", message)


def _taken(raw: psycopg.Connection[tuple[object, ...]]) -> bool:
    raw.execute(_KEEP_ALIVE, prepare=False)
    return raw.execute(_TAKE, {"key": _KEY}).fetchone() == (True,)
