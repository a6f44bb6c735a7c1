"""Periodic loops: what happens again and again while the server lives; one broken round never ends a loop."""

from collections.abc import Awaitable, Callable

import anyio

from workstead.logger import get_logger

_log = get_logger()


async def every(interval_s: float, act: Callable[[], Awaitable[None]], *, name: str) -> None:
    """Call `act` now, then every `interval_s` seconds until cancelled; a failure is logged, the next round comes."""
    while True:
        try:
            await act()
        except Exception:  # noqa: BLE001 - a job runner: the failure is logged with its trace
            _log.exception("periodic job failed", job=name)
        await anyio.sleep(interval_s)
