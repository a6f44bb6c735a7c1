"""Assistants: what one may do, to whom it belongs, and that everything which takes it away holds at once (D02, K06)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support import door, instance, notes
from support.instance import Founded, Instance, Member
from workstead import errors
from workstead.accounts import assistant_operations, assistants
from workstead.accounts.assistants import Use
from workstead.accounts.roles import Role
from workstead.accounts.uses import Uses
from workstead.kernel.access import GRANTABLE, PERSON_ONLY, AssistantProof, Permission, Proof, SecretProof
from workstead.kernel.operations import AnyOperation, Door
from workstead.kernel.store import Prepared
from workstead.kernel.transaction import Tx
from workstead.testing import SetClock

COVERS_MODULES = ("accounts/uses.py",)

OFFERED = frozenset({"create_note", "read_note"})
OPERATIONS: tuple[AnyOperation, ...] = (
    *notes.OPERATIONS,
    *assistant_operations.operations(lambda: OFFERED),
)
SUSPEND = Prepared(sqlite="UPDATE person SET suspended_at = :at WHERE id = :person_id", postgresql="")
UNSHARE = Prepared(sqlite="DELETE FROM share WHERE person_id = :person_id", postgresql="")
DEMOTE = Prepared(sqlite="UPDATE share SET role = 'viewer' WHERE person_id = :person_id", postgresql="")
NARROW = Prepared(sqlite="UPDATE assistant SET projects = '[]'", postgresql="")

WANTED = {"name": "Claude", "permissions": ["projects:read", "projects:write"], "projects": ["garden"]}


async def create(live: Instance, owner: Member, **changed: object) -> assistant_operations.AssistantMade:
    made = await live.operations.run(owner.proof, "create_assistant", {**WANTED, **changed}, door=Door.CLI)
    assert isinstance(made, assistant_operations.AssistantMade)
    return made


async def write(live: Instance, proof: Proof, *, note: str = "n", project: str = "garden", key: str = "k") -> object:
    wanted = {"project": project, "note": note, "text": "t", "request_id": key}
    return await live.operations.run(proof, "create_note", wanted, door=Door.MCP)


async def refusal(live: Instance, proof: Proof, *, note: str = "n", project: str = "garden", key: str = "k") -> str:
    with pytest.raises(errors.Refusal) as refused:
        await write(live, proof, note=note, project=project, key=key)
    return refused.value.code


@pytest.mark.covers("D02")
async def test_a_token_is_answered_once_and_only_its_digest_is_kept(tmp_path: Path) -> None:
    """Doors, credentials: shown once, hash stored."""
    found = instance.founded(tmp_path / "db")
    with instance.opened(found.path, operations=OPERATIONS) as live:
        made = await create(live, found.operator, request_id="once")
        assert made.token.startswith("ws_ast_")
        assert made.token.encode() not in found.path.read_bytes()
        with pytest.raises(errors.Refusal) as refused:
            await create(live, found.operator, request_id="once")
        assert refused.value.code == "answer_shown_once"
        listed = await live.operations.run(found.operator.proof, "list_assistants", {}, door=Door.PAGE)
    assert [(one.name, one.projects, one.holds) for one in listed.assistants] == [("Claude", ("garden",), True)]


@pytest.mark.covers("D02")
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"projects": None}, "project_selection_required"),
        ({"permissions": ["project:trust"]}, "permission_not_grantable"),
        ({"permissions": ["assistants:manage"]}, "permission_not_grantable"),
        ({"permissions": ["sign_in:use"]}, "permission_not_grantable"),
        ({"permissions": []}, "input_invalid"),
        ({"projects": ["elsewhere"]}, "project_not_found"),
        ({"operations": ["sign_in"]}, "operation_unknown"),
        ({"days": 91}, "input_invalid"),
        ({"days": 0}, "input_invalid"),
    ],
)
async def test_what_an_assistant_cannot_be_is_refused(tmp_path: Path, changed: dict[str, object], code: str) -> None:
    """Settlements, names: 90 days at most; the choice of projects may not be left out."""
    found = instance.founded(tmp_path / "db")
    with instance.opened(found.path, operations=OPERATIONS) as live, pytest.raises(errors.Refusal) as refused:
        await create(live, found.operator, **changed)
    assert refused.value.code == code


@pytest.mark.covers("D02")
async def test_an_assistant_belongs_to_whoever_made_it(tmp_path: Path) -> None:
    """Nobody else lists or revokes it, and one assistant makes no other."""
    found = instance.founded(tmp_path / "db")
    other = instance.joined(found, name="Bo", role=Role.EDITOR)
    helper = door.assistant(found.path, owner_id=other.person.id, permissions=GRANTABLE)
    with instance.opened(found.path, operations=OPERATIONS) as live:
        made = await create(live, found.operator)
        listed = await live.operations.run(other.proof, "list_assistants", {}, door=Door.PAGE)
        assert [one.name for one in listed.assistants] == ["helper"]
        for proof, kind in ((other.proof, errors.Kind.NOT_FOUND), (helper, errors.Kind.DENIED)):
            wanted = {"assistant": made.assistant.id}
            with pytest.raises(errors.Refusal) as refused:
                await live.operations.run(proof, "revoke_assistant", wanted, door=Door.CLI)
            assert refused.value.kind is kind


@pytest.mark.covers("K06", "D02")
async def test_a_boundary_holds_even_where_the_owner_may_do_more(tmp_path: Path) -> None:
    """A project outside looks like one that is not there."""
    found = instance.founded(tmp_path / "db")
    instance.second_project(found, slug="attic")
    helper = door.assistant(found.path, owner_id=found.operator.person.id, projects=frozenset({found.project.id}))
    with instance.opened(found.path, operations=OPERATIONS) as live:
        assert await write(live, helper) is not None
        outside = [await refusal(live, helper, project=name) for name in ("attic", "nowhere")]
    assert outside == ["permission_missing", "permission_missing"]


@pytest.mark.covers("K06")
async def test_all_projects_are_those_the_owner_sees_at_that_moment(tmp_path: Path) -> None:
    """Doors: the deliberate choice `all`, future ones too; shares are read again at every call."""
    found = instance.founded(tmp_path / "db")
    bo = instance.joined(found, name="Bo", role=Role.EDITOR)
    instance.second_project(found, slug="attic")
    helper = door.assistant(found.path, owner_id=bo.person.id)
    with instance.opened(found.path, operations=OPERATIONS) as live:
        assert await write(live, helper) is not None
        assert await refusal(live, helper, project="attic") == "permission_missing"


@pytest.mark.covers("D13")
async def test_an_exact_list_of_operations_narrows_a_credential(tmp_path: Path) -> None:
    """S6: permissions it holds do not reach past the list."""
    found = instance.founded(tmp_path / "db")
    helper = door.assistant(found.path, owner_id=found.operator.person.id, operations=frozenset({"read_note"}))
    with instance.opened(found.path, operations=OPERATIONS) as live:
        assert await refusal(live, helper) == "operation_not_granted"


def revoked(tx: Tx, found: Founded, owner: Member, helper: AssistantProof) -> None:
    one = assistants.read(tx, helper.digest)
    assert one is not None
    assert assistants.revoke(tx, one)


def suspended(tx: Tx, found: Founded, owner: Member, helper: AssistantProof) -> None:
    tx.run(SUSPEND, at=tx.at, person_id=owner.person.id)


def unshared(tx: Tx, found: Founded, owner: Member, helper: AssistantProof) -> None:
    tx.run(UNSHARE, person_id=owner.person.id)


def demoted(tx: Tx, found: Founded, owner: Member, helper: AssistantProof) -> None:
    tx.run(DEMOTE, person_id=owner.person.id)


def narrowed(tx: Tx, found: Founded, owner: Member, helper: AssistantProof) -> None:
    tx.run(NARROW)


@pytest.mark.covers("K06", "D02")
@pytest.mark.parametrize(
    ("taken", "code"),
    [
        (revoked, "unauthenticated"),
        (suspended, "unauthenticated"),
        (unshared, "permission_missing"),
        (demoted, "permission_missing"),
        (narrowed, "permission_missing"),
    ],
)
async def test_what_is_taken_away_ends_the_next_call_and_the_replay(
    tmp_path: Path, taken: Callable[[Tx, Founded, Member, AssistantProof], None], code: str
) -> None:
    """Issue: revocation, unsharing and boundary changes hold on the next call, inside transactions and on replays."""
    found = instance.founded(tmp_path / "db")
    bo = instance.joined(found, name="Bo", role=Role.EDITOR)
    helper = door.assistant(found.path, owner_id=bo.person.id)
    with instance.opened(found.path, operations=OPERATIONS) as live:
        first = await write(live, helper)
        assert await write(live, helper) == first
        with instance.transaction(found.path) as tx:
            taken(tx, found, bo, helper)
        assert await refusal(live, helper) == code
        assert await refusal(live, helper, note="other", key="k2") == code


@pytest.mark.covers("K06", "D02")
async def test_a_token_ends_by_itself(tmp_path: Path) -> None:
    """Thirty days by default."""
    clock = SetClock()
    found = instance.founded(tmp_path / "db", clock=clock)
    helper = door.assistant(found.path, owner_id=found.operator.person.id, clock=clock)
    with instance.opened(found.path, operations=OPERATIONS, clock=clock) as live:
        clock.advance(seconds=30 * 86_400 - 1)
        assert await write(live, helper) is not None
        clock.advance(seconds=1)
        assert await refusal(live, helper) == "unauthenticated"


@pytest.mark.covers("K06")
async def test_a_secret_of_one_kind_opens_nothing_of_another(tmp_path: Path) -> None:
    """Doors, credentials: each kind is useless for the others."""
    found = instance.founded(tmp_path / "db")
    with instance.opened(found.path, operations=OPERATIONS) as live:
        signed_in = AssistantProof(digest=found.operator.proof.digest)
        assert await refusal(live, signed_in) == "unauthenticated"
        helper = door.assistant(found.path, owner_id=found.operator.person.id)
        assert await refusal(live, SecretProof(digest=helper.digest)) == "unauthenticated"


@pytest.mark.covers("K07")
async def test_uses_are_counted_together_and_listed_with_refusals(tmp_path: Path) -> None:
    """Names, outcomes and times; never inputs or results."""
    found = instance.founded(tmp_path / "db")
    with instance.opened(found.path, operations=OPERATIONS) as live:
        made = await create(live, found.operator)
        uses = Uses()
        for at in ("2026-01-01", "2026-01-02"):
            uses.note(made.assistant.id, operation="read_note", code="ok", at=at)
        for _ in range(2):
            uses.note(made.assistant.id, operation="start_run", code="permission_missing", at="2026-01-03")
            assert uses.pending
            with instance.transaction(found.path) as tx:
                uses.write(tx)
        assert not uses.pending
        listed = await live.operations.run(found.operator.proof, "list_assistants", {}, door=Door.PAGE)
    (one,) = listed.assistants
    assert (one.calls, one.refusals, one.last_used_at) == (4, 2, "2026-01-03")
    assert one.uses[0] == Use(operation="read_note", code="ok", calls=2, last_at="2026-01-02")


@pytest.mark.covers("K20")
def test_what_only_a_person_may_do_can_never_be_handed_on() -> None:
    """S5-S8: the two sets divide all there is."""
    assert frozenset(Permission) == GRANTABLE | PERSON_ONLY
    assert not GRANTABLE & PERSON_ONLY
    assert {
        Permission.CATALOG_READ,
        Permission.PROJECTS_CONTROL,
        Permission.PROJECTS_DELETE,
        Permission.PROJECTS_READ,
        Permission.PROJECTS_RUN,
        Permission.PROJECTS_WRITE,
        Permission.RUNS_READ,
        Permission.WORKSPACE_READ,
        Permission.WORKSPACE_RUN,
        Permission.WORKSPACE_WRITE,
    } == GRANTABLE
