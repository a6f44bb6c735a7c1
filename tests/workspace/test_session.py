"""What the level `landlock` refuses, and what it says it cannot (S1)."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from workspace.conftest import names, reached
from workspace.test_jail import READS, WRITES, places, server, tried
from workspace.test_launcher import kept, mark, marked, until
from workstead.workspace.captures import Captures
from workstead.workspace.child import prove_ended
from workstead.workspace.launcher import Launcher
from workstead.workspace.spec import Command, Level

pytestmark = pytest.mark.covers("K19")

__all__ = ["mark", "places", "server"]

CANNOT = {
    "the list of the machine's processes",
    "into .workstead",
    "in the place of .workstead",
    "a hard link to what is protected",
}


@pytest.fixture
async def landlocked(project: Path, launcher_at: Callable[[Level], Launcher]) -> Launcher:
    return await reached(launcher_at(Level.LANDLOCK), project)


async def test_no_escape_gets_out_of_landlock_but_those_it_cannot_stop(
    landlocked: Launcher, project: Path, places: dict[str, str], server: int
) -> None:
    """S1: it does not hide processes and does not protect `.workstead/`; a page must be able to say so."""
    attempts = READS | WRITES
    found = await tried(landlocked, attempts, places=places, server=server)
    assert found == {name: "out" if name in CANNOT else "held" for name in attempts}
    assert names(places["OUTSIDE"]) == []
    missing = (await landlocked.probe(project)).missing
    assert {"protection of .workstead/", "a closed network for UDP"} <= set(missing)


async def test_no_tcp_connection_leaves_without_a_network(landlocked: Launcher, project: Path) -> None:
    """Landlock governs connections; `network: none` allows none."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        program = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        for network, code in (("none", 1), ("full", 0)):
            command = Command(folder=project, argv=("python3", "-c", program), network=network)  # type: ignore[arg-type]
            assert (await landlocked.run(command)).ending.code == code


async def test_ordinary_tools_work_under_landlock(landlocked: Launcher, project: Path) -> None:
    """A level that breaks git and Python would be switched off."""
    script = (
        "set -e; git init -q repo; cd repo; echo a > a; git add a; git commit -qm one; git status --short\n"
        "python3 -c 'import tempfile; tempfile.TemporaryFile()'; test -w $HOME; id -un > /dev/null\n"
    )
    finished = await landlocked.run(Command(folder=project, argv=("bash", "-c", script)))
    assert finished.ending.code == 0, finished.stderr


async def test_the_level_user_runs_as_the_folder_s_owner(
    tmp_path_factory: pytest.TempPathFactory, data_folder: Path
) -> None:
    """S1: own uid, no namespaces."""
    if os.geteuid() != 0:
        pytest.skip("needs a root server")
    base = tmp_path_factory.mktemp("theirs")
    for folder in (base, *base.parents[:-2]):
        folder.chmod(0o755)
    theirs = base / "project"
    (theirs / ".workstead/work").mkdir(parents=True)
    for path in (theirs, theirs / ".workstead", theirs / ".workstead/work"):
        os.chown(path, 4242, 4242)
    launcher = Launcher(floor=Level.USER, ceiling=Level.USER, closed_ports=(), data_folder=data_folder)
    finished = await launcher.run(Command(folder=theirs, argv=("id", "-u")))
    assert finished.stdout == b"4242\n"


async def test_recovery_ends_a_session_with_all_it_started(landlocked: Launcher, project: Path, mark: str) -> None:
    """K15: the keeper is what was stored; the monitor ends what the keeper leaves."""
    async with anyio.create_task_group() as group:
        command = Command(folder=project, argv=("bash", "-c", f"(setsid sleep {mark} &) ; sleep {mark}"))
        running = await landlocked.start(command, stored=kept, captures=Captures(), group=group)
        await until(lambda: len(marked(mark)) == 2)
        assert prove_ended(running.birth)
        with anyio.fail_after(5):
            assert (await running.wait()).kind == "killed"
    assert marked(mark) == []
