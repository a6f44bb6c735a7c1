"""Halting: how a run stops itself where going on would be wrong for all of it, as when its budget is spent."""

import anyio

from workstead.kernel.transaction import Tx
from workstead.runs import runs
from workstead.runs.runs import Wanted
from workstead.runs.surroundings import Surroundings


async def halt(around: Surroundings, reason: str) -> None:
    """Wish for a stop as a person would, and wait until it comes; the first reason is the one people read."""
    around.halt.reason = around.halt.reason or reason

    def job(tx: Tx) -> None:
        fresh = runs.read(tx, around.run.id)
        if fresh is not None and fresh.live:
            runs.want(tx, fresh, Wanted.STOP)

    await around.effects.settle(around.scope, job)
    await anyio.sleep_forever()
