"""Stop with many processes: from the cancellation until none of them is alive (quality, "Stop")."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import anyio

from bench.figures import Figure
from workstead.workspace import child, folders
from workstead.workspace.child import Birth
from workstead.workspace.launcher import Launcher
from workstead.workspace.processes import Ended, Processes
from workstead.workspace.spec import Command, Level

COUNT = 20
LIMIT_S = 2.0


def run() -> Iterator[Figure]:
    """Commands that end when they are asked to, and ones that do not listen."""
    for kind, script in (("", "sleep 600"), (" that ignore TERM", "trap '' TERM; sleep 600 & wait; sleep 600")):
        yield Figure(
            what=f"Stop with {COUNT} processes{kind}, to none alive",
            ours=anyio.run(_stop, script),
            other=LIMIT_S,
            unit="s",
            beside="the limit",
            target="at most 1 x",
        )


async def _stop(script: str) -> float:
    births: list[Birth] = []
    ends: list[Ended] = []

    async def stored(_process_id: str, birth: Birth) -> None:
        births.append(birth)

    async def told(_process_id: str, ended: Ended) -> None:
        ends.append(ended)

    with tempfile.TemporaryDirectory() as data, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folders.prepare(folder)
        launcher = Launcher(floor=Level.USER, closed_ports=(), data_folder=Path(data))
        await launcher.probe(folder)
        running = Processes(launcher)
        async with anyio.create_task_group() as group:
            for _ in range(COUNT):
                command = Command(folder=folder, argv=("bash", "-c", script))
                await running.start(command, owner="run", card="project", stored=stored, told=told, group=group)
            began_s = time.perf_counter()
            group.cancel_scope.cancel()
        taken_s = time.perf_counter() - began_s
    if len(ends) != COUNT or not all(child.prove_ended(birth) for birth in births):
        raise RuntimeError("a process outlived Stop")
    return taken_s
