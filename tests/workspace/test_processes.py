"""Agents' named processes: one result each, heads that are small, and an end with their owner (W17)."""

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import TaskGroup

from workspace.test_launcher import marked, until
from workstead import errors
from workstead.workspace import processes as processes_module
from workstead.workspace.child import Birth
from workstead.workspace.launcher import Launcher
from workstead.workspace.processes import Ended, Processes, ProcessView
from workstead.workspace.spec import Command

pytestmark = pytest.mark.covers("W17")


@pytest.fixture
def processes(launcher: Launcher) -> Processes:
    return Processes(launcher, clean=lambda text: text.replace("hunter2", "***"))


@pytest.fixture
async def group() -> AsyncIterator[TaskGroup]:
    async with anyio.create_task_group() as group:
        yield group
        group.cancel_scope.cancel()


async def begin(
    processes: Processes, group: TaskGroup, folder: Path, script: str, *, owner: str = "activation-1"
) -> str:
    async def stored(process_id: str, birth: Birth) -> None:
        assert process_id.startswith("proc-")
        assert birth.pid > 0

    command = Command(folder=folder, argv=("bash", "-c", script))
    return await processes.start(command, owner=owner, card="7", stored=stored, group=group)


async def finished(processes: Processes, process_id: str, *, owner: str = "activation-1") -> ProcessView:
    view = await processes.wait(process_id, owner=owner, timeout_s=5)
    assert view.status != "running"
    return view


async def test_a_process_is_waited_for_and_its_result_is_given_once(
    processes: Processes, group: TaskGroup, project: Path
) -> None:
    """W17 wait_process: after its final result the id is unknown."""
    process_id = await begin(processes, group, project, "echo out; echo err >&2; exit 4")
    assert len(process_id) == len("proc-") + 12
    view = await finished(processes, process_id)
    assert (view.status, view.exit_code, view.stdout.head, view.stderr.head) == ("exited", 4, "out\n", "err\n")
    assert view.stdout.path == f".workstead/work/cards/7/processes/{process_id}/stdout.log"
    assert (project / view.stdout.path).read_text() == "out\n"
    with pytest.raises(errors.Refusal) as refused:
        await processes.wait(process_id, owner="activation-1", timeout_s=0)
    assert refused.value.kind is errors.Kind.NOT_FOUND


async def test_a_running_process_is_looked_at_without_taking_its_result(
    processes: Processes, group: TaskGroup, project: Path
) -> None:
    """W17: `timeout_ms` 0 inspects."""
    process_id = await begin(processes, group, project, "sleep 60")
    assert (await processes.wait(process_id, owner="activation-1", timeout_s=0)).status == "running"
    assert (await processes.wait(process_id, owner="activation-1", timeout_s=0.05)).status == "running"
    assert [view.status for view in processes.listing(owner="activation-1")] == ["running"]
    assert processes.listing(owner="activation-2") == ()
    assert (await processes.kill(process_id, owner="activation-1")).status == "killed"
    assert processes.listing() == ()


async def test_a_process_of_another_owner_looks_like_none(
    processes: Processes, group: TaskGroup, project: Path
) -> None:
    """Forbidden and missing look the same."""
    process_id = await begin(processes, group, project, "sleep 60")
    with pytest.raises(errors.Refusal) as refused:
        await processes.wait(process_id, owner="activation-2", timeout_s=0)
    assert refused.value.kind is errors.Kind.NOT_FOUND
    with pytest.raises(errors.Refusal) as refused:
        await processes.kill(process_id, owner="activation-2")
    assert refused.value.kind is errors.Kind.NOT_FOUND


async def test_two_waiters_share_one_result(processes: Processes, group: TaskGroup, project: Path) -> None:
    """The final result goes to one of them."""
    process_id = await begin(processes, group, project, "read -t 0.2 < /dev/zero; exit 0")
    outcomes: list[str] = []

    async def wait() -> None:
        try:
            outcomes.append((await processes.wait(process_id, owner="activation-1", timeout_s=5)).status)
        except errors.Refusal as refusal:
            outcomes.append(refusal.kind)

    async with anyio.create_task_group() as waiters:
        waiters.start_soon(wait)
        waiters.start_soon(wait)
    assert sorted(outcomes) == ["exited", "not_found"]


async def test_a_head_is_cleaned_before_it_is_cut(processes: Processes, group: TaskGroup, project: Path) -> None:
    """A secret cut in two would slip through."""
    script = "head -c 2044 /dev/zero | tr '\\0' x; echo hunter2"
    view = await finished(processes, await begin(processes, group, project, script))
    assert view.stdout.head == "x" * 2044 + "***\n"
    assert view.stdout.size_bytes == 2052


async def test_the_end_of_an_owner_ends_its_processes_and_no_others(
    processes: Processes, group: TaskGroup, project: Path
) -> None:
    """Stop and the end of an activation."""
    marks = [f"7{secrets.randbelow(10**8):08d}" for _ in range(3)]
    for mark, owner in zip(marks, ("activation-1", "activation-1", "activation-2"), strict=True):
        await begin(processes, group, project, f"setsid sleep {mark} & sleep {mark}", owner=owner)
    await until(lambda: all(marked(mark) for mark in marks))
    await processes.end_owner("activation-1")
    assert [bool(marked(mark)) for mark in marks] == [False, False, True]
    assert [view.owner for view in processes.listing()] == ["activation-2"]


async def test_a_process_that_was_stopped_by_a_signal_or_could_not_be_found_says_so(
    processes: Processes, group: TaskGroup, project: Path
) -> None:
    """W17: five statuses, told apart."""
    view = await finished(processes, await begin(processes, group, project, "kill -9 $$"))
    assert (view.status, view.exit_code, view.reason) == ("killed", None, "signal 9")


async def test_the_end_is_told_before_any_result_shows_it(
    processes: Processes, group: TaskGroup, project: Path
) -> None:
    """K15: the row of an end is written before the answer that speaks of it."""
    steps: list[str] = []
    shown = anyio.Event()

    async def told(process_id: str, ended: Ended) -> None:
        assert (ended.ending.code, ended.stdout_bytes) == (0, 3)
        await shown.wait()
        steps.append(f"told {process_id}")

    async def stored(process_id: str, birth: Birth) -> None:
        steps.append(f"born {process_id}")

    process_id = processes_module.new_id()
    command = Command(folder=project, argv=("echo", "hi"))
    await processes.start(command, owner="a", card="7", stored=stored, told=told, process_id=process_id, group=group)
    assert (await processes.wait(process_id, owner="a", timeout_s=0.3)).status == "running"
    shown.set()
    view = await processes.wait(process_id, owner="a", timeout_s=5)
    assert (view.status, view.stdout.head, view.stdout.whole) == ("exited", "hi\n", True)
    assert steps == [f"born {process_id}", f"told {process_id}"]


async def test_an_end_by_stop_is_told_too(processes: Processes, project: Path) -> None:
    """S1, K15: cancelling the activation must not leave a row that says running."""
    ends: list[str] = []

    async def told(_: str, ended: Ended) -> None:
        await anyio.lowlevel.checkpoint()
        ends.append(ended.ending.kind)

    async def stored(process_id: str, birth: Birth) -> None:
        """Kept by this test in no row."""

    async with anyio.create_task_group() as stopped:
        command = Command(folder=project, argv=("sleep", "60"))
        await processes.start(command, owner="a", card="7", stored=stored, told=told, group=stopped)
        stopped.cancel_scope.cancel()
    # Killed outright when TERM came before the command had begun.
    assert ends in (["signalled"], ["killed"])
