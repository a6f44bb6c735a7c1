"""An office for tests: an instance with the operations of work, a real folder and a project made through them."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from support import instance
from support.instance import Founded, Instance, Member
from work import folder
from workstead.accounts import grants, people, projects
from workstead.accounts.grants import Grant
from workstead.accounts.projects import Project
from workstead.accounts.roles import Role
from workstead.accounts.tables import share
from workstead.kernel.access import AgentProof, Caller, Proof
from workstead.kernel.operations import Door
from workstead.kernel.store import prepared
from workstead.kernel.transaction import Tx
from workstead.work import cards, configurations, notifications
from workstead.work.operations import operations
from workstead.work.workflow.graph import Configuration
from workstead.work.workflow.lifecycle import Status

AGENTS_OPERATIONS = frozenset(
    {
        "create_card",
        "edit_card",
        "reopen_card",
        "cancel_card",
        "delete_card",
        "reorder_child",
        "write_record",
        "edit_record",
        "get_card",
    }
)


def configuration_of(tx: Tx, caller: Caller, project: Project) -> Configuration:
    """What is trusted, for everybody: no run pins anything here."""
    return configurations.load_trusted(tx, project)


@dataclass(frozen=True, kw_only=True)
class Office:
    """An open instance with one project. run: one operation as the operator, through the REST door."""

    founded: Founded
    instance: Instance
    project: str
    folder: Path

    async def run(self, name: str, /, *, proof: Proof | None = None, door: Door = Door.REST, **fields: object) -> Any:
        """Run an operation in the project."""
        raw = {"project": self.project} | fields
        return await self.instance.operations.run(proof or self.founded.operator.proof, name, raw, door=door)

    async def card(self, title: str = "A task", *, parent: str = "project", **fields: Any) -> str:
        """Make a card and return its id."""
        made = await self.run(
            "create_card", parent=parent, type="task", title=title, bootstrap_content="Do it.", **fields
        )
        return cast("str", made.card_id)

    def agent(self, card_id: str, *, name: str = "lead") -> AgentProof:
        """A grant of an agent on a card."""
        with instance.transaction(self.founded.path) as tx:
            grant = Grant(
                id=tx.new_id(),
                project_id=self.project_id_in(tx),
                run_id="run-1",
                activation_id=tx.new_id(),
                card_id=card_id,
                agent=name,
                person_id=self.founded.operator.person.id,
                operations=AGENTS_OPERATIONS,
            )
            grants.add(tx, grant)
        return AgentProof(grant_id=grant.id)

    def walk(self, card_id: str, *statuses: Status) -> None:
        """Take a card through statuses as a run would."""
        with instance.transaction(self.founded.path) as tx:
            for status in statuses:
                card = cards.read(tx, self.project_id_in(tx), card_id)
                assert card is not None
                if status in {Status.DONE, Status.FAILED, Status.BLOCKED}:
                    # As a run does: what waits is cleared with the end.
                    card = notifications.remove(tx, card, notifications.pending(tx, card.project_id, card.id))
                    cards.settle(tx, card, status, RESULT)
                else:
                    cards.set_status(tx, card, status)

    def project_id_in(self, tx: Tx) -> str:
        """The project's id, in a transaction that is open already."""
        found = projects.find(tx, self.project)
        assert found is not None
        return found.id


_SHARE = prepared(share.insert())

RESULT = cards.Result(executor="agent:lead", node="do", outcome="done", summary="It is done.")


def write_folder(path: Path, *, source: str = folder.YAML, prompts: Mapping[str, str] = folder.PROMPTS) -> Path:
    """A folder with a configuration of its own."""
    path.mkdir(exist_ok=True)
    own = path / ".workstead"
    for name, text in ({"workstead.yaml": source} | dict(prompts)).items():
        target = own / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return path


@contextmanager
def opened(tmp_path: Path, *, resting: bool = True) -> Iterator[tuple[Founded, Instance]]:
    """The instance alone; `garden` is the kernel's own test project and has no cards."""
    data = tmp_path / "data"
    data.mkdir()
    found = instance.founded(data / "workstead.sqlite3")
    table = operations(configuration_of=configuration_of, data_folder=data, resting=lambda tx, project: resting)
    with instance.opened(found.path, operations=table) as running:
        yield found, running


@asynccontextmanager
async def open_office(tmp_path: Path, *, resting: bool = True) -> AsyncIterator[Office]:
    """An instance with a project `shed` whose folder holds the small configuration, unless a test put another there."""
    place = tmp_path / "shed"
    if not place.exists():
        write_folder(place)
    with opened(tmp_path, resting=resting) as (found, running):
        raw = {"folder": str(place), "name": "Shed", "title": "Build a shed", "objective": "A shed that stands."}
        await running.operations.run(found.operator.proof, "create_project", raw, door=Door.CLI)
        yield Office(founded=found, instance=running, project="shed", folder=place)


def joined(office: Office, *, name: str, role: Role | None = None) -> Member:
    """A signed-in person, with a role in the project when one is named."""
    member = instance.joined(office.founded, name=name)
    if role is not None:
        with instance.transaction(office.founded.path) as tx:
            tx.run(_SHARE, project_id=office.project_id_in(tx), person_id=member.person.id, role=role.value, at=tx.at)
    return member


def reopen(path: Path, *, secret: str, stack: ExitStack) -> Office:
    """The office over a copy of a database that was made before; closed with the stack. Inside a loop only."""
    with instance.transaction(path) as tx:
        project = projects.find(tx, "shed")
        operator = people.operator(tx)
    assert project is not None
    assert operator is not None
    founded = Founded(path=path, operator=Member(person=operator, secret=secret), project=project)
    table = operations(configuration_of=configuration_of, data_folder=path.parent)
    running = stack.enter_context(instance.opened(path, operations=table))
    return Office(founded=founded, instance=running, project="shed", folder=Path(project.folder))


def projects_of(tx: Tx) -> Project:
    """The office's project."""
    found = projects.find(tx, "shed")
    assert found is not None
    return found


def rows_of(tx: Tx, project_id: str) -> tuple[cards.CardRow, ...]:
    """Every living card."""
    return cards.rows(tx, project_id)
