"""What a caller must hold (S5, S6)."""

import pytest

from workstead import errors
from workstead.kernel import access
from workstead.kernel.access import Agent, Anonymous, Caller, Permission, Person, System


def person(*permissions: Permission) -> Person:
    return Person(id="a", name="Ada", operator=False, permissions=frozenset(permissions))


def agent(*operations: str) -> Agent:
    return Agent(
        project_id="p",
        run_id="r",
        activation_id="act",
        card_id="card-a",
        name="executor",
        permissions=frozenset({Permission.PROJECTS_READ}),
        operations=frozenset(operations),
    )


@pytest.mark.covers("K06")
def test_all_permissions_of_the_set_are_needed() -> None:
    """An operation requires a set, all of it (S5)."""
    both = frozenset({Permission.PROJECTS_CONTROL, Permission.PROJECTS_RUN})
    access.require(person(*both, Permission.RUNS_READ), both, operation="start_run")
    with pytest.raises(errors.Refusal) as refused:
        access.require(person(Permission.PROJECTS_CONTROL), both, operation="start_run")
    assert (refused.value.kind, refused.value.code) == (errors.Kind.DENIED, "permission_missing")
    assert refused.value.details == {"missing": ["projects:run"]}


@pytest.mark.covers("K06")
def test_an_agent_needs_the_operation_by_name_as_well() -> None:
    """Its permissions are a ceiling; its grant names operations one by one."""
    needed = frozenset({Permission.PROJECTS_READ})
    access.require(agent("get_card"), needed, operation="get_card")
    with pytest.raises(errors.Refusal) as refused:
        access.require(agent("get_card"), needed, operation="list_cards")
    assert refused.value.code == "operation_not_granted"


def test_nobody_may_only_sign_in() -> None:
    """Sign-in endpoints are operations with an anonymous caller."""
    access.require(Anonymous(), frozenset({Permission.SIGN_IN}), operation="sign_in")
    for permission in set(Permission) - {Permission.SIGN_IN}:
        with pytest.raises(errors.Refusal):
            access.require(Anonymous(), frozenset({permission}), operation="anything")


def test_callers_of_different_kinds_never_share_a_receipt() -> None:
    """The subject is part of the receipt's key (K05)."""
    callers: list[Caller] = [person(), agent(), System(part="a"), Anonymous()]
    assert len({caller.subject for caller in callers}) == 4
    assert [caller.author.kind for caller in callers] == ["person", "agent", "runtime", "person"]
