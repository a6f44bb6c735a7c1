"""One launcher program seen from the server: started, identified, allowed to go on, ended, reaped."""

import json
import marshal
import os
import select
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio

import workstead
from workstead import errors
from workstead.workspace import courtesy
from workstead.workspace.spec import Level, Spec

IDENTITY_TIMEOUT_S = 10.0
KILL_TIMEOUT_S = 5.0
STATUS_LIMIT_BYTES = 65536

_SOURCES = str(Path(workstead.__file__).resolve().parent.parent)
# Commands may take every core; who looks at a page or presses Stop must not wait behind them.
_PROGRAM = (
    "import sys; sys.path.append({sources}); from workstead.workspace import courtesy, {module}; "
    "courtesy.step_back(); {module}.main({ends})"
)
_MODULES = {Level.NAMESPACES: "jail", Level.LANDLOCK: "session", Level.USER: "session", Level.NONE: "session"}

EndKind = Literal["exited", "signalled", "stopped", "refused", "killed"]


@dataclass(frozen=True, kw_only=True)
class Birth:
    """Which process to end so that nothing of a command is left, kept before the command runs.

    pid: of its process 1 (or its session's keeper), in the server's numbering. start_ticks: field 22 of its
    stat, so that a number used again is not mistaken for it. boot_id: of the machine's boot.
    """

    pid: int
    start_ticks: int
    boot_id: str


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a command ended; nothing of it is left.

    kind: `exited` with `code`; `signalled` with `signal`; `stopped` by a limit named in `reason` (memory,
    disk, timeout); `refused` before it began, with `reason`; `killed` by us or by someone outside.
    """

    kind: EndKind
    code: int | None = None
    signal: int | None = None
    reason: str = ""


class Child:
    """A launcher program and the descriptors the server holds of it; its owner calls `close` at the end."""

    def __init__(self, spec: Spec, *, level: Level) -> None:
        ours, theirs = _pipes()
        source = _handed_over(spec)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                _arguments(level, source=source, status=theirs.status, go=theirs.go),
                stdin=subprocess.DEVNULL,
                stdout=theirs.stdout,
                stderr=theirs.stderr,
                pass_fds=(source, theirs.status, theirs.go),
                env={},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            _close(ours.stdout, ours.stderr, ours.status, ours.go)
            raise errors.unavailable("launch_failed", f"No process can be started: {error.strerror}.") from error
        finally:
            _close(source, theirs.stdout, theirs.stderr, theirs.status, theirs.go)
        # At once, because its interpreter's start would compete already; the program itself tries again.
        courtesy.step_back(self._process.pid, tries=1)
        self._ends = ours
        self._ended = os.pidfd_open(self._process.pid)
        self._first: int | None = None
        self._said = b""
        self.missing: tuple[str, ...] = ()
        self.over = False

    @property
    def monitor_pid(self) -> int:
        """The launcher program's own number."""
        return self._process.pid

    @property
    def stdout(self) -> int:
        """Where the command's standard output arrives; not blocking."""
        return self._ends.stdout

    @property
    def stderr(self) -> int:
        """Where the command's standard error arrives; not blocking."""
        return self._ends.stderr

    async def birth(self) -> Birth:
        """The identity, before the command runs. Raises `launch_refused` or `launch_failed`."""
        with anyio.move_on_after(IDENTITY_TIMEOUT_S):
            while b"\n" not in self._said and await self._hear():
                pass
        first, _, self._said = self._said.partition(b"\n")
        word, _, rest = first.decode("utf-8", "replace").partition(" ")
        if word == "refused":
            raise errors.unavailable("launch_refused", f"The command was not started: {rest}.", reason=rest)
        if word != "init":
            raise errors.unavailable("launch_failed", "The launcher did not answer; the command was not started.")
        pid, start_ticks = (int(number) for number in rest.split())
        birth = Birth(pid=pid, start_ticks=start_ticks, boot_id=boot_id())
        self._first = held(birth)
        return birth

    def go(self) -> None:
        """Allow the command to begin."""
        if self._ends.go < 0:
            return
        try:
            os.write(self._ends.go, b"g")
        except BrokenPipeError:
            return  # it ended meanwhile; its ending says how
        finally:
            os.close(self._ends.go)
            self._ends.go = -1

    async def ended(self) -> Ending:
        """Wait for the end of everything and say how it came; cancelling only stops the waiting."""
        while await self._hear():
            pass
        await anyio.wait_readable(self._ended)
        if self._first is not None:
            await anyio.wait_readable(self._first)  # it outlives a monitor killed from outside by a moment
        return self._reaped()

    def ask_to_end(self) -> None:
        """Send TERM to every process of the command."""
        self._signal(self._ended, signal.SIGTERM)

    def kill(self) -> None:
        """End everything at once."""
        if self._first is not None:
            self._signal(self._first, signal.SIGKILL)
        else:
            self._signal(self._ended, signal.SIGKILL)

    def kill_monitor(self) -> None:
        """End the launcher program itself; its namespace ends with it."""
        self._signal(self._ended, signal.SIGKILL)

    def close(self) -> None:
        """Let go of every descriptor; the process must have been waited for or killed."""
        if not self.over:
            self.kill()
            self.kill_monitor()
            self._reaped()
        ends = self._ends
        _close(
            ends.stdout,
            ends.stderr,
            ends.status,
            ends.go,
            self._ended,
            -1 if self._first is None else self._first,
        )
        self._ends, self._ended, self._first = _Ends(), -1, None

    async def _hear(self) -> bool:
        """Take in what the program says; False at the end of its line."""
        await anyio.wait_readable(self._ends.status)
        said = os.read(self._ends.status, STATUS_LIMIT_BYTES)
        self._said = (self._said + said)[-STATUS_LIMIT_BYTES:]
        return bool(said)

    def _reaped(self) -> Ending:
        self._process.wait()
        self.over = True
        lines = self._said.decode("utf-8", "replace").splitlines()
        self.missing = tuple(line.removeprefix("missing ") for line in lines if line.startswith("missing "))
        return next((ending for line in lines if (ending := _ending(line)) is not None), Ending(kind="killed"))

    def _signal(self, process: int, number: signal.Signals) -> None:
        if process < 0 or self.over:
            return
        try:
            signal.pidfd_send_signal(process, number)
        except ProcessLookupError:
            return  # it ended by itself meanwhile


def boot_id() -> str:
    """The identity of the machine's present boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def prove_ended(birth: Birth) -> bool:
    """End what an earlier server left behind; True when it is proven that nothing of it runs any more.

    For recovery at start, before the loop is busy: waits up to five seconds, usually milliseconds.
    """
    if birth.boot_id != boot_id():
        return True
    process = held(birth)
    if process is None:
        return True
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    else:
        waiting = select.poll()
        waiting.register(process, select.POLLIN)
        return bool(waiting.poll(KILL_TIMEOUT_S * 1000))
    finally:
        os.close(process)


def held(birth: Birth) -> int | None:
    """A descriptor of that very process, or None when it is gone; its number may be another's by now."""
    try:
        process = os.pidfd_open(birth.pid)
    except ProcessLookupError:
        return None
    if started_at(birth.pid) == birth.start_ticks:
        return process
    os.close(process)
    return None


def started_at(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None when there is none or it is only a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return int(fields[19])


@dataclass
class _Ends:
    """The descriptors of one side of the pipes to a launcher program."""

    stdout: int = -1
    stderr: int = -1
    status: int = -1
    go: int = -1


def _pipes() -> tuple[_Ends, _Ends]:
    ours, theirs = _Ends(), _Ends()
    for name in ("stdout", "stderr", "status"):
        read, write = os.pipe()
        os.set_blocking(read, False)
        setattr(ours, name, read)
        setattr(theirs, name, write)
    theirs.go, ours.go = os.pipe()
    return ours, theirs


def _handed_over(spec: Spec) -> int:
    # In memory, not a pipe: a large environment would fill one before its reader runs.
    file = os.memfd_create("spec")
    os.write(file, marshal.dumps(dict(spec), 2))
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _arguments(level: Level, *, source: int, status: int, go: int) -> list[str]:
    program = _PROGRAM.format(
        sources=json.dumps(_SOURCES),
        module=_MODULES[level],
        ends=f"source={source}, status={status}, go={go}",
    )
    return [sys.executable, "-I", "-S", "-c", program]


def _ending(line: str) -> Ending | None:
    word, _, rest = line.partition(" ")
    if word == "exit":
        return Ending(kind="exited", code=int(rest))
    if word == "signal":
        return Ending(kind="signalled", signal=int(rest))
    if word == "stopped":
        return Ending(kind="stopped", reason=rest)
    if word == "refused":
        return Ending(kind="refused", reason=rest)
    return None


def _close(*ends: int) -> None:
    for end in ends:
        if end >= 0:
            os.close(end)
