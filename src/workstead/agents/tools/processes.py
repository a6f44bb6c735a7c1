"""`run_command`, `wait_process`, `kill_process`: contained commands, with a row before anything runs, one at the end.

A process belongs to its activation. Its birth is committed before the command may go on, its end before any result
shows that it ended; a call only reports (architecture, "effects").
"""

from collections.abc import Mapping
from typing import Literal

import anyio
from pydantic import Field

from workstead import errors
from workstead.agents import process_rows
from workstead.agents.tools import addresses, arguments
from workstead.agents.tools.addresses import Place
from workstead.agents.tools.tool import Acted, CallSite, Tool, ToolResult
from workstead.agents.tools.workbench import Workbench
from workstead.kernel import faults
from workstead.kernel.canonical import Json
from workstead.kernel.operations import Input
from workstead.workspace import folders, processes
from workstead.workspace.child import Birth, Ending
from workstead.workspace.processes import Ended, Output, ProcessView
from workstead.workspace.spec import Command

RUN, WAIT, KILL = "run_command", "wait_process", "kill_process"

DEFAULT_TIMEOUT_MS = 120_000
TIMEOUT_LIMIT_MS = 840_000

_RUN_DESCRIPTION = (
    "Run a command with bash -c, contained in the project's folder. Answers when it ends or after timeout_ms; a "
    "command that still runs then goes on, and wait_process waits for it. Shows the first 2 KB and 30 lines of each "
    "stream; the whole output is read at stdout_url and stderr_url. $TMPDIR is private; keep results in the project."
)
_WAIT_DESCRIPTION = "Wait for a command that is still running, or look at it (timeout_ms 0). Its result is given once."
_KILL_DESCRIPTION = "End a command and everything it started. Its result is given once."


class RunCommand(Input):
    """What to run."""

    command: str = Field(min_length=1, max_length=100_000, description="One line or a script for bash -c.")
    cwd: str | None = Field(default=None, description="A folder of the project to run in; the project folder itself.")
    timeout_ms: int = Field(
        default=DEFAULT_TIMEOUT_MS,
        ge=1,
        le=TIMEOUT_LIMIT_MS,
        description="How long to wait for its end, in milliseconds.",
    )
    wait: bool = Field(default=True, description="false: answer at once and let it run in the background.")


class WaitProcess(Input):
    """Which process, and how long."""

    process_id: str = Field(description="As run_command gave it.")
    timeout_ms: int = Field(
        default=DEFAULT_TIMEOUT_MS, ge=0, le=TIMEOUT_LIMIT_MS, description="How long to wait; 0 only looks."
    )


class KillProcess(Input):
    """Which process."""

    process_id: str = Field(description="As run_command gave it.")


def build(name: Literal["run_command", "wait_process", "kill_process"], bench: Workbench) -> Tool:
    """One of the three tools."""
    commands = Commands(bench)
    match name:
        case "run_command":
            schema = arguments.described(RUN, _RUN_DESCRIPTION, RunCommand)
            return Tool(schema=schema, act=arguments.acting(RunCommand, commands.run), changes=True)
        case "wait_process":
            schema = arguments.described(WAIT, _WAIT_DESCRIPTION, WaitProcess)
            return Tool(schema=schema, act=arguments.acting(WaitProcess, commands.wait))
        case "kill_process":
            schema = arguments.described(KILL, _KILL_DESCRIPTION, KillProcess)
            return Tool(schema=schema, act=arguments.acting(KillProcess, commands.kill), changes=True)


class Commands:
    """The acts of the three tools over one workbench."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    async def run(self, site: CallSite, args: RunCommand) -> Acted:
        """Start a command; wait for it unless asked not to."""
        process_id = await self._start(site, args)
        timeout_s = args.timeout_ms / 1000 if args.wait else 0.0
        view = await self._bench.processes.wait(process_id, owner=site.activation_id, timeout_s=timeout_s)
        return _acted(view)

    async def wait(self, site: CallSite, args: WaitProcess) -> Acted:
        """How a process stands after at most the timeout."""
        timeout_s = args.timeout_ms / 1000
        view = await self._bench.processes.wait(args.process_id, owner=site.activation_id, timeout_s=timeout_s)
        return _acted(view)

    async def kill(self, site: CallSite, args: KillProcess) -> Acted:
        """End a process."""
        return _acted(await self._bench.processes.kill(args.process_id, owner=site.activation_id))

    async def _start(self, site: CallSite, args: RunCommand) -> str:
        bench = self._bench
        cwd = _cwd(args.cwd, card_id=site.card_id)
        process_id = processes.new_id()
        written: list[Birth] = []

        async def stored(_process_id: str, birth: Birth) -> None:
            faults.point("process.spawned")
            started = process_rows.Started(
                id=process_id,
                scope=bench.scope,
                project_id=site.project_id,
                card_id=site.card_id,
                activation_id=site.activation_id,
                command=args.command,
                cwd=cwd,
                birth=birth,
            )
            await bench.effects.settle(bench.scope, lambda tx: process_rows.add(tx, started))
            written.append(birth)

        async def told(_process_id: str, ended: Ended) -> None:
            faults.point("process.ended")
            await self._settle_end(site, process_id, ended)

        try:
            return await bench.processes.start(
                Command(
                    folder=bench.folder.root,
                    argv=("bash", "-c", args.command),
                    cwd=cwd,
                    network=bench.spec.network.value,
                    environment={"WORKSTEAD_PROCESS_ID": process_id, "WORKSTEAD_CARD": site.card_id},
                ),
                owner=site.activation_id,
                card=site.card_id,
                stored=stored,
                told=told,
                group=bench.group,
                process_id=process_id,
            )
        except BaseException:
            # Interrupted between its row and its run: nobody will tell its end but us.
            if written:
                with anyio.CancelScope(shield=True):
                    await self._settle_end(site, process_id, Ended(ending=Ending(kind="killed")))
            raise

    async def _settle_end(self, site: CallSite, process_id: str, ended: Ended) -> None:
        scope = self._bench.scope
        await self._bench.effects.settle(
            scope,
            lambda tx: process_rows.end(tx, scope=scope, card_id=site.card_id, process_id=process_id, ended=ended),
        )


def view_data(view: ProcessView) -> dict[str, Json]:
    """The result of all three tools; its fields are fixed."""
    return {
        "process_id": view.process_id,
        "exit_code": view.exit_code,
        "status": view.status,
        "stdout": _head(view.stdout),
        "stderr": _head(view.stderr),
        "stdout_complete": view.stdout.whole,
        "stderr_complete": view.stderr.whole,
        "stdout_url": _url(view.stdout),
        "stderr_url": _url(view.stderr),
        "stdout_bytes": view.stdout.size_bytes,
        "stderr_bytes": view.stderr.size_bytes,
    }


def _acted(view: ProcessView) -> Acted:
    data: Mapping[str, Json] = view_data(view)
    return Acted(result=ToolResult(success=True, data=dict(data)))


def _head(output: Output) -> str:
    # A result is stored as JSON text, which no database takes with NUL.
    return output.head.replace("\0", "\ufffd")


def _url(output: Output) -> str:
    return "work:///" + output.path.removeprefix(f"{folders.WORK}/")


def _cwd(given: str | None, *, card_id: str) -> str:
    found = addresses.read_file(given or "", card_id=card_id)
    if found.place is not Place.PROJECT:
        raise errors.invalid("cwd_invalid", "Run in a folder of the project: a relative path or project:///.")
    return found.path
