"""Builders: a real instance on a database file, as small as a test needs it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support import database
from workstead.accounts import authority, credentials, people, projects
from workstead.accounts.credentials import CredentialKind
from workstead.accounts.people import PersonRow
from workstead.accounts.projects import Project
from workstead.accounts.roles import Role
from workstead.accounts.tables import share
from workstead.clock import Clock, SystemClock
from workstead.kernel import scopes
from workstead.kernel.access import SecretProof
from workstead.kernel.effects import Effects
from workstead.kernel.feed import Wakes
from workstead.kernel.operations import AnyOperation, Operations
from workstead.kernel.store import Durability, Store, prepared
from workstead.kernel.transaction import Tx

_SHARE = prepared(share.insert())


@dataclass(frozen=True, kw_only=True)
class Member:
    """A person with a credential that holds."""

    person: PersonRow
    secret: str

    @property
    def proof(self) -> SecretProof:
        """What a door would hold."""
        return SecretProof(digest=credentials.digest(self.secret))


@dataclass(frozen=True, kw_only=True)
class Founded:
    """The people and the project of a fresh instance."""

    path: Path
    operator: Member
    project: Project


@dataclass(frozen=True, kw_only=True)
class Instance:
    """The kernel over an open store."""

    path: Path
    clock: Clock
    store: Store
    wakes: Wakes
    operations: Operations
    effects: Effects


@contextmanager
def transaction(path: Path, *, clock: Clock | None = None) -> Iterator[Tx]:
    """One write transaction on a connection of its own; for building and for looking, beside the product's path."""
    with database.transaction(path) as connection:
        yield Tx(connection, clock=clock or SystemClock())


def founded(path: Path, *, slug: str = "garden", clock: Clock | None = None) -> Founded:
    """Make the database with the instance's scope, an operator who is signed in, and a project."""
    database.make(path)
    with transaction(path, clock=clock) as tx:
        scopes.create(tx, scopes.INSTANCE)
        operator = _member(tx, name="Ada", operator=True)
        project = projects.add(tx, name=slug.title(), slug=slug, folder=f"/{slug}", owner_id=operator.person.id)
    return Founded(path=path, operator=operator, project=project)


def second_project(found: Founded, *, slug: str) -> Project:
    """Another project of the operator."""
    with transaction(found.path) as tx:
        return projects.add(tx, name=slug.title(), slug=slug, folder=f"/{slug}", owner_id=found.operator.person.id)


def joined(found: Founded, *, name: str, role: Role | None = None, clock: Clock | None = None) -> Member:
    """Add an ordinary person who is signed in, with a role in the project when one is named."""
    with transaction(found.path, clock=clock) as tx:
        member = _member(tx, name=name, operator=False)
        if role is not None:
            tx.run(_SHARE, project_id=found.project.id, person_id=member.person.id, role=role.value, at=tx.at)
    return member


@contextmanager
def opened(
    path: Path,
    *,
    operations: Iterable[AnyOperation] = (),
    clock: Clock | None = None,
    boot_id: str = "boot-1",
    durability: Durability = Durability.NORMAL,
) -> Iterator[Instance]:
    """The kernel over a prepared database; inside a running loop only. Closed at the end."""
    tells = clock or SystemClock()
    store = Store(database.of(path, durability=durability))
    wakes = Wakes()
    try:
        yield Instance(
            path=path,
            clock=tells,
            store=store,
            wakes=wakes,
            operations=Operations(operations, store=store, authority=authority.read, wakes=wakes, clock=tells),
            effects=Effects(store=store, authority=authority.read, wakes=wakes, clock=tells, boot_id=boot_id),
        )
    finally:
        store.close()


def _member(tx: Tx, *, name: str, operator: bool) -> Member:
    person = people.add(tx, name=name, operator=operator)
    return Member(person=person, secret=credentials.issue(tx, kind=CredentialKind.SIGN_IN, person_id=person.id))
