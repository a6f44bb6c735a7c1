"""Named processes of agents: started, waited for, killed, and ended with whoever owns them (W17).

In memory only; what happened to a process is recorded by the caller, whose `stored` sees its birth before it runs
and whose `told` sees its end before anybody else does.
"""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

import anyio
from anyio.abc import TaskGroup

from workstead import errors
from workstead.workspace import folders
from workstead.workspace.captures import CaptureFacts, Captures, head_text
from workstead.workspace.child import Birth, Ending
from workstead.workspace.launcher import CANCEL_GRACE_S, GRACE_S, Launcher, Running
from workstead.workspace.spec import Command

Status = Literal["running", "exited", "failed", "killed"]
Clean = Callable[[str], str]
StoredAs = Callable[[str, Birth], Awaitable[None]]
Told = Callable[[str, "Ended"], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Output:
    """One stream of a process: its cut head, and where the whole of it stands.

    complete: nothing was dropped from the file. whole: the head shows everything there is.
    """

    head: str
    size_bytes: int
    complete: bool
    whole: bool
    path: str


@dataclass(frozen=True, kw_only=True)
class ProcessView:
    """A process as its owner sees it.

    status: `exited` with `exit_code`; `failed` when it never began; `killed` by a signal, a limit or us, with
    `reason`.
    """

    process_id: str
    owner: str
    card: str
    status: Status
    exit_code: int | None
    reason: str
    stdout: Output
    stderr: Output


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What is known of a process that has ended. stdout_complete: nothing was dropped from its file."""

    ending: Ending
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    stdout_complete: bool = True
    stderr_complete: bool = True


@dataclass(frozen=True, kw_only=True)
class _Process:
    """known: set once its end was told, and not before; until then it counts as running."""

    process_id: str
    owner: str
    card: str
    running: Running
    known: anyio.Event


class Processes:
    """The live processes of one server, and the finished ones whose result nobody has taken yet.

    clean: hides secrets in a text; applied before a head is cut, so that no half of a secret slips through.
    """

    def __init__(self, launcher: Launcher, *, clean: Clean = str) -> None:
        self._launcher = launcher
        self._clean = clean
        self._processes: dict[str, _Process] = {}

    async def start(
        self,
        command: Command,
        *,
        owner: str,
        card: str,
        stored: StoredAs,
        group: TaskGroup,
        told: Told | None = None,
        process_id: str | None = None,
    ) -> str:
        """Start a command for an owner (an activation) on a card; returns its id, `proc-` and 12 hex digits.

        The task group's end ends it. told: awaited once it has ended, before any result shows that; shielded, so that
        an end is recorded even when the group was cancelled. process_id: made with `new_id` when the command must know
        its own. Raises what `Launcher.start` raises.
        """
        process_id = process_id or new_id()

        async def stored_as(birth: Birth) -> None:
            await stored(process_id, birth)

        running = await self._launcher.start(
            command, stored=stored_as, captures=captures(card, process_id), group=group
        )
        process = _Process(process_id=process_id, owner=owner, card=card, running=running, known=anyio.Event())
        self._processes[process_id] = process
        group.start_soon(self._tell, process, told)
        return process_id

    async def wait(self, process_id: str, *, owner: str, timeout_s: float) -> ProcessView:
        """How a process stands after at most this long (0 = now); a final result is given once."""
        process = self._of(process_id, owner=owner)
        if timeout_s > 0:
            with anyio.move_on_after(timeout_s):
                await process.known.wait()
        return self._taken(process)

    async def kill(self, process_id: str, *, owner: str, grace_s: float = GRACE_S) -> ProcessView:
        """End a process and everything it started; its final result, given once. Raises not found."""
        process = self._of(process_id, owner=owner)
        await process.running.terminate(grace_s)
        with anyio.CancelScope(shield=True):
            await process.known.wait()
        return self._taken(process)

    def listing(self, *, owner: str | None = None) -> tuple[ProcessView, ...]:
        """The processes of an owner, or of all, in the order they were started; takes no result."""
        return tuple(self._view(p) for p in self._processes.values() if owner in {None, p.owner})

    async def end_owner(self, owner: str) -> None:
        """End every process of an owner, side by side, and forget them; not to be cancelled."""
        theirs = [process for process in self._processes.values() if process.owner == owner]
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for process in theirs:
                    group.start_soon(process.running.terminate, CANCEL_GRACE_S)
            for process in theirs:
                await process.known.wait()
        for process in theirs:
            self._processes.pop(process.process_id, None)

    async def _tell(self, process: _Process, told: Told | None) -> None:
        with anyio.CancelScope(shield=True):
            ending = await process.running.wait()
            try:
                if told is not None:
                    await told(process.process_id, _ended(process.running, ending))
            finally:
                process.known.set()

    def _of(self, process_id: str, *, owner: str) -> _Process:
        process = self._processes.get(process_id)
        if process is None or process.owner != owner:
            raise errors.not_found("process", process_id)
        return process

    def _taken(self, process: _Process) -> ProcessView:
        # Two waiters may return together: only the first takes the result.
        if process.known.is_set() and self._processes.pop(process.process_id, None) is None:
            raise errors.not_found("process", process.process_id)
        return self._view(process)

    def _view(self, process: _Process) -> ProcessView:
        status, exit_code, reason = _standing(process.running.ending if process.known.is_set() else None)
        return ProcessView(
            process_id=process.process_id,
            owner=process.owner,
            card=process.card,
            status=status,
            exit_code=exit_code,
            reason=reason,
            stdout=self._output(process.running.stdout),
            stderr=self._output(process.running.stderr),
        )

    def _output(self, facts: CaptureFacts) -> Output:
        text = self._clean(facts.head.decode("utf-8", "replace"))
        head = head_text(text)
        return Output(
            head=head,
            size_bytes=facts.size_bytes,
            complete=facts.complete,
            whole=head == text and facts.size_bytes == len(facts.head),
            path=facts.path,
        )


def new_id() -> str:
    """A fresh process id."""
    return f"proc-{secrets.token_hex(6)}"


def captures(card: str, process_id: str) -> Captures:
    """Where the output of a card's process is kept."""
    place = f"{folders.WORK}/cards/{card}/processes/{process_id}"
    return Captures(stdout_path=f"{place}/stdout.log", stderr_path=f"{place}/stderr.log")


def _ended(running: Running, ending: Ending) -> Ended:
    return Ended(
        ending=ending,
        stdout_bytes=running.stdout.size_bytes,
        stderr_bytes=running.stderr.size_bytes,
        stdout_complete=running.stdout.complete,
        stderr_complete=running.stderr.complete,
    )


def _standing(ending: Ending | None) -> tuple[Status, int | None, str]:
    if ending is None:
        return "running", None, ""
    if ending.kind == "exited":
        return "exited", ending.code, ""
    if ending.kind == "refused":
        return "failed", None, ending.reason
    if ending.kind == "signalled":
        return "killed", None, f"signal {ending.signal}"
    return "killed", None, ending.reason or "killed"
