"""`run_command`: an assistant runs one command in a project's folder, contained, ended with its call (S1, S6)."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from pydantic import Field

from workstead import errors
from workstead.accounts.projects import Project
from workstead.agents import process_rows
from workstead.kernel import faults
from workstead.kernel.access import Permission
from workstead.kernel.acts import Act, AnyAct, Asked, Report
from workstead.kernel.canonical import Json
from workstead.kernel.operations import Door, Effect
from workstead.kernel.receipts import Kept
from workstead.kernel.transaction import Tx
from workstead.runs import folder_acts
from workstead.runs.capture_reads import AHEAD_BYTES, stretch_bytes
from workstead.runs.folder_acts import Claimed, Doing, Done, Means
from workstead.work.rules import ProjectWrite
from workstead.work.workflow import identity
from workstead.workspace import files, processes
from workstead.workspace.child import Birth, Ending
from workstead.workspace.launcher import Running
from workstead.workspace.processes import Ended
from workstead.workspace.spec import Command

RUN = "run_command"
TIMEOUT_S, TIMEOUT_LIMIT_S = 120, 840
SHOWN_BYTES = 8 << 10
REPORT_EVERY_S = 1.0

# Beside the command's own time: its end, its last output, its rows.
_SPARE_S = 30.0
_RUNNING = frozenset({Permission.WORKSPACE_RUN})


class RunCommand(ProjectWrite):
    """What to run."""

    command: str = Field(min_length=1, max_length=100_000, description="One line or a script for bash -c.")
    cwd: str = Field(default="", max_length=4096, description="A folder of the project to run in; else the project's.")
    timeout_s: int = Field(
        default=TIMEOUT_S, ge=1, le=TIMEOUT_LIMIT_S, description="When it is ended, with all it started, in seconds."
    )


@dataclass(frozen=True, kw_only=True)
class Printed:
    """One stream: its beginning. total_bytes: of all of it; read_capture reads the rest."""

    text: str
    total_bytes: int
    complete: bool


@dataclass(frozen=True, kw_only=True)
class CommandEnded:
    """How a command ended. status: exited, signalled, refused, killed, stopped. card_id: where its output is kept."""

    process_id: str
    card_id: str
    status: str
    exit_code: int | None
    signal: int | None
    reason: str
    stdout: Printed
    stderr: Printed


def acts(means: Means) -> tuple[AnyAct, ...]:
    """The act."""
    return (
        Act(
            name=RUN,
            summary="Run a command in a project's folder, contained and without network, to its end.",
            input=RunCommand,
            output=CommandEnded,
            permissions=_RUNNING,
            effect=Effect.DESTRUCTIVE,
            doors=frozenset({Door.MCP}),
            perform=partial(run, means),
        ),
    )


async def run(means: Means, asked: Asked[RunCommand]) -> CommandEnded:
    """Run to the end; it ends with its call, also when whoever called goes away.

    Raises what the launcher refuses (`isolation_unavailable`, `command_invalid`); then nothing ran.
    """

    async def act(claimed: Claimed) -> Done[CommandEnded]:
        process_id = processes.new_id()
        ended = await _run(means, asked, claimed, process_id=process_id)
        answer = await _answer(means, claimed.project, process_id, reason=ended.reason)
        kept = Kept(answer=None, answer_id=process_id, answer_revision=None)
        told: dict[str, Json] = {"status": answer.status, "exit_code": answer.exit_code}
        return Done(answer=answer, kept=kept, subject=process_id, told=told)

    async def again(project: Project, kept: Kept) -> CommandEnded:
        return await _answer(means, project, kept.answer_id or "", reason="")

    doing = Doing(
        name=RUN,
        event="workspace:command:ended",
        permissions=_RUNNING,
        deadline_s=asked.args.timeout_s + _SPARE_S,
        act=act,
        again=again,
    )
    return await folder_acts.perform(means, asked, doing)


async def _run(means: Means, asked: Asked[RunCommand], claimed: Claimed, *, process_id: str) -> Ending:
    """Start it and see it to its end. Its birth is written before it may go on, its end before anybody is told."""
    refused: list[Exception] = []
    ended: list[Ending] = []
    async with anyio.create_task_group() as group:
        try:
            running = await _started(means, asked.args, claimed, process_id=process_id, group=group)
        except Exception as failed:  # noqa: BLE001 - handed on below, out of the group
            refused.append(failed)
        else:
            try:
                ended.append(await _ended(running, asked))
            finally:
                with anyio.CancelScope(shield=True):
                    if not ended:
                        await running.terminate()
                    ending = ended[0] if ended else Ending(kind="killed")
                    await _write_end(means, claimed.project, process_id, running=running, ending=ending)
    if refused:
        raise refused[0]
    return ended[0]


async def _started(means: Means, args: RunCommand, claimed: Claimed, *, process_id: str, group: TaskGroup) -> Running:
    project = claimed.project

    async def stored(birth: Birth) -> None:
        faults.point("process.spawned")
        started = process_rows.Started(
            id=process_id,
            scope=project.scope,
            project_id=project.id,
            card_id=identity.ROOT,
            activation_id=claimed.id,
            command=args.command,
            cwd=args.cwd,
            birth=birth,
        )
        await means.effects.settle(project.scope, lambda tx: process_rows.add(tx, started))

    command = Command(
        folder=Path(project.folder),
        argv=("bash", "-c", args.command),
        cwd=args.cwd,
        environment={"WORKSTEAD_PROCESS_ID": process_id, "WORKSTEAD_CARD": identity.ROOT},
    )
    captures = processes.captures(identity.ROOT, process_id)
    return await means.launcher.start(command, stored=stored, captures=captures, group=group)


async def _ended(running: Running, asked: Asked[RunCommand]) -> Ending:
    """How it ended; past its time it is ended. Tells how it goes meanwhile."""
    began_s = anyio.current_time()
    with anyio.move_on_after(asked.args.timeout_s):
        async with anyio.create_task_group() as telling:
            telling.start_soon(_tell, running, asked.report, began_s)
            ending = await running.wait()
            telling.cancel_scope.cancel()
        return ending
    await running.terminate()
    return Ending(kind="stopped", reason=f"it was ended after {asked.args.timeout_s} s")


async def _tell(running: Running, report: Report, began_s: float) -> None:
    while True:
        await anyio.sleep(REPORT_EVERY_S)
        printed = running.stdout.size_bytes + running.stderr.size_bytes
        passed_s = round(anyio.current_time() - began_s, 1)
        await report(done=passed_s, message=f"running for {passed_s:.0f} s, {printed} bytes printed")


async def _write_end(means: Means, project: Project, process_id: str, *, running: Running, ending: Ending) -> None:
    faults.point("process.ended")
    ended = Ended(
        ending=ending,
        stdout_bytes=running.stdout.size_bytes,
        stderr_bytes=running.stderr.size_bytes,
        stdout_complete=running.stdout.complete,
        stderr_complete=running.stderr.complete,
    )

    def job(tx: Tx) -> None:
        process_rows.end(tx, scope=project.scope, card_id=identity.ROOT, process_id=process_id, ended=ended)

    await means.effects.settle(project.scope, job)


async def _answer(means: Means, project: Project, process_id: str, *, reason: str) -> CommandEnded:
    row = await means.effects.read(lambda tx: process_rows.read(tx, process_id))
    assert row is not None
    assert row.end is not None
    captures = processes.captures(row.card_id, row.id)
    with files.Folder(Path(project.folder)) as folder:
        return CommandEnded(
            process_id=row.id,
            card_id=row.card_id,
            status=row.end.kind,
            exit_code=row.end.code,
            signal=row.end.signal,
            reason=reason,
            stdout=_printed(folder, captures.stdout_path, row.end.stdout_bytes, complete=row.end.stdout_complete),
            stderr=_printed(folder, captures.stderr_path, row.end.stderr_bytes, complete=row.end.stderr_complete),
        )


def _printed(folder: files.Folder, path: str, size_bytes: int, *, complete: bool) -> Printed:
    try:
        raw = folder.read_part(path, offset_bytes=0, limit_bytes=SHOWN_BYTES + AHEAD_BYTES)
    except errors.Refusal:
        raw = b""  # the command, or somebody since, has cleared it away
    shown = raw[: stretch_bytes(raw, limit_bytes=SHOWN_BYTES)]
    # An answer is kept as JSON text, which no database takes with NUL.
    text = shown.decode("utf-8", "replace").replace("\0", "\ufffd")
    return Printed(text=text, total_bytes=size_bytes, complete=complete)
