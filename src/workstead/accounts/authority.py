"""Authority: what a proof turns out to be, read live inside every transaction (K06). The kernel is handed this one."""

from workstead import errors
from workstead.accounts import credentials, grants, people, projects, roles
from workstead.accounts.credentials import CredentialKind
from workstead.kernel.access import (
    Agent,
    AgentProof,
    Anonymous,
    AnonymousProof,
    Caller,
    ControlProof,
    Permission,
    Person,
    Proof,
    SecretProof,
    System,
    SystemProof,
)
from workstead.kernel.transaction import Tx

_PROJECT_PREFIX = "project:"


def read(tx: Tx, proof: Proof, scope: str | None) -> Caller:
    """The caller behind a proof, with the permissions it has in the scope now.

    Raises `unauthenticated` for a proof that does not hold (any more).
    """
    match proof:
        case SystemProof(part=part):
            return System(part=part)
        case AnonymousProof():
            return Anonymous()
        case ControlProof():
            return _person(tx, people.operator(tx), scope)
        case SecretProof(digest=digest):
            return _signed_in(tx, digest, scope)
        case AgentProof(grant_id=grant_id):
            return _agent(tx, grant_id, scope)


def _signed_in(tx: Tx, digest: str, scope: str | None) -> Person:
    found = credentials.read(tx, digest)
    if found is None or found.kind is not CredentialKind.SIGN_IN or not found.holds(tx.at):
        raise errors.unauthenticated()
    return _person(tx, people.read(tx, found.person_id), scope)


def _person(tx: Tx, found: people.PersonRow | None, scope: str | None) -> Person:
    if found is None or found.suspended_at is not None:
        raise errors.unauthenticated()
    return Person(id=found.id, name=found.name, operator=found.operator, permissions=_permissions(tx, found, scope))


def _permissions(tx: Tx, found: people.PersonRow, scope: str | None) -> frozenset[Permission]:
    if found.operator:
        return roles.OPERATOR
    if scope is None or not scope.startswith(_PROJECT_PREFIX):
        return roles.EVERYBODY
    project = projects.find(tx, scope.removeprefix(_PROJECT_PREFIX))
    role = projects.role(tx, project, found.id) if project is not None else None
    return roles.EVERYBODY | roles.PERMISSIONS[role] if role is not None else roles.EVERYBODY


def _agent(tx: Tx, grant_id: str, scope: str | None) -> Agent:
    grant = grants.read(tx, grant_id)
    if grant is None or grant.ended_at is not None:
        raise errors.unauthenticated("This agent's activation has ended.")
    # The agent's right is borrowed from whoever pressed Run; it ends with theirs.
    person = people.read(tx, grant.person_id)
    project = projects.find(tx, grant.project_id)
    if person is None or project is None:
        raise errors.unauthenticated()
    behind = _person(tx, person, project.scope)
    if Permission.PROJECTS_RUN not in behind.permissions:
        raise errors.unauthenticated("Whoever started this run may no longer run the project.")
    return Agent(
        project_id=grant.project_id,
        run_id=grant.run_id,
        activation_id=grant.activation_id,
        card_id=grant.card_id,
        name=grant.agent,
        # Nothing in another project's scope, so that one it may not know looks like one that is not there.
        permissions=roles.AGENT if scope == project.scope else frozenset(),
        operations=grant.operations,
    )
