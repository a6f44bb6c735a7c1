"""Wakes between processes that share a PostgreSQL database; loaded only when an address of one is set.

A wake is a hint: it is sent after the commit and outside of it, so that no write waits for another's announcement, and
what is lost here is found by the followers' own polls.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import orjson
import psycopg

from workstead.kernel.feed import Wakes
from workstead.logger import get_logger

Raw = psycopg.AsyncConnection[tuple[object, ...]]

_CHANNEL = "workstead_wakes"
_TELL = f"SELECT pg_notify('{_CHANNEL}', %(topics)s)".encode()
_TOPICS = 100  # in one message; the server takes 8000 bytes
_AGAIN_S = 1.0
_LOG = get_logger()


class WakesBetween:
    """Tells the other processes what was announced here, and announces here what they tell."""

    def __init__(self, address: str, *, wakes: Wakes) -> None:
        self._address = address
        self._wakes = wakes
        self._told: set[str] = set()
        self._any = anyio.Event()
        wakes.tell = self._tell

    async def serve(self) -> None:
        """Live as long as the server; a lost connection is made again."""
        while True:
            try:
                async with self._connected() as sending, self._connected() as hearing:
                    await hearing.execute(f"LISTEN {_CHANNEL}".encode())
                    # Whatever was told while nobody listened here.
                    self._wakes.hear_all()
                    async with anyio.create_task_group() as group:
                        group.start_soon(self._send, sending)
                        group.start_soon(self._hear, hearing.notifies(), sending.info.backend_pid)
            except* psycopg.Error as failed:
                _LOG.warning("wakes of other servers are late", reason=type(failed.exceptions[0]).__name__)
            await anyio.sleep(_AGAIN_S)

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Raw, None]:
        raw = await psycopg.AsyncConnection.connect(self._address, autocommit=True, application_name="workstead wakes")
        try:
            yield raw
        finally:
            # The driver's own context awaits a rollback first, which a cancelled scope would not let it do.
            with anyio.CancelScope(shield=True):
                await raw.close()

    def _tell(self, scope_ids: set[str]) -> None:
        self._told |= scope_ids
        self._any.set()

    async def _send(self, raw: Raw) -> None:
        while True:
            await self._any.wait()
            self._any = anyio.Event()
            topics = sorted(self._told)
            self._told.clear()
            for first in range(0, len(topics), _TOPICS):
                payload = orjson.dumps(topics[first : first + _TOPICS]).decode()
                await raw.execute(_TELL, {"topics": payload})

    async def _hear(self, notifies: AsyncGenerator[psycopg.Notify, None], own_pid: int) -> None:
        async for notify in notifies:
            if notify.pid != own_pid:
                self._wakes.hear({str(topic) for topic in orjson.loads(notify.payload)})
