"""A workplace for tests: the program as it is composed, a project in a real folder, a model that says its lines.

The supervisor runs as in the server; only the model's answers come from the test, or from a practice script.
"""

import os
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
from structlog.testing import capture_logs

from support import database as databases
from work import folder as small
from work.office import write_folder
from workstead import app, settings
from workstead.accounts import first_start, projects
from workstead.accounts.projects import Project
from workstead.agents import conversations
from workstead.agents.conversations import Row, RowKind
from workstead.agents.models.shape import Answer, Call, Finish, NoTurn, Request, Transport
from workstead.app import App
from workstead.kernel import canonical, scopes
from workstead.kernel.access import ControlProof
from workstead.kernel.operations import Door
from workstead.kernel.transaction import Tx
from workstead.runs import runs
from workstead.runs.operations import RunView
from workstead.runs.runs import Run, State
from workstead.runs.supervisor import Supervisor
from workstead.work import cards, notifications, records
from workstead.work.cards import Card
from workstead.work.records import Record
from workstead.work.workflow.graph import Provider, Route
from workstead.work.workflow.lifecycle import Status

WAIT_S = 5.0
SOURCE = small.changed(
    "tools: [create_card, activate_card, read, write]",
    "tools: [create_card, activate_card, read, write, run_command, get_card]",
)

Said = str | list[Call] | Answer | Exception
Line = Said | Callable[[Request], Said] | Callable[[Request], Awaitable[Said]]
Lines = dict[str, list[Line]]


def call(name: str, /, **arguments: object) -> Call:
    """A tool call as a model writes one."""
    return Call(id="", name=name, arguments=canonical.text(cast("Any", arguments)))


def write(record: str, text: str) -> Call:
    """Write a record of the own card."""
    return call("write", path=f"record:///{record}", content=text)


def result(outcome: str, summary: str = "It is done.") -> Call:
    """End the node."""
    return call("emit_result", outcome=outcome, summary=summary)


def activate(title: str, instructions: str = "Do it now.") -> Callable[[Request], list[Call]]:
    """Run the child with this title."""

    def say(request: Request) -> list[Call]:
        return [call("activate_card", card_id=request.situation.children[title].card_id, instructions=instructions)]

    return say


def operator() -> ControlProof:
    """The proof of whoever runs the server."""
    return ControlProof(uid=os.geteuid())


class Voice:
    """A transport that speaks the test's lines: by `node`, or `card title/node`, each once; then it has no turn."""

    def __init__(self, lines: Lines) -> None:
        self._lines = {key: deque(each) for key, each in lines.items()}
        self.asked: list[Request] = []

    def add(self, key: str, *lines: Line) -> None:
        """More lines for a node."""
        self._lines.setdefault(key, deque()).extend(lines)

    async def complete(self, request: Request) -> Answer:
        """The next line for where the work stands."""
        self.asked.append(request)
        where = request.situation
        for key in (f"{where.card_title}/{where.node}", where.node):
            if self._lines.get(key):
                return await self._speak(request, self._lines[key].popleft())
        raise NoTurn(f"no line for {where.card_title}/{where.node}")

    async def _speak(self, request: Request, line: Line) -> Answer:
        said = line(request) if callable(line) else line
        if isinstance(said, Awaitable):
            said = await said
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Answer):
            return said
        if isinstance(said, str):
            return Answer(text=said)
        number = len(self.asked)
        calls = tuple(replace(one, id=f"call-{number}-{index}") for index, one in enumerate(said))
        return Answer(text="", calls=calls, finish=Finish.CALLS)


@dataclass(kw_only=True)
class Workplace:
    """A running server with one project. voice: what the model says, unless the folder has a practice script."""

    app: App
    supervisor: Supervisor
    folder: Path
    project: str
    voice: Voice
    serving: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    served: anyio.Event = field(default_factory=anyio.Event)

    @property
    def database(self) -> Path:
        """The database's file."""
        return self.app.settings.data_folder / "workstead.sqlite3"

    @property
    def scope(self) -> str:
        """The project's lock scope."""
        return scopes.project(self.project_id)

    @property
    def project_id(self) -> str:
        """The project's id."""
        found = self.look(lambda tx: projects.find(tx, self.project))
        assert isinstance(found, Project)
        return found.id

    async def ask(self, name: str, /, **fields: object) -> Any:
        """One operation as the operator."""
        return await self.app.operations.run(operator(), name, {"project": self.project} | fields, door=Door.CLI)

    async def start(self) -> RunView:
        """Press Run."""
        return cast("RunView", await self.ask("start_run"))

    async def stop(self) -> RunView:
        """Press Stop and wait for the end."""
        await self.ask("stop_run")
        return await self.ended()

    async def run(self) -> RunView:
        """Run to the end."""
        await self.start()
        return await self.ended()

    async def ended(self) -> RunView:
        """The newest run once it has ended."""
        await self.until(lambda: self.newest.state is State.ENDED)
        return cast("RunView", await self.ask("get_run"))

    async def state(self, *states: State) -> None:
        """Wait until the newest run is in one of these states."""
        await self.until(lambda: self.newest.state in states)

    async def until(self, holds: Callable[[], bool], *, within_s: float = WAIT_S) -> None:
        """Wait until something written in the database or the folder is so; bounded."""
        with anyio.fail_after(within_s):
            while not holds():
                event = self.app.wakes.event(self.scope)
                with anyio.move_on_after(0.02):
                    await event.wait()

    @property
    def newest(self) -> Run:
        """The newest run's row."""
        project_id = self.project_id
        return cast("Run", self.look(lambda tx: runs.newest(tx, project_id, limit=1))[0])

    def look(self, job: Callable[[Tx], Any]) -> Any:
        """Read the database."""
        return self.app.effects.glance(job)

    async def change(self, job: Callable[[Tx], Any]) -> Any:
        """Write as the kernel does, beside the product's path."""
        return await self.app.effects.settle(self.scope, job)

    def card(self, card_id: str = "project") -> Card:
        """A card as it is now."""
        found = self.look(lambda tx: cards.read(tx, self.project_id, card_id))
        assert isinstance(found, Card)
        return found

    def record(self, name: str, card_id: str = "project") -> Record | None:
        """A record as it is now."""
        return cast("Record | None", self.look(lambda tx: records.read(tx, self.project_id, card_id, name)))

    def accepted(self, name: str, card_id: str = "project") -> str | None:
        """The newest accepted text of a record."""

        def job(tx: Tx) -> str | None:
            one = records.read(tx, self.project_id, card_id, name)
            return records.content(tx, one, one.accepted) if one is not None and one.accepted else None

        return cast("str | None", self.look(job))

    def statuses(self) -> dict[str, Status]:
        """Every card's status."""
        rows = self.look(lambda tx: cards.rows(tx, self.project_id))
        return {row.id: row.status for row in rows}

    async def notify(self, text: str, card_id: str = "project") -> None:
        """Let a notice wait on a card."""

        def job(tx: Tx) -> None:
            card = cards.read(tx, self.project_id, card_id)
            assert card is not None
            notifications.enqueue(tx, card, content=text, source="test")

        await self.change(job)

    async def add_card(self, title: str, *, parent: str = "project", **fields: object) -> str:
        """A task card made by the operator."""
        made = await self.ask("create_card", parent=parent, type="task", title=title, bootstrap_content="Do.", **fields)
        return cast("str", made.card_id)

    def rows(self, agent: str, card_id: str = "project") -> tuple[Row, ...]:
        """An agent's conversation on a card."""
        identity = conversations.identity(self.project_id, agent=agent, card_id=card_id)
        return cast("tuple[Row, ...]", self.look(lambda tx: conversations.rows_after(tx, identity)))

    def results(self, agent: str, card_id: str = "project") -> list[dict[str, Any]]:
        """The results of an agent's calls, in order."""
        return [
            cast("dict[str, dict[str, Any]]", row.content)["result"]
            for row in self.rows(agent, card_id)
            if row.kind is RowKind.TOOL_RESULT
        ]

    def texts(self, agent: str, *kinds: RowKind, card_id: str = "project") -> list[str]:
        """The texts of rows of some kinds."""
        return [cast("dict[str, str]", row.content)["text"] for row in self.rows(agent, card_id) if row.kind in kinds]

    def called(self, agent: str, card_id: str = "project") -> list[str]:
        """The tools an agent has called, in order."""
        return [row.tool or "" for row in self.rows(agent, card_id) if row.kind is RowKind.TOOL_CALL]

    def sql(self, query: str) -> list[str]:
        """The first column of what the database answers."""
        return [str(row[0]) for row in databases.rows(self.database, query)]

    async def shut_down(self) -> None:
        """End the serving task as a server that goes down does."""
        self.serving.cancel()
        with anyio.fail_after(WAIT_S):
            await self.served.wait()


@asynccontextmanager
async def opened(
    tmp_path: Path,
    *,
    lines: Lines | None = None,
    script: str | None = None,
    source: str = SOURCE,
    serve: bool = True,
    trusted: bool = True,
) -> AsyncIterator[Workplace]:
    """A fresh instance with a project `shed`. script: a practice script that is played instead of the lines."""
    place = write_folder(tmp_path / "shed", source=source)
    if script is not None:
        (place / "practice.yaml").write_text(script, encoding="utf-8")
    (tmp_path / "data").mkdir(mode=0o700)
    voice = Voice(lines or {})
    async with reopened(tmp_path / "data", place, voice=None if script is not None else voice, serve=False) as found:
        await found.app.effects.settle(scopes.INSTANCE, partial(first_start.seed, operator_name="ada"))
        raw = {"folder": str(place), "name": "Shed", "title": "Build a shed", "objective": "A shed that stands."}
        made = await found.app.operations.run(operator(), "create_project", raw, door=Door.CLI)
        if trusted and not made.trusted:
            await found.ask("trust_configuration", digest=made.digest)
        async with serving(found) if serve else _as_it_is(found):
            yield found


@asynccontextmanager
async def reopened(data: Path, place: Path, *, voice: Voice | None, serve: bool = True) -> AsyncIterator[Workplace]:
    """The program over a data folder that is there already, as a server that starts again."""
    environ = {"WORKSTEAD_DATA": str(data), "WORKSTEAD_PORT": "0", "WORKSTEAD_DURABILITY": "normal"}
    built = app.build(settings.load(environ | databases.environ(data / "workstead.sqlite3")))
    supervisor = built.supervisor if voice is None else with_voice(built.supervisor, voice)
    found = Workplace(app=built, supervisor=supervisor, folder=place, project="shed", voice=voice or Voice({}))
    try:
        # Traces are told to the log; printing them takes longer than what is tested.
        with capture_logs():
            if serve:
                await supervisor.recover()
                async with serving(found):
                    yield found
            else:
                yield found
    finally:
        built.close()


@asynccontextmanager
async def serving(found: Workplace) -> AsyncIterator[Workplace]:
    """The supervisor at work, until the block ends."""
    found.serving = anyio.CancelScope()
    found.served = anyio.Event()

    async def serve() -> None:
        try:
            with found.serving:
                await found.supervisor.serve()
        finally:
            found.served.set()

    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        yield found
        group.cancel_scope.cancel()


def with_voice(supervisor: Supervisor, voice: Voice) -> Supervisor:
    """The supervisor whose every model is this voice."""
    return replace(supervisor, transport_of=partial(_always, voice))


def crash_image(found: Workplace, data: Path) -> Path:
    """What the disk holds at this moment, as a data folder of its own: what a kill would leave."""
    data.mkdir(mode=0o700)
    databases.image(found.database, data / "workstead.sqlite3")
    return data


@asynccontextmanager
async def _as_it_is(found: Workplace) -> AsyncIterator[Workplace]:
    yield found


def _always(voice: Voice, _route: Route, _providers: Mapping[str, Provider], _folder: Path) -> Transport:
    return voice
