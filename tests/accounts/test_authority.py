"""The one authority function: what a proof turns out to be, now (K06)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support import instance
from support.database import statement
from workstead import errors
from workstead.accounts import authority, credentials, grants, roles
from workstead.accounts.credentials import CredentialKind
from workstead.accounts.grants import Grant
from workstead.accounts.roles import Role
from workstead.kernel import scopes
from workstead.kernel.access import (
    Agent,
    AgentProof,
    Anonymous,
    AnonymousProof,
    Caller,
    ControlProof,
    Person,
    Proof,
    SecretProof,
    System,
    SystemProof,
)
from workstead.kernel.transaction import Tx

pytestmark = pytest.mark.both_databases

SUSPEND = statement("UPDATE person SET suspended_at = :at WHERE id = :person_id")
SHARE = statement("UPDATE share SET role = :role WHERE person_id = :person_id")


def read(path: Path, proof: Proof, scope: str | None) -> Caller:
    with instance.transaction(path) as tx:
        return authority.read(tx, proof, scope)


@contextmanager
def nobody() -> Iterator[None]:
    with pytest.raises(errors.Refusal) as refused:
        yield
    assert refused.value.kind is errors.Kind.UNAUTHENTICATED


def granted(found: instance.Founded, person: instance.Member) -> AgentProof:
    with instance.transaction(found.path) as tx:
        grant = Grant(
            id=tx.new_id(),
            project_id=found.project.id,
            run_id="run-1",
            activation_id="act-1",
            card_id="card-a",
            agent="executor",
            person_id=person.person.id,
            operations=frozenset({"get_card"}),
        )
        grants.add(tx, grant)
    return AgentProof(grant_id=grant.id)


@pytest.mark.covers("K01", "K06")
def test_the_terminal_is_the_operator(tmp_path: Path) -> None:
    """Only the server's own user can open the control socket."""
    found = instance.founded(tmp_path / "db")
    caller = read(found.path, ControlProof(uid=0), None)
    assert isinstance(caller, Person)
    assert (caller.id, caller.operator, caller.permissions) == (found.operator.person.id, True, roles.OPERATOR)


@pytest.mark.covers("K03", "K06")
@pytest.mark.parametrize("role", list(Role))
def test_a_person_has_the_permissions_of_the_role_in_the_locked_project_only(tmp_path: Path, role: Role) -> None:
    """Elsewhere the same credential holds what everybody has."""
    found = instance.founded(tmp_path / "db")
    member = instance.joined(found, name="Eve", role=role)
    other = instance.second_project(found, slug="pond").scope
    there = read(found.path, member.proof, found.project.scope)
    assert there.permissions == roles.EVERYBODY | roles.PERMISSIONS[role]
    for scope in (other, scopes.INSTANCE, scopes.account(member.person.id), "project:missing", None):
        assert read(found.path, member.proof, scope).permissions == roles.EVERYBODY


@pytest.mark.covers("K06")
def test_a_link_signs_nobody_in(tmp_path: Path) -> None:
    """Each kind of credential is useless for the others."""
    found = instance.founded(tmp_path / "db")
    with instance.transaction(found.path) as tx:
        link = credentials.issue(tx, kind=CredentialKind.LINK, person_id=found.operator.person.id)
    with nobody():
        read(found.path, SecretProof(digest=credentials.digest(link)), None)


@pytest.mark.covers("K06")
def test_an_ended_credential_and_a_suspended_person_are_nobody(tmp_path: Path) -> None:
    """Revocation and suspension take effect on the very next call."""
    found = instance.founded(tmp_path / "db")
    signed_out = instance.joined(found, name="Out", role=Role.OWNER)
    suspended = instance.joined(found, name="Sus", role=Role.OWNER)
    with instance.transaction(found.path) as tx:
        credentials.end(tx, credentials.digest(signed_out.secret))
        tx.run(SUSPEND, person_id=suspended.person.id, at=tx.at)
    for member in (signed_out, suspended):
        with nobody():
            read(found.path, member.proof, found.project.scope)


def test_nothing_presented_is_anonymous_and_the_server_is_the_system(tmp_path: Path) -> None:
    """Signing in is an operation too; sweeps have a name."""
    found = instance.founded(tmp_path / "db")
    assert read(found.path, AnonymousProof(), None) == Anonymous()
    assert read(found.path, SystemProof(part="sweeper"), None) == System(part="sweeper")


@pytest.mark.covers("K06")
def test_an_agent_may_act_in_its_own_project_only(tmp_path: Path) -> None:
    """Another project's scope gives it nothing, as a missing one does."""
    found = instance.founded(tmp_path / "db")
    other = instance.second_project(found, slug="pond").scope
    proof = granted(found, found.operator)
    caller = read(found.path, proof, found.project.scope)
    assert isinstance(caller, Agent)
    assert (caller.permissions, caller.operations) == (roles.AGENT, frozenset({"get_card"}))
    assert (caller.project_id, caller.activation_id, caller.card_id) == (found.project.id, "act-1", "card-a")
    for scope in (other, scopes.INSTANCE, None):
        assert read(found.path, proof, scope).permissions == frozenset()


def _demote(tx: Tx, member: instance.Member, proof: AgentProof) -> None:
    assert tx.run(SHARE, person_id=member.person.id, role=Role.VIEWER.value) == 1


def _suspend(tx: Tx, member: instance.Member, proof: AgentProof) -> None:
    assert tx.run(SUSPEND, person_id=member.person.id, at=tx.at) == 1


def _end(tx: Tx, member: instance.Member, proof: AgentProof) -> None:
    grants.end(tx, proof.grant_id)


def _stop(tx: Tx, member: instance.Member, proof: AgentProof) -> None:
    assert grants.end_run(tx, "run-1") == 1


@pytest.mark.covers("K03", "K06")
@pytest.mark.parametrize("loses", [_demote, _suspend, _end, _stop])
def test_an_agent_is_nobody_when_its_grant_or_its_persons_right_has_ended(tmp_path: Path, loses: object) -> None:
    """Its right is borrowed from whoever pressed Run, and ends with theirs, in the middle of its work."""
    found = instance.founded(tmp_path / "db")
    member = instance.joined(found, name="Ed", role=Role.EDITOR)
    proof = granted(found, member)
    assert read(found.path, proof, found.project.scope).permissions == roles.AGENT
    assert callable(loses)
    with instance.transaction(found.path) as tx:
        loses(tx, member, proof)
    with nobody():
        read(found.path, proof, found.project.scope)
    with nobody():
        read(found.path, AgentProof(grant_id="missing"), found.project.scope)
