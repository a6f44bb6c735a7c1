"""Commands start only when their birth is kept, end with whoever asked, and leave nothing behind (S1)."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

import workstead
from workspace.conftest import names, reached
from workstead import errors
from workstead.workspace import courtesy
from workstead.workspace.captures import Captures
from workstead.workspace.child import Birth, prove_ended
from workstead.workspace.launcher import Launcher
from workstead.workspace.spec import Command, Level

COVERS_MODULES = ("workspace/courtesy.py",)
pytestmark = pytest.mark.covers("K19", "W17", "K15")

# Ways to outlive the one who started you.
FORKING = (
    "(setsid sleep {mark} &) ; nohup sleep {mark} > /dev/null 2>&1 & "
    "setsid bash -c '(sleep {mark} &)' ; "
    "trap '' TERM HUP; echo started; sleep {mark}"
)


@pytest.fixture
def mark() -> str:
    """A number of seconds that tells this test's processes from all others."""
    return f"7{secrets.randbelow(10**8):08d}"


@pytest.fixture(params=[Level.NAMESPACES, Level.LANDLOCK])
async def contained(
    request: pytest.FixtureRequest, project: Path, launcher_at: Callable[[Level], Launcher]
) -> Launcher:
    return await reached(launcher_at(request.param), project)


def session_of(pid: int) -> str:
    """The priority of a process's session; empty where the kernel knows none."""
    path = Path(f"/proc/{pid}/autogroup")
    return path.read_text().split()[-1] if path.exists() else ""


def marked(mark: str) -> list[str]:
    """The processes of this machine that carry a mark."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                if mark in (path / "cmdline").read_text(errors="replace").split("\0"):
                    found.append(path.name)
            except OSError:
                continue
    return found


def children() -> list[str]:
    """The processes this one has started and not yet waited for."""
    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()


async def until(done: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        # The state of a foreign process announces itself to nobody.
        while not done():  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def kept(_: Birth) -> None:
    """A birth that need not be kept."""


def spawned(folder: Path, level: Level, how: str, script: str) -> subprocess.Popen[str]:
    sources = str(Path(workstead.__file__).parent.parent)
    program = str(Path(__file__).with_name("standing_server.py"))
    return subprocess.Popen(
        [sys.executable, program, str(folder), level.value, how, script],
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": sources},
    )


@pytest.fixture
def serving() -> Iterator[list[subprocess.Popen[str]]]:
    servers: list[subprocess.Popen[str]] = []
    yield servers
    for server in servers:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


@pytest.mark.parametrize(
    ("script", "kind", "code", "number"),
    [
        ("exit 0", "exited", 0, None),
        ("exit 125", "exited", 125, None),
        ("kill -9 $$", "signalled", None, 9),
        ("kill -SEGV $$", "signalled", None, 11),
    ],
)
async def test_an_ending_is_told_as_it_was(
    contained: Launcher, project: Path, script: str, kind: str, code: int | None, number: int | None
) -> None:
    """Exit codes come on a line of their own, so that they cannot be taken for the launcher's."""
    ending = (await contained.run(Command(folder=project, argv=("bash", "-c", script)))).ending
    assert (ending.kind, ending.code, ending.signal) == (kind, code, number)


async def test_a_command_stands_behind_the_server_when_cores_are_scarce(contained: Launcher, project: Path) -> None:
    """Eight agents' commands must not keep a person's Stop waiting."""
    finished = await contained.run(Command(folder=project, argv=("nice",)))
    assert int(finished.stdout) == os.nice(0) + courtesy.NICE
    async with anyio.create_task_group() as group:
        running = await contained.start(
            Command(folder=project, argv=("sleep", "60")), stored=kept, captures=Captures(), group=group
        )
        assert session_of(running.birth.pid) in {"", str(courtesy.NICE)}
        await running.terminate()


@pytest.mark.parametrize("interrupted", [False, True])
async def test_a_launch_is_given_to_the_server_s_threads_and_leaves_nothing_when_interrupted_there(
    project: Path, data_folder: Path, mark: str, *, interrupted: bool
) -> None:
    """A thread's work is waited for; what it began for a caller who went away meanwhile must end, and never run."""
    scope = anyio.CancelScope()
    given: list[int] = []

    async def work(job: Callable[[], None]) -> None:
        job()
        given.append(len(children()))
        if interrupted:
            scope.cancel()
        await anyio.lowlevel.checkpoint()

    before = children()
    launcher = Launcher(floor=Level.NAMESPACES, closed_ports=(), data_folder=data_folder, work=work)
    await reached(launcher, project)
    with scope:
        await launcher.run(Command(folder=project, argv=("bash", "-c", f"touch ran; : {mark}")))
    assert given == [len(before) + 1]
    assert (scope.cancelled_caught, (project / "ran").exists()) == (interrupted, not interrupted)
    assert children() == before


async def test_a_program_that_does_not_exist_ends_with_127_and_says_so(contained: Launcher, project: Path) -> None:
    """As a shell would."""
    finished = await contained.run(Command(folder=project, argv=("no-such-program",)))
    assert (finished.ending.code, finished.stderr) == (127, b"no-such-program: not found\n")


async def test_streams_are_apart_and_bytes_that_are_not_text_pass(contained: Launcher, project: Path) -> None:
    """Output is bytes until somebody shows it."""
    command = Command(
        folder=project, argv=("bash", "-c", r"printf 'a\xff\x00b'; printf error >&2; read x || printf end")
    )
    finished = await contained.run(command)
    assert (finished.stdout, finished.stderr) == (b"a\xff\x00bend", b"error")


async def test_five_megabytes_are_captured_up_to_the_cap_and_the_command_goes_on(
    launcher: Launcher, project: Path
) -> None:
    """A full capture must not halt the command."""
    work = ".workstead/work/cards/1/processes/p"
    captures = Captures(stdout_path=f"{work}/stdout.log", stderr_path=f"{work}/stderr.log", cap_bytes=1 << 20)
    async with anyio.create_task_group() as group:
        script = "head -c 5000000 /dev/zero; echo done >&2"
        running = await launcher.start(
            Command(folder=project, argv=("bash", "-c", script)), stored=kept, captures=captures, group=group
        )
        with anyio.fail_after(5):
            ending = await running.wait()
    assert ending.code == 0
    assert (running.stdout.size_bytes, running.stdout.kept_bytes, running.stdout.complete) == (
        5_000_000,
        1 << 20,
        False,
    )
    assert (project / captures.stdout_path).stat().st_size == 1 << 20
    assert (project / captures.stderr_path).read_bytes() == b"done\n"
    assert running.stderr.complete


async def test_a_planted_link_is_not_written_through_by_a_capture(
    launcher: Launcher, project: Path, data_folder: Path
) -> None:
    """S3: `work/` is the agents' to write, so the server opens captures without following links."""
    (project / ".workstead/work/cards").symlink_to(data_folder)
    captures = Captures(stdout_path=".workstead/work/cards/out.log")
    async with anyio.create_task_group() as group:
        command = Command(folder=project, argv=("true",))
        with pytest.raises(errors.Refusal) as refused:
            await launcher.start(command, stored=kept, captures=captures, group=group)
    assert refused.value.code == "path_blocked"
    assert names(data_folder) == ["instance.key"]


async def test_nothing_runs_before_the_birth_is_kept(contained: Launcher, project: Path) -> None:
    """K15: a crash between the start and its row must leave nothing running unknown."""
    seen: list[bool] = []

    async def stored(birth: Birth) -> None:
        await until(lambda: state_of(str(birth.pid)) == "S")  # it waits for us
        seen.append((project / "ran").exists())

    assert (await contained.run(Command(folder=project, argv=("touch", "ran")), stored=stored)).ending.code == 0
    assert seen == [False]
    assert (project / "ran").exists()


async def test_nothing_ever_runs_when_the_birth_could_not_be_kept(contained: Launcher, project: Path) -> None:
    """K15."""
    births: list[Birth] = []

    async def stored(birth: Birth) -> None:
        births.append(birth)
        raise errors.unavailable("store_down", "The database is gone.")

    with pytest.raises(errors.Refusal):
        await contained.run(Command(folder=project, argv=("touch", "ran")), stored=stored)
    assert prove_ended(births[0])
    assert not (project / "ran").exists()


@pytest.mark.parametrize("level", [Level.NAMESPACES, Level.LANDLOCK])
async def test_nothing_runs_when_the_server_is_killed_while_the_birth_is_kept(
    launcher_at: Callable[[Level], Launcher],
    project: Path,
    serving: list[subprocess.Popen[str]],
    level: Level,
    mark: str,
) -> None:
    """K15: kill -9 between the two."""
    await reached(launcher_at(level), project)
    server = spawned(project, level, "die", f"touch ran; sleep {mark}")
    serving.append(server)
    assert server.wait(5) == -signal.SIGKILL
    assert server.stdout is not None
    pid = server.stdout.readline().split()[0]
    await until(lambda: not is_alive(pid))
    assert not (project / "ran").exists()
    assert marked(mark) == []


def is_alive(pid: str) -> bool:
    return state_of(pid) not in {"", "Z"}


def state_of(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@pytest.mark.parametrize("level", [Level.NAMESPACES, Level.LANDLOCK])
async def test_nothing_outlives_a_killed_server(
    launcher_at: Callable[[Level], Launcher],
    project: Path,
    serving: list[subprocess.Popen[str]],
    level: Level,
    mark: str,
) -> None:
    """S1: setsid, nohup and a double fork, then kill -9 of the server."""
    await reached(launcher_at(level), project)
    server = spawned(project, level, "run", FORKING.format(mark=mark))
    serving.append(server)
    await until(lambda: len(marked(mark)) >= 4)
    server.kill()
    await until(lambda: marked(mark) == [])


async def test_nothing_outlives_the_scope_it_was_started_in(contained: Launcher, project: Path, mark: str) -> None:
    """Stop is cancel and join: when the group has ended, so has every process, whatever it did with TERM."""
    command = Command(folder=project, argv=("bash", "-c", FORKING.format(mark=mark)))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            await contained.start(command, stored=kept, captures=Captures(), group=group)
            await until(lambda: len(marked(mark)) >= 4)
            group.cancel_scope.cancel()
    assert marked(mark) == []


async def test_what_a_command_leaves_in_the_background_ends_with_it(
    contained: Launcher, project: Path, mark: str
) -> None:
    """A long-lived process is a command of its own."""
    script = f"setsid sleep {mark} & sleep {mark} & exit 3"
    assert (await contained.run(Command(folder=project, argv=("bash", "-c", script)))).ending.code == 3
    assert marked(mark) == []


async def test_term_reaches_every_process_and_a_stubborn_one_is_killed(
    contained: Launcher, project: Path, mark: str
) -> None:
    """A command may clean up within the grace."""
    polite = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    stubborn = f"trap '' TERM; echo ready; sleep {mark} & wait; sleep {mark}"
    async with anyio.create_task_group() as group:
        endings = []
        for script, grace_s in ((polite, 5.0), (stubborn, 0.2)):
            running = await contained.start(
                Command(folder=project, argv=("bash", "-c", script)),
                stored=kept,
                captures=Captures(),
                group=group,
            )
            await until(lambda running=running: running.stdout.head == b"ready\n")  # type: ignore[misc]
            endings.append(await running.terminate(grace_s))
    assert [(ending.kind, ending.code) for ending in endings] == [("exited", 7), ("killed", None)]
    assert marked(mark) == []


async def test_twenty_processes_stop_within_two_seconds(launcher: Launcher, project: Path, mark: str) -> None:
    """quality.md: Stop to no process alive."""
    command = Command(folder=project, argv=("bash", "-c", f"setsid sleep {mark} & sleep {mark}"))
    async with anyio.create_task_group() as group:
        for _ in range(20):
            await launcher.start(command, stored=kept, captures=Captures(), group=group)
        await until(lambda: len(marked(mark)) >= 40)
        group.cancel_scope.cancel()
        stopping = anyio.current_time()
    assert anyio.current_time() - stopping < 2
    assert marked(mark) == []


async def test_waiting_may_be_given_up_without_ending_the_command(launcher: Launcher, project: Path) -> None:
    """`wait_process` has a time of its own."""
    async with anyio.create_task_group() as group:
        running = await launcher.start(
            Command(folder=project, argv=("sleep", "60")), stored=kept, captures=Captures(), group=group
        )
        with anyio.move_on_after(0.05) as late:
            await running.wait()
        assert late.cancelled_caught
        assert running.ending is None
        await running.terminate(0.1)


async def test_a_deadline_ends_the_command(contained: Launcher, project: Path, mark: str) -> None:
    """The server's own programs have one."""
    finished = await contained.run(Command(folder=project, argv=("sleep", mark)), timeout_s=0.1)
    assert (finished.ending.kind, finished.ending.reason) == ("stopped", "timeout")
    assert marked(mark) == []


async def test_recovery_proves_the_end_of_exactly_that_process(launcher: Launcher, project: Path) -> None:
    """K15: the number may have passed to another process, or the machine may have been started anew."""
    async with anyio.create_task_group() as group:
        running = await launcher.start(
            Command(folder=project, argv=("sleep", "60")), stored=kept, captures=Captures(), group=group
        )
        birth = running.birth
        other = Birth(pid=birth.pid, start_ticks=birth.start_ticks + 1, boot_id=birth.boot_id)
        before = Birth(pid=birth.pid, start_ticks=birth.start_ticks, boot_id="an older boot")
        assert prove_ended(other)
        assert prove_ended(before)
        assert is_alive(str(birth.pid))
        assert prove_ended(birth)
        with anyio.fail_after(5):
            assert (await running.wait()).kind == "killed"
        assert prove_ended(birth)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ({"argv": ()}, "command_invalid"),
        ({"argv": ("a\0b",)}, "command_invalid"),
        ({"argv": ("true",), "environment": {"A=B": "x"}}, "command_invalid"),
        ({"argv": ("true",), "environment": {"A": "\ud800"}}, "command_invalid"),
        ({"argv": ("true",), "cwd": "../.."}, "path_outside"),
        ({"argv": ("true",), "cwd": "/etc"}, "path_outside"),
        ({"argv": ("true",), "cwd": "absent"}, "file_not_found"),
        ({"argv": ("true",), "cwd": "link"}, "command_invalid"),
    ],
)
async def test_a_command_that_cannot_be_meant_is_refused_before_anything_starts(
    launcher: Launcher, project: Path, command: dict[str, object], code: str
) -> None:
    """Refusals say what to do."""
    (project / "link").symlink_to("/etc")
    with pytest.raises(errors.Refusal) as refused:
        await launcher.run(Command(folder=project, **command))  # type: ignore[arg-type]
    assert refused.value.code == code


async def test_a_folder_without_its_work_folder_runs_nothing(launcher: Launcher, tmp_path: Path) -> None:
    """S1: `.workstead/` must be a mount of its own before the first command."""
    bare = tmp_path / "bare"
    bare.mkdir()
    with pytest.raises(errors.Refusal) as refused:
        await launcher.run(Command(folder=bare, argv=("true",)))
    assert refused.value.code == "folder_unprepared"
