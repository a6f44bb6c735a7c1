"""The one way a program is started on a project folder: contained, captured, ended with who asked (S1)."""

import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup, TaskStatus

from workstead import errors
from workstead.workspace import files, folders, levels, view
from workstead.workspace.captures import Capture, CaptureFacts, Captures
from workstead.workspace.child import Birth, Child, Ending
from workstead.workspace.spec import Command, Level

GRACE_S = 5.0
CANCEL_GRACE_S = 1.0
REST_TIMEOUT_S = 2.0
OUTPUT_LIMIT_BYTES = 4 << 20

Stored = Callable[[Birth], Awaitable[None]]
Work = Callable[[Callable[[], None]], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A command that was run to its end: how it ended, and what it printed, each cut at the asked size."""

    ending: Ending
    stdout: bytes
    stderr: bytes
    complete: bool


class Running:
    """A command that was started; it lives at most as long as the task group it was started in."""

    def __init__(self, *, command: Command, level: Level, birth: Birth, process: "_Process") -> None:
        self.command = command
        self.level = level
        self.birth = birth
        self._process = process

    @property
    def stdout(self) -> CaptureFacts:
        """Standard output as far as it has come."""
        return self._process.stdout.facts

    @property
    def stderr(self) -> CaptureFacts:
        """Standard error as far as it has come."""
        return self._process.stderr.facts

    @property
    def ending(self) -> Ending | None:
        """How it ended, or None while it runs."""
        return self._process.ending

    @property
    def missing(self) -> tuple[str, ...]:
        """Lesser measures that could not be had; known at the end."""
        return self._process.child.missing

    async def wait(self) -> Ending:
        """Wait until nothing of it is left and its output is whole; cancelling only stops the waiting."""
        await self._process.done.wait()
        assert self._process.ending is not None
        return self._process.ending

    async def terminate(self, grace_s: float = GRACE_S) -> Ending:
        """TERM to all of it, KILL after the grace; returns when nothing is left and cannot be cancelled."""
        with anyio.CancelScope(shield=True):
            self._process.child.ask_to_end()
            with anyio.move_on_after(grace_s):
                await self.wait()
            if self.ending is None:
                self._process.child.kill()
                with anyio.move_on_after(REST_TIMEOUT_S):
                    await self.wait()
            if self.ending is None:
                self._process.child.kill_monitor()
        # Outside the shield: a monitor that even the kernel cannot end must not hold the caller for ever.
        return await self.wait()


class Launcher:
    """Starts commands at the strongest level this machine and a folder allow.

    floor: the weakest level the operator accepts; below it nothing is started. ceiling: the strongest one
    tried. closed_ports: of the server and its databases, shut under network `full`. data_folder and hidden:
    never to be seen by a command. work: runs the launch itself beside the loop, and waits for it once it has begun.
    """

    def __init__(
        self,
        *,
        floor: Level,
        closed_ports: tuple[int, ...],
        data_folder: Path,
        hidden: tuple[Path, ...] = (),
        ceiling: Level = Level.NAMESPACES,
        toolchain: tuple[Path, ...] | None = None,
        environment: dict[str, str] | None = None,
        work: Work | None = None,
    ) -> None:
        surroundings = view.Surroundings(
            hidden=(data_folder, *hidden),
            closed_ports=closed_ports,
            environment=view.inherited() | (environment or {}),
        )
        if toolchain is not None:
            surroundings = dataclasses.replace(surroundings, toolchain=toolchain)
        self._surroundings = surroundings
        self._work = work or _at_once
        self._levels = levels.Levels(floor=floor, ceiling=ceiling, surroundings=surroundings)

    async def probe(self, folder: Path) -> levels.LevelReport:
        """The level reached for a folder, tested once. Raises `isolation_unavailable` below the floor."""
        return await self._levels.of(folder)

    def doctor(self) -> levels.Doctor:
        """What was found on this machine so far, for the operator."""
        return self._levels.doctor()

    async def start(self, command: Command, *, stored: Stored, captures: Captures, group: TaskGroup) -> Running:
        """Start a command in a task group; its end is the end of the command, children included.

        `stored` is awaited before anything of the command runs: if the server dies before, nothing ever runs.
        Raises invalid `command_invalid`, unavailable `isolation_unavailable`, `launch_refused`,
        `launch_failed`.
        """
        check(command)
        report = await self._levels.of(command.folder)
        order = _Order(
            command=command,
            level=report.level,
            surroundings=self._surroundings,
            captures=captures,
            stored=stored,
            work=self._work,
        )
        running: Running = await group.start(_attend, order)
        return running

    async def run(
        self,
        command: Command,
        *,
        stored: Stored | None = None,
        limit_bytes: int = OUTPUT_LIMIT_BYTES,
        timeout_s: float | None = None,
    ) -> Finished:
        """Run a command to its end with its output in memory; cancelling or the deadline ends it.

        For the server's own programs (git, ripgrep) on a project folder. Raises what `start` raises.
        """
        captures = Captures(head_bytes=limit_bytes)
        refused: errors.Refusal | None = None
        async with anyio.create_task_group() as group:
            try:
                running = await self.start(command, stored=stored or _not_kept, captures=captures, group=group)
            except errors.Refusal as refusal:
                refused = refusal  # raised outside the group, which would wrap it
            else:
                ending = await _ended_within(running, timeout_s)
        if refused is not None:
            raise refused
        return Finished(
            ending=ending,
            stdout=running.stdout.head,
            stderr=running.stderr.head,
            complete=running.stdout.complete and running.stderr.complete,
        )


def check(command: Command) -> None:
    """Refuse a command that cannot be meant: `command_invalid`, `folder_unprepared`, or a path's refusal."""
    if not command.argv or not command.argv[0]:
        raise errors.invalid("command_invalid", "A command needs a program to run.")
    texts = [*command.argv, *command.environment, *command.environment.values()]
    if any("\0" in text or not _is_utf8(text) for text in texts):
        raise errors.invalid("command_invalid", "A command and its environment are UTF-8 text without NUL.")
    if any(not name or "=" in name for name in command.environment):
        raise errors.invalid("command_invalid", "An environment name is not empty and holds no '='.")
    with files.Folder(command.folder) as folder:
        if folder.stat(command.cwd).kind != "folder":
            raise errors.invalid("command_invalid", f"{command.cwd} is not a folder to run in.")
        try:
            prepared = folder.stat(folders.WORK).kind == "folder"
        except errors.Refusal:
            prepared = False
        if not prepared:
            raise errors.conflict("folder_unprepared", f"{command.folder} has no {folders.WORK} yet; bind it first.")


@dataclass(frozen=True, kw_only=True)
class _Order:
    command: Command
    level: Level
    surroundings: view.Surroundings
    captures: Captures
    stored: Stored
    work: Work


class _Process:
    """What is held of one command: the child, its streams, and how it ended."""

    def __init__(self, order: _Order, *, done: anyio.Event) -> None:
        spec = view.spec_for(order.command, level=order.level, surroundings=order.surroundings)
        with files.Folder(order.command.folder) as folder:
            self.stdout = Capture(folder=folder, path=order.captures.stdout_path, captures=order.captures)
            try:
                self.stderr = Capture(folder=folder, path=order.captures.stderr_path, captures=order.captures)
                self.child = Child(spec, level=order.level)
            except BaseException:
                self.stdout.close()
                raise
        self.ending: Ending | None = None
        self.done = done

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.child.close()
        self.stdout.close()
        self.stderr.close()
        if self.ending is None:
            self.ending = Ending(kind="killed")
        self.done.set()

    async def live(self) -> None:
        """Take in the output until the command has ended and its pipes are empty."""
        async with anyio.create_task_group() as pumps:
            pumps.start_soon(self.stdout.pump, self.child.stdout)
            pumps.start_soon(self.stderr.pump, self.child.stderr)
            self.ending = await self.child.ended()
            # Nothing of it is left, so the pipes end now; only below `namespaces` might a stranger hold one.
            pumps.cancel_scope.deadline = anyio.current_time() + REST_TIMEOUT_S

    async def end(self) -> None:
        """TERM, a short grace, KILL, and wait until nothing is left; for the end of the scope."""
        self.child.ask_to_end()
        with anyio.move_on_after(CANCEL_GRACE_S):
            await self.live()
        if self.ending is None:
            self.child.kill()
            with anyio.move_on_after(REST_TIMEOUT_S):
                await self.live()


async def _attend(order: _Order, *, task_status: TaskStatus[Running]) -> None:
    with await _launched(order) as process:
        birth = await process.child.birth()
        await order.stored(birth)
        process.child.go()
        task_status.started(Running(command=order.command, level=order.level, birth=birth, process=process))
        try:
            await process.live()
        finally:
            if process.ending is None:
                with anyio.CancelScope(shield=True):
                    await process.end()


async def _launched(order: _Order) -> _Process:
    """The command's process, waiting for its go; begun beside the loop, because a fork waits for the child's exec."""
    made: list[_Process] = []
    done = anyio.Event()
    try:
        await order.work(lambda: made.append(_Process(order, done=done)))
    except BaseException:
        for process in made:
            with process:  # cancelled meanwhile: it never ran, and nobody else knows of it
                pass
        raise
    return made[0]


async def _at_once(job: Callable[[], None]) -> None:
    """Where nobody else waits for the loop, a launch takes no thread."""
    job()


async def _ended_within(running: Running, timeout_s: float | None) -> Ending:
    with anyio.move_on_after(timeout_s):
        return await running.wait()
    await running.terminate(CANCEL_GRACE_S)
    return Ending(kind="stopped", reason="timeout")


async def _not_kept(_: Birth) -> None:
    """A short program of the server's own, ended with the call: its birth need not outlive it."""


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
