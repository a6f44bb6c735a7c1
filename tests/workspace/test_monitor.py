"""The parts both launcher programs share."""

import os
from pathlib import Path

import pytest

from workstead.workspace import monitor, view
from workstead.workspace.launcher import Launcher
from workstead.workspace.spec import Command, Level, Limits

pytestmark = pytest.mark.covers("K19")


def test_an_ending_is_one_line() -> None:
    """What the server reads."""
    assert [monitor.ending(status) for status in (0, 256, 9)] == ["exit 0", "exit 1", "signal 9"]


def test_memory_is_the_sum_over_processes_and_the_gone_count_nothing(project: Path) -> None:
    """Two greedy processes are as bad as one."""
    spec = view.spec_for(
        Command(folder=project, argv=("true",)), level=Level.NAMESPACES, surroundings=view.Surroundings()
    )
    with open(f"/proc/{os.getpid()}/statm") as file:
        mine = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    spec["memory_bytes"] = mine * 3 // 2
    pid = str(os.getpid())
    assert not monitor.memory_is_used_up(spec, [pid, "no-such-process"])
    assert monitor.memory_is_used_up(spec, [pid, pid])


async def test_limits_hold_for_the_command(launcher: Launcher, project: Path) -> None:
    """S1: rlimits, set just before the command begins."""
    limits = Limits(open_files=77, file_bytes=1 << 20)
    script = "ulimit -n; ulimit -c; head -c 2000000 /dev/zero > big; stat -c %s big"
    finished = await launcher.run(Command(folder=project, argv=("bash", "-c", script), limits=limits))
    assert finished.stdout.split() == [b"77", b"0", b"1048576"]


async def test_a_closed_pipe_ends_a_writer_as_in_any_shell(launcher: Launcher, project: Path) -> None:
    """Python ignores SIGPIPE, and a command must not inherit that."""
    script = "(yes; echo $? >&2) | head -1"
    finished = await launcher.run(Command(folder=project, argv=("bash", "-c", script)))
    assert (finished.stdout, finished.stderr) == (b"y\n", b"141\n")
