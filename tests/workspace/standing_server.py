"""A stand-in for a server, to be killed by a test: starts one command and says what was born; no test itself.

Arguments: folder, level, `run` or `die` (killed while the birth is being stored), a shell script.
"""

import os
import signal
import sys
from pathlib import Path

import anyio

from workstead.workspace.captures import Captures
from workstead.workspace.child import Birth
from workstead.workspace.launcher import Launcher
from workstead.workspace.spec import Command, Level


async def serve(folder: Path, *, level: Level, how: str, script: str) -> None:
    """Start the script and wait until killed."""
    launcher = Launcher(floor=level, ceiling=level, closed_ports=(), data_folder=folder.parent / "data")

    async def stored(birth: Birth) -> None:
        sys.stdout.write(f"{birth.pid} {birth.start_ticks}\n")
        sys.stdout.flush()
        if how == "die":
            os.kill(os.getpid(), signal.SIGKILL)

    async with anyio.create_task_group() as group:
        command = Command(folder=folder, argv=("bash", "-c", script))
        running = await launcher.start(command, stored=stored, captures=Captures(), group=group)
        await running.wait()


if __name__ == "__main__":
    anyio.run(lambda: serve(Path(sys.argv[1]), level=Level(sys.argv[2]), how=sys.argv[3], script=sys.argv[4]))
