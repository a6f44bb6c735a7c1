"""Escapes tried by an agent's command, each refused at the level `namespaces` (S1).

Each way out is also tried without containment, where it must succeed: an attempt that never gets out shows
nothing.
"""

import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from workspace.conftest import names, reached
from workstead.workspace import folders
from workstead.workspace.launcher import Finished, Launcher
from workstead.workspace.spec import Command, Level, Limits, Network

pytestmark = pytest.mark.covers("K19")

READS = {
    "the data folder": 'cat "$DATA/instance.key"',
    "another project's folder": 'cat "$OTHER/source.py"',
    "a person's keys": 'cat "$PERSON/.ssh/id_ed25519"',
    "the server's environment": 'tr "\\0" "\\n" < /proc/$SERVER/environ | grep -q CANARY',
    "the server's open files": "readlink /proc/$SERVER/fd/0",
    "a signal to the server": "kill -0 $SERVER",
    "the shadow file": "head -c 1 /etc/shadow",
    "the list of the machine's processes": "test -d /proc/$SERVER",
}
WRITES = {
    "beside the project": 'echo x > "$OUTSIDE/planted"',
    "over the project's parent": 'mv "$FOLDER" "$FOLDER.gone" && mv "$FOLDER.gone" "$FOLDER"',
    "into .workstead": 'echo x > "$FOLDER/.workstead/config"',
    "in the place of .workstead": 'cd "$FOLDER" && mv .workstead own && mv own .workstead',
    "a hard link to what is protected": 'echo x > .workstead/y; ln .workstead/y "$FOLDER/hard-own"',
    "a hard link to a secret": 'ln "$DATA/instance.key" "$FOLDER/hard-secret"',
}
# Without a control: these would change or need the real machine.
NEVER = {
    "core_pattern opened for writing": 'python3 -c \'open("/proc/sys/kernel/core_pattern", "rb+")\'',
    "a namespace of its own": "unshare -U true",
    "a mount": "mount -t tmpfs none /mnt",
    "a remount": "mount -o remount,rw /usr",
    "the descriptors of process 1": "readlink /proc/1/fd/0",
    "the environment of process 1": "grep -q . /proc/1/environ",
    "a device node": "mknod disk b 254 0",
    "a capability": "grep -q '^Cap[EPB][fnr][fmd]:.*[1-9a-f]' /proc/self/status",
}


@pytest.fixture
def places(tmp_path: Path, project: Path, data_folder: Path) -> dict[str, str]:
    other, person, outside = tmp_path / "other", tmp_path / "person", tmp_path / "outside"
    (person / ".ssh").mkdir(parents=True)
    other.mkdir()
    outside.mkdir()
    (other / "source.py").write_text("private")
    (person / ".ssh/id_ed25519").write_text("key")
    named = {"DATA": data_folder, "OTHER": other, "PERSON": person, "OUTSIDE": outside, "FOLDER": project}
    return {name: str(path) for name, path in named.items()}


@pytest.fixture
def server() -> Iterator[int]:
    """A stand-in for a server with a secret in its environment."""
    with subprocess.Popen(["sleep", "60"], env={"CANARY": "secret", "PATH": os.environ["PATH"]}) as standing:
        yield standing.pid
        standing.kill()


async def tried(
    launcher: Launcher,
    attempts: Mapping[str, str],
    *,
    places: dict[str, str],
    server: int = 0,
    network: Network = "none",
) -> dict[str, str]:
    """What each attempt of one command says: `out` when it got out, `held` when not."""
    lines = (f'if ({script}) > /dev/null 2>&1; then echo "out"; else echo "held"; fi' for script in attempts.values())
    finished = await launcher.run(
        Command(
            folder=Path(places["FOLDER"]),
            argv=("bash", "-c", "\n".join(lines)),
            environment={**places, "SERVER": str(server)},
            network=network,
        ),
        timeout_s=5,
    )
    assert finished.ending.code == 0, finished
    return dict(zip(attempts, finished.stdout.decode().split(), strict=True))


@pytest.mark.parametrize("network", ["none", "full"])
async def test_no_escape_gets_out(launcher: Launcher, places: dict[str, str], server: int, network: Network) -> None:
    """S1: tried by an agent's command with and without the machine's network."""
    attempts = READS | WRITES | NEVER
    found = await tried(launcher, attempts, places=places, server=server, network=network)
    assert found == dict.fromkeys(attempts, "held")
    assert names(places["OUTSIDE"]) == []


async def test_the_same_attempts_get_out_where_nothing_contains_them(
    launcher_at: Callable[[Level], Launcher], places: dict[str, str], server: int
) -> None:
    """The control of the test above."""
    attempts = READS | WRITES
    if os.geteuid() != 0:
        del attempts["the shadow file"]
    found = await tried(launcher_at(Level.NONE), attempts, places=places, server=server)
    assert found == dict.fromkeys(attempts, "out")


async def test_what_is_hidden_inside_the_toolchain_is_covered(project: Path, tmp_path: Path) -> None:
    """What an operator lets commands see may hold what they must not, and may be named by a link."""
    tools = tmp_path / "real"
    (tools / "data").mkdir(parents=True)
    (tools / "data/instance.key").write_text("top secret")
    (tools / "key").write_text("top secret")
    (tools / "tool").write_text("a tool")
    (tmp_path / "tools").symlink_to(tools)
    launcher = Launcher(
        floor=Level.NAMESPACES,
        closed_ports=(),
        data_folder=tools / "data",
        hidden=(tools / "key",),
        toolchain=(tmp_path / "tools",),
    )
    await reached(launcher, project)
    script = "cat tool; ls -A data | wc -l; cat key"
    command = Command(folder=project, argv=("sh", "-c", f"cd {tmp_path}/tools && {script}"))
    assert (await launcher.run(command)).stdout == b"a tool0\n"


async def test_the_environment_holds_nothing_of_the_server_s(
    launcher: Launcher, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W17: an allow-list, not a list of what is taken out."""
    for name in ("OPENAI_API_KEY", "WORKSTEAD_KEY_FILE", "GIT_CONFIG_GLOBAL", "SSH_AUTH_SOCK", "LD_PRELOAD"):
        monkeypatch.setenv(name, "/canary")
    command = Command(folder=project, argv=("env",), environment={"MINE": "yes"})
    seen = (await launcher.run(command)).stdout.decode()
    assert "canary" not in seen
    assert "MINE=yes" in seen
    assert "HOME=/home/agent" in seen


async def test_abstract_sockets_and_closed_ports_stay_out_of_reach_under_the_full_network(
    project: Path, data_folder: Path
) -> None:
    """S1: `full` is the machine's network including its loopback, but not the server's own ports."""
    with socket.create_server(("127.0.0.1", 0)) as closed, socket.create_server(("127.0.0.1", 0)) as free:
        ports = closed.getsockname()[1], free.getsockname()[1]
        with socket.socket(socket.AF_UNIX) as abstract:
            abstract.bind(f"\0workstead-test-{os.getpid()}")
            abstract.listen()
            launcher = Launcher(floor=Level.NAMESPACES, closed_ports=(ports[0],), data_folder=data_folder)
            await reached(launcher, project)
            assert await reaching(launcher, project, ports, network="full") == ["held", "out", "held"]
            assert await reaching(launcher, project, ports, network="none") == ["held", "held", "held"]


async def reaching(launcher: Launcher, project: Path, ports: tuple[int, int], *, network: Network) -> list[str]:
    targets = [("INET", ("127.0.0.1", port)) for port in ports]
    program = (
        "import socket\n"
        f"for kind, place in {[*targets, ('UNIX', chr(0) + f'workstead-test-{os.getpid()}')]!r}:\n"
        "    try:\n"
        "        socket.socket(getattr(socket, 'AF_' + kind)).connect(place)\n"
        "        print('out')\n"
        "    except OSError:\n"
        "        print('held')\n"
    )
    finished = await launcher.run(Command(folder=project, argv=("python3", "-c", program), network=network))
    return finished.stdout.decode().split()


async def test_servers_on_its_own_loopback_work_without_a_network(launcher: Launcher, project: Path) -> None:
    """`network: none` is a loopback of its own: tests that open a port still pass."""
    program = (
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(server.getsockname())\n"
    )
    assert (await launcher.run(Command(folder=project, argv=("python3", "-c", program)))).ending.code == 0


async def test_a_repository_s_own_programs_run_only_inside(launcher: Launcher, project: Path, tmp_path: Path) -> None:
    """S1: flags do not disarm a repository; the server's own git runs in the launcher too."""
    outside = tmp_path / "outside"
    outside.mkdir()
    inside = project / "ran"
    planted = project / "planted.sh"
    planted.write_text(f'#!/bin/sh\necho "$1" >> {inside}\necho x > {outside}/escaped\ncat\n')
    planted.chmod(0o755)
    (project / ".gitattributes").write_text("* filter=evil\n")
    hostile = f'[core]\nfsmonitor = "{planted} fsmonitor"\n[filter "evil"]\nclean = "{planted} filter"\n'
    await launcher.run(Command(folder=project, argv=("git", "init", "-q")))
    with (project / ".git/config").open("a") as config:
        config.write(hostile)
    finished: Finished = await launcher.run(Command(folder=project, argv=("git", "add", "planted.sh")))
    assert finished.ending.code == 0, finished.stderr
    assert "filter" in inside.read_text()
    assert names(outside) == []


async def test_ordinary_tools_work(launcher: Launcher, project: Path) -> None:
    """A view that breaks git, Python or a private /tmp would be switched off."""
    script = (
        "set -e; git init -q repo; cd repo; echo a > a; git add a; git commit -qm one; git status --short\n"
        "python3 -c 'import multiprocessing, tempfile; tempfile.TemporaryFile(); multiprocessing.Lock()'\n"
        "echo 'echo exec' > /tmp/x; chmod +x /tmp/x; /tmp/x; id -u; test -w $HOME; yes | head -1; : > /dev/null\n"
    )
    finished = await launcher.run(Command(folder=project, argv=("bash", "-c", script)))
    assert (finished.stdout.decode(), finished.ending.code) == ("exec\n1000\ny\n", 0), finished.stderr


async def test_a_root_server_s_command_is_the_owner_of_the_folder(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """S1: what a command makes belongs to the folder's owner."""
    if os.geteuid() != 0:
        pytest.skip("needs a root server")
    base = tmp_path_factory.mktemp("theirs")
    for folder in (base, *base.parents[:-2]):
        folder.chmod(0o755)
    theirs = base / "project"
    theirs.mkdir()
    os.chown(theirs, 4242, 4242)
    folders.prepare(theirs)
    launcher = await reached(Launcher(floor=Level.NAMESPACES, closed_ports=(), data_folder=base / "data"), theirs)
    finished = await launcher.run(Command(folder=theirs, argv=("sh", "-c", "id -u; touch made .workstead/work/made")))
    assert finished.stdout == b"1000\n", finished
    assert {(theirs / "made").stat().st_uid, (theirs / ".workstead/work/made").stat().st_uid} == {4242}


async def test_too_many_processes_are_refused_by_the_namespace(launcher: Launcher, project: Path) -> None:
    """S1: RLIMIT_NPROC does not bind uid 0, so the limit is the namespace's own."""
    report = await launcher.probe(project)
    if any("process limit" in what for what in report.missing):
        pytest.skip("the kernel has no process limit per namespace")
    program = (
        "import os, signal\n"
        "try:\n"
        "    for made in range(600):\n"
        "        if os.fork() == 0: signal.pause()\n"
        "except OSError:\n"
        "    print(made)\n"
    )
    command = Command(folder=project, argv=("python3", "-c", program), limits=Limits(processes=310))
    finished = await launcher.run(command, timeout_s=5)
    assert 0 < int(finished.stdout) < 310, finished


async def test_too_much_memory_and_a_full_disk_end_everything(launcher: Launcher, project: Path) -> None:
    """S1: process 1 counts, because no control group is to be relied on."""
    hungry = "x = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nimport time; time.sleep(60)"
    small = Limits(memory_bytes=100 << 20)
    command = Command(folder=project, argv=("python3", "-c", hungry), limits=small)
    finished = await launcher.run(command, timeout_s=5)
    assert (finished.ending.kind, finished.ending.reason) == ("stopped", "memory")
    full = Command(folder=project, argv=("sleep", "60"), limits=Limits(disk_floor_bytes=1 << 60))
    finished = await launcher.run(full, timeout_s=5)
    assert (finished.ending.kind, finished.ending.reason) == ("stopped", "disk")
