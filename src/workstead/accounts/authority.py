"""Authority: what a proof turns out to be, read live inside every transaction (K06). The kernel is handed this one."""

from dataclasses import dataclass, replace

from workstead import errors
from workstead.accounts import assistants, credentials, grants, people, projects, roles
from workstead.accounts.assistants import AssistantRow
from workstead.accounts.credentials import CredentialKind
from workstead.accounts.people import PersonRow
from workstead.kernel import scopes
from workstead.kernel.access import (
    PERSON_ONLY,
    Agent,
    AgentProof,
    Anonymous,
    AnonymousProof,
    Assistant,
    AssistantProof,
    Caller,
    ControlProof,
    Permission,
    Person,
    Proof,
    SecretProof,
    System,
    SystemProof,
    TokenProof,
)
from workstead.kernel.transaction import Tx

_PROJECT_PREFIX = "project:"
_NO_ASSISTANT = "This assistant's token is unknown, was revoked or has expired; its owner can make a new one."


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What an assistant may do somewhere. sets: one set of permissions per kind of place it reaches."""

    assistant: Assistant
    sets: frozenset[frozenset[Permission]]

    def may(self, needed: frozenset[Permission], *, operation: str) -> bool:
        """Whether there is a place where it may call the operation."""
        listed = self.assistant.operations
        return (listed is None or operation in listed) and any(needed <= held for held in self.sets)


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
            return _signed_in(tx, digest, scope, kind=CredentialKind.SIGN_IN)
        case TokenProof(digest=digest):
            person = _signed_in(tx, digest, scope, kind=CredentialKind.API)
            return replace(person, permissions=person.permissions - PERSON_ONLY)
        case AssistantProof(digest=digest):
            found, owner = _held(tx, digest)
            return _assistant(tx, found, _person(tx, owner, scope), scope)
        case AgentProof(grant_id=grant_id):
            return _agent(tx, grant_id, scope)


def presented(tx: Tx, digest: str) -> Assistant:
    """The assistant behind a token, with what it may do outside any project; raises `unauthenticated`."""
    found, owner = _held(tx, digest)
    return _assistant(tx, found, _person(tx, owner, scopes.INSTANCE), scopes.INSTANCE)


def standing(tx: Tx, digest: str) -> Standing:
    """What the assistant behind a token may do in the places it reaches now; raises `unauthenticated`."""
    found, row = _held(tx, digest)
    anywhere = _assistant(tx, found, _person(tx, row, scopes.INSTANCE), scopes.INSTANCE)
    sets = {anywhere.permissions}
    for one in projects.all_of_them(tx):
        if projects.sees(tx, anywhere, one):
            sets.add(_assistant(tx, found, _person(tx, row, one.scope), one.scope).permissions)
            if anywhere.owner.operator:
                # An operator is the same everywhere.
                break
    return Standing(assistant=anywhere, sets=frozenset(sets))


def _held(tx: Tx, digest: str) -> tuple[AssistantRow, PersonRow]:
    found = assistants.with_owner(tx, digest)
    if found is None or not found[0].holds(tx.at):
        raise errors.unauthenticated(_NO_ASSISTANT)
    return found


def _assistant(tx: Tx, found: AssistantRow, owner: Person, scope: str | None) -> Assistant:
    allowed: frozenset[Permission] = frozenset()
    if scope is not None and scope.startswith(_PROJECT_PREFIX):
        # Nothing outside the boundary, so that a project it may not know looks like one that is not there.
        if found.projects is None or scope.removeprefix(_PROJECT_PREFIX) in found.projects:
            allowed = owner.permissions
    elif scope is not None:
        allowed = roles.ASSISTANT_ANYWHERE
    return Assistant(
        id=found.id,
        name=found.name,
        owner=owner,
        permissions=(found.permissions & allowed) - PERSON_ONLY,
        projects=found.projects,
        operations=found.operations,
    )


def _signed_in(tx: Tx, digest: str, scope: str | None, *, kind: CredentialKind) -> Person:
    found = credentials.read(tx, digest)
    if found is None or found.kind is not kind or not found.holds(tx.at):
        raise errors.unauthenticated()
    return _person(tx, people.read(tx, found.person_id), scope)


def _person(tx: Tx, found: PersonRow | None, scope: str | None) -> Person:
    if found is None or found.suspended_at is not None:
        raise errors.unauthenticated()
    return Person(id=found.id, name=found.name, operator=found.operator, permissions=_permissions(tx, found, scope))


def _permissions(tx: Tx, found: PersonRow, scope: str | None) -> frozenset[Permission]:
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
