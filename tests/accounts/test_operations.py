"""Signing in and out as operations: what a link is worth, for how long, and to whom (K01)."""

from pathlib import Path

import pytest

from support import instance
from workstead import errors
from workstead.accounts import credentials
from workstead.accounts.operations import OPERATIONS
from workstead.kernel.access import AnonymousProof, ControlProof, Permission, SecretProof
from workstead.kernel.operations import Door
from workstead.testing import SetClock

COVERS_MODULES = ("accounts/first_start.py",)

pytestmark = pytest.mark.covers("K01")

OPERATOR = ControlProof(uid=0)
NOBODY = AnonymousProof()


@pytest.mark.parametrize(("later_s", "good"), [(599, True), (600, False), (86_400, False)])
async def test_a_link_is_good_for_ten_minutes(tmp_path: Path, later_s: int, good: bool) -> None:
    """First-hour decisions, data folder."""
    clock = SetClock()
    path = instance.founded(tmp_path / "db", clock=clock).path
    with instance.opened(path, operations=OPERATIONS, clock=clock) as live:
        made = await live.operations.run(OPERATOR, "make_sign_in_link", {}, door=Door.CLI)
        clock.advance(seconds=later_s)
        if good:
            given = await live.operations.run(NOBODY, "sign_in", {"link": made.secret}, door=Door.PAGE)
            assert given.secret.startswith("ws_in_")
        else:
            with pytest.raises(errors.Refusal) as refused:
                await live.operations.run(NOBODY, "sign_in", {"link": made.secret}, door=Door.PAGE)
            assert refused.value.code == "link_spent"


async def test_the_answer_that_held_a_secret_is_shown_once(tmp_path: Path) -> None:
    """Architecture, operations: replaying a `once` answer is a conflict."""
    path = instance.founded(tmp_path / "db").path
    with instance.opened(path, operations=OPERATIONS) as live:
        await live.operations.run(OPERATOR, "make_sign_in_link", {"request_id": "k"}, door=Door.CLI)
        with pytest.raises(errors.Refusal) as refused:
            await live.operations.run(OPERATOR, "make_sign_in_link", {"request_id": "k"}, door=Door.CLI)
    assert refused.value.code == "answer_shown_once"


async def test_a_sign_in_ends_only_by_its_own_person(tmp_path: Path) -> None:
    """Looked up through what the caller may see: another's is not found."""
    found = instance.founded(tmp_path / "db")
    other = instance.joined(found, name="Bo")
    wanted = {"digest": found.operator.proof.digest}
    with instance.opened(found.path, operations=OPERATIONS) as live:
        with pytest.raises(errors.Refusal) as refused:
            await live.operations.run(other.proof, "sign_out", wanted, door=Door.PAGE)
        assert refused.value.kind is errors.Kind.NOT_FOUND
        assert (await live.operations.run(found.operator.proof, "get_me", {}, door=Door.PAGE)).name == "Ada"
        assert (await live.operations.run(found.operator.proof, "sign_out", wanted, door=Door.PAGE)).ended
        with pytest.raises(errors.Refusal) as gone:
            await live.operations.run(found.operator.proof, "get_me", {}, door=Door.PAGE)
    assert gone.value.kind is errors.Kind.UNAUTHENTICATED


async def test_nobody_can_use_what_needs_a_person(tmp_path: Path) -> None:
    """A stranger may only sign in, whatever the permission says."""
    path = instance.founded(tmp_path / "db").path
    with instance.opened(path, operations=OPERATIONS) as live:
        for proof in (NOBODY, SecretProof(digest=credentials.digest("ws_in_made_up"))):
            with pytest.raises(errors.Refusal) as refused:
                await live.operations.run(proof, "get_me", {}, door=Door.PAGE)
            assert refused.value.kind is errors.Kind.UNAUTHENTICATED


def test_signing_in_needs_the_one_permission_that_strangers_have() -> None:
    """K20: one printed table."""
    needed = {operation.name: operation.permissions for operation in OPERATIONS}
    assert needed.pop("get_me") == frozenset(), "whoever is known may ask who they are"
    assert set(needed.values()) == {frozenset({Permission.SIGN_IN})}
