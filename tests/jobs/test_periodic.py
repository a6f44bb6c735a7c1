"""Periodic loops: again and again, and one broken round never ends a loop."""

import anyio
from structlog.testing import capture_logs

from workstead.jobs import periodic


async def test_a_broken_round_is_told_and_the_next_one_comes() -> None:
    """House style 32: the failure is logged with its trace; the loop lives until it is cancelled."""
    rounds: list[int] = []
    enough = anyio.Event()

    async def act() -> None:
        rounds.append(len(rounds))
        if len(rounds) == 2:
            raise OSError("the second round")
        if len(rounds) == 4:
            enough.set()

    with capture_logs() as told:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:

                async def loop() -> None:
                    await periodic.every(0.001, act, name="sweep")

                group.start_soon(loop)
                await enough.wait()
                group.cancel_scope.cancel()
    assert rounds[:4] == [0, 1, 2, 3]
    assert [(one["event"], one["job"]) for one in told] == [("periodic job failed", "sweep")]
