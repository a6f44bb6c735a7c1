"""A launcher program seen from the server."""

import os
from pathlib import Path

import anyio
import pytest

from workstead import errors
from workstead.workspace import child, view
from workstead.workspace.child import Birth, Child
from workstead.workspace.launcher import Launcher
from workstead.workspace.spec import Command, Level

pytestmark = pytest.mark.covers("K19", "K15")


async def test_a_program_whose_server_is_not_its_parent_runs_nothing(project: Path) -> None:
    """A server that died during the start has another process as its children's parent."""
    command = Command(folder=project, argv=("touch", "ran"))
    spec = view.spec_for(command, level=Level.NAMESPACES, surroundings=view.Surroundings())
    spec["server"] = os.getppid()
    started = Child(spec, level=Level.NAMESPACES)
    try:
        with pytest.raises(errors.Refusal) as refused:
            await started.birth()
    finally:
        started.close()
    assert refused.value.code == "launch_refused"
    assert "server is gone" in refused.value.message
    assert not (project / "ran").exists()


async def test_a_start_leaves_no_descriptor_behind(launcher: Launcher, project: Path) -> None:
    """A server lives for months."""
    await launcher.run(Command(folder=project, argv=("true",)))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        await launcher.run(Command(folder=project, argv=("true",)))
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


async def test_the_server_s_descriptors_do_not_reach_a_command(launcher: Launcher, project: Path) -> None:
    """A database handle that leaks is a way round every rule."""
    read, write = os.pipe()
    os.set_inheritable(read, True)  # noqa: FBT003
    try:
        finished = await launcher.run(Command(folder=project, argv=("sh", "-c", "sleep 5 & ls /proc/$!/fd")))
    finally:
        os.close(read)
        os.close(write)
    assert finished.stdout.split() == [b"0", b"1", b"2"]


async def test_a_closed_child_is_gone_although_it_never_began(project: Path) -> None:
    """Cancellation during the start."""
    command = Command(folder=project, argv=("sleep", "60"))
    spec = view.spec_for(command, level=Level.NAMESPACES, surroundings=view.Surroundings())
    started = Child(spec, level=Level.NAMESPACES)
    try:
        with anyio.fail_after(5):
            birth = await started.birth()
    finally:
        started.close()
    assert child.prove_ended(birth)
    assert started.over


def test_a_process_that_is_not_ours_to_end_is_not_called_ended() -> None:
    """Recovery may only claim what it has seen."""
    ticks = child.started_at(1)
    assert ticks is not None
    # Root may end every process, so an account that may not asks.
    asking = os.fork()
    if asking == 0:
        if os.geteuid() == 0:
            os.setuid(65534)
        claimed = child.prove_ended(Birth(pid=1, start_ticks=ticks, boot_id=child.boot_id()))
        os._exit(int(claimed))
    _, status = os.waitpid(asking, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_number_that_no_process_has_is_proven_gone() -> None:
    """The usual case after a restart."""
    highest = int(Path("/proc/sys/kernel/pid_max").read_text())
    assert child.prove_ended(Birth(pid=highest, start_ticks=1, boot_id=child.boot_id()))
    assert child.started_at(highest) is None
