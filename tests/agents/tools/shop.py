"""A workbench for tests: an agent at work on the root card of a real project, with its tools and a launcher."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import anyio

from support import instance
from work import office
from workstead import errors
from workstead.accounts import grants
from workstead.accounts.grants import Grant
from workstead.agents.tools import catalog
from workstead.agents.tools.tool import Acted, CallSite, Tool, ToolResult
from workstead.agents.tools.workbench import Activation, Workbench
from workstead.kernel import canonical
from workstead.kernel.access import AgentProof
from workstead.kernel.redaction import Redactor
from workstead.kernel.transaction import Tx
from workstead.work.workflow.graph import AgentSpec, Network, Session
from workstead.workspace import folders
from workstead.workspace.files import Folder
from workstead.workspace.launcher import Launcher
from workstead.workspace.processes import Processes
from workstead.workspace.spec import Level

SECRET = "correct-horse-battery"
CARD = "project"


@dataclass(kw_only=True)
class Shop:
    """An agent's tools over a real folder. settled: results that were written together with a change."""

    office: office.Office
    bench: Workbench
    tools: Mapping[str, Tool]
    site: CallSite
    settled: list[ToolResult]
    activated: list[Activation]
    calls: int = 0

    @property
    def folder(self) -> Path:
        """The project's folder."""
        return self.office.folder

    async def act(self, tool: str, /, **given: object) -> Acted:
        """One call, as the turn loop makes it."""
        self.calls += 1
        return await self.tools[tool].act(replace(self.site, call_id=f"input-1:{self.calls}"), given)

    async def call(self, tool: str, /, **given: object) -> dict[str, Any]:
        """The data of a call that succeeds; its whole result is within the limit of every result."""
        acted = await self.act(tool, **given)
        assert acted.result.success, acted.result
        assert len(canonical.dump(acted.result.body())) <= 32_768
        return cast("dict[str, Any]", acted.result.data)

    async def refused(self, tool: str, /, **given: object) -> str:
        """The code of a call that is refused."""
        try:
            acted = await self.act(tool, **given)
        except errors.Refusal as refusal:
            return refusal.code
        raise AssertionError(f"{tool} was not refused: {acted.result}")


def spec(*, tools: tuple[str, ...] = tuple(catalog.BUILDERS), network: Network = Network.NONE) -> AgentSpec:
    """The agent `lead` of the small configuration, with these tools."""
    return AgentSpec(
        name="lead",
        session=Session.CARD,
        prompt=None,
        tools=tools,
        model_route="think",
        skills=False,
        can_create_children=True,
        record_writes=("status.md",),
        network=network,
    )


@asynccontextmanager
async def opened(tmp_path: Path, *, agent: AgentSpec | None = None) -> AsyncIterator[Shop]:
    """An office with an agent at work on its root card; what it started ends with it."""
    chosen = agent or spec()
    async with office.open_office(tmp_path) as place:
        folders.prepare(place.folder)
        with instance.transaction(place.founded.path) as tx:
            project_id = place.project_id_in(tx)
        activation_id = "activation-1"
        settled: list[ToolResult] = []
        activated: list[Activation] = []

        def settle(_tx: Tx, result: ToolResult) -> None:
            settled.append(result)

        async def activate(_site: CallSite, wanted: Activation) -> Acted:
            activated.append(wanted)
            return Acted(result=ToolResult(success=True, data={"outcome": "done"}))

        redactor = Redactor([SECRET])
        launcher = Launcher(
            floor=Level.NONE, closed_ports=(), data_folder=tmp_path / "data", work=place.instance.effects.work
        )
        with Folder(place.folder) as folder:
            async with anyio.create_task_group() as group:
                bench = Workbench(
                    spec=chosen,
                    project_id=project_id,
                    card_id=CARD,
                    folder=folder,
                    processes=Processes(launcher, clean=lambda text: redactor.exact(text).text),
                    operations=place.instance.operations,
                    effects=place.instance.effects,
                    redactor=redactor,
                    activate=activate,
                    group=group,
                )
                yield Shop(
                    office=place,
                    bench=bench,
                    tools=catalog.build(bench),
                    site=CallSite(
                        proof=granted(place, chosen, activation_id=activation_id),
                        project_id=bench.project_id,
                        card_id=CARD,
                        activation_id=activation_id,
                        call_id="input-1:0",
                        settle=settle,
                    ),
                    settled=settled,
                    activated=activated,
                )
                group.cancel_scope.cancel()


def granted(place: office.Office, agent: AgentSpec, *, activation_id: str) -> AgentProof:
    """A grant that lists what the agent's tools need."""
    with instance.transaction(place.founded.path) as tx:
        grant = Grant(
            id=tx.new_id(),
            project_id=place.project_id_in(tx),
            run_id="run-1",
            activation_id=activation_id,
            card_id=CARD,
            agent=agent.name,
            person_id=place.founded.operator.person.id,
            operations=catalog.operations(agent),
        )
        grants.add(tx, grant)
    return AgentProof(grant_id=grant.id)
