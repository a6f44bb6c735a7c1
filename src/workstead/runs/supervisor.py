"""The supervisor: settles at start what a dead server left, then works on every run that a person wants."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio

from workstead import errors
from workstead.accounts import grants, projects
from workstead.accounts.projects import Project
from workstead.agents.models.shape import Transport
from workstead.agents.partials import Partials
from workstead.kernel import scopes
from workstead.kernel.effects import Effects
from workstead.kernel.feed import Wakes
from workstead.kernel.operations import Operations
from workstead.kernel.redaction import Redactor
from workstead.kernel.transaction import Tx
from workstead.logger import get_logger
from workstead.runs import project_run, recovery, runs, uncommitted
from workstead.runs.project_run import ProjectRun
from workstead.runs.runs import Ending, Run
from workstead.runs.surroundings import Gate, Surroundings
from workstead.work import configurations
from workstead.work.workflow.graph import Configuration, Provider, Route
from workstead.workspace import folders
from workstead.workspace.files import Folder
from workstead.workspace.launcher import Launcher
from workstead.workspace.processes import Processes

_log = get_logger()
_POLL_S = 2.0

TransportOf = Callable[[Route, Mapping[str, Provider], Path], Transport]


@dataclass(frozen=True, kw_only=True)
class Supervisor:
    """Works on runs. owner: this start of the server, in leases. transport_of: builds the way a route is asked."""

    effects: Effects
    operations: Operations
    wakes: Wakes
    launcher: Launcher
    redactor: Redactor
    partials: Partials
    transport_of: TransportOf

    @property
    def owner(self) -> str:
        """The name under which this server holds leases."""
        return self.effects.boot_id

    async def recover(self) -> None:
        """Settle what an earlier server left behind; called before anything is served. Starts nothing."""
        found = await self.effects.read(_with_projects)
        for project, run in found:
            # The instance's lock says that no other server lives, so nobody has to wait until its lease runs out.
            await self.effects.settle(project.scope, project_run.take_over(project, owner=self.owner))
            recovered = (
                await recovery.interrupted_run(self.effects, project, run)
                if run is not None
                else await recovery.settle(self.effects, project, run=None)
            )
            if recovered.cards or recovered.processes:
                _log.info("recovered", project=project.slug, cards=len(recovered.cards), processes=recovered.processes)

    async def serve(self) -> None:
        """Start every wanted run as its own task, until cancelled."""
        working: set[str] = set()
        async with anyio.create_task_group() as group:
            while True:
                event = self.wakes.event(scopes.INSTANCE)
                for project, run in await self.effects.read(_live_runs):
                    if run.id not in working:
                        working.add(run.id)
                        group.start_soon(self._work, project, run, working)
                with anyio.move_on_after(_POLL_S):
                    await event.wait()

    async def _work(self, project: Project, run: Run, working: set[str]) -> None:
        """One run; what goes wrong here ends this run and nothing else.

        A run that cannot even be ended stays among the `working`: the next start settles it, this one leaves it alone.
        """
        try:
            claimed = await self.effects.settle(project.scope, project_run.claim(run, owner=self.owner))
            if claimed is not None:
                held, lease = claimed
                await self._run(project, held, lease_of=lambda around: ProjectRun(around, lease, wakes=self.wakes))
        except Exception:  # noqa: BLE001 - the job runner: other projects' runs go on
            _log.exception("run could not be worked on", run=run.id)
            if not await self._contained(project, run):
                return
        working.discard(run.id)

    async def _run(self, project: Project, run: Run, *, lease_of: Callable[[Surroundings], ProjectRun]) -> None:
        try:
            configuration = await self.effects.read(lambda tx: configurations.load(tx, run.configuration))
            root = Path(project.folder)
            folders.prepare(root)
            await self.launcher.probe(root)
            notice = await uncommitted.notice(self.launcher, root)
            if notice is not None:
                await self.effects.settle(project.scope, lambda tx: runs.note(tx, run, notice))
        except errors.Refusal as refusal:
            await self._give_up(project, run, refusal.message)
            return
        with Folder(root) as folder:
            around = self._surroundings(project, run, configuration=configuration, folder=folder)
            await lease_of(around).run()

    def _surroundings(
        self, project: Project, run: Run, *, configuration: Configuration, folder: Folder
    ) -> Surroundings:
        transports: dict[str, Transport] = {}
        return Surroundings(
            run=run,
            project=project,
            configuration=configuration,
            effects=self.effects,
            operations=self.operations,
            folder=folder,
            processes=Processes(self.launcher, clean=lambda text: self.redactor.exact(text).text),
            redactor=self.redactor,
            partials=self.partials,
            gate=Gate(),
            transport_of=lambda route: self._transport(transports, configuration.providers, route, folder.root),
        )

    def _transport(
        self, made: dict[str, Transport], providers: Mapping[str, Provider], route: Route, folder: Path
    ) -> Transport:
        if route.name not in made:
            made[route.name] = self.transport_of(route, providers, folder)
        return made[route.name]

    async def _contained(self, project: Project, run: Run) -> bool:
        """Settle and end a run that broke; False when even that is refused, as by a full disk."""
        try:
            await recovery.settle(self.effects, project, run=run)
            await self._give_up(project, run, f"The run failed inside the server (id {run.id}).")
        except Exception:  # noqa: BLE001 - the job runner: other projects' runs go on
            _log.exception("run could not be ended", run=run.id)
            return False
        return True

    async def _give_up(self, project: Project, run: Run, reason: str) -> None:
        """End a run that cannot be worked on; its cards are put right by the next one."""

        def job(tx: Tx) -> None:
            grants.end_run(tx, run.id)
            runs.end(tx, run, Ending.FAILED, reason=reason)

        await self.effects.settle(project.scope, job)


def _with_projects(tx: Tx) -> tuple[tuple[Project, Run | None], ...]:
    return tuple((project, runs.live(tx, project.id)) for project in projects.all_of_them(tx))


def _live_runs(tx: Tx) -> tuple[tuple[Project, Run], ...]:
    found = ((projects.find(tx, run.project_id), run) for run in runs.all_live(tx))
    return tuple((project, run) for project, run in found if project is not None)
