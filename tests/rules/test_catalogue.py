"""D12 and K20: what is published about tools, permissions and refusals is what the program has."""

from pathlib import Path

import pytest

from plugin import api_table, catalogue, source_names
from support import instance
from support.instance import Member
from workstead import errors
from workstead.accounts import authority, permission_table, roles
from workstead.accounts.roles import Role
from workstead.kernel import access, scopes
from workstead.kernel.access import Permission
from workstead.kernel.operations import Door


@pytest.mark.covers("D12")
def test_the_catalogue_is_the_one_the_program_would_print() -> None:
    """Generated and checked; `./dev catalogue` writes it again."""
    text = catalogue.DOCUMENT.read_text(encoding="utf-8")
    assert catalogue.MARK + text.partition(catalogue.MARK)[2] == catalogue.rendered()


@pytest.mark.covers("W20")
def test_the_table_of_the_api_is_the_one_the_program_would_print() -> None:
    """Generated and checked as the catalogue is."""
    text = api_table.DOCUMENT.read_text(encoding="utf-8")
    assert catalogue.MARK + text.partition(catalogue.MARK)[2] == api_table.rendered()


@pytest.mark.covers("K20")
@pytest.mark.parametrize("role", ["nobody", *Role, "operator"])
def test_each_role_may_what_the_table_says_and_nothing_else(tmp_path: Path, role: str) -> None:
    """Both ways, for every operation, through the one authority function."""
    found = instance.founded(tmp_path / "db")
    member = _member(found, role)
    held = _held(role)
    for operation in catalogue.entries():
        with instance.transaction(found.path) as tx:
            caller = authority.read(tx, member.proof, scopes.project(found.project.id))
        try:
            access.require(caller, operation.permissions, operation=operation.name)
        except errors.Refusal:
            assert not operation.permissions <= held, operation.name
        else:
            assert operation.permissions <= held, operation.name


@pytest.mark.covers("K20", "D02")
def test_no_tool_needs_what_no_assistant_can_hold() -> None:
    """An operation behind this door that nobody could call would be a mistake."""
    for operation in catalogue.entries():
        if Door.MCP in operation.doors:
            assert operation.permissions <= access.GRANTABLE, operation.name


def test_refusals_are_found_in_the_source() -> None:
    """A list that misses some is worse than none."""
    found = catalogue.refusals()
    assert "needs_review" in found["configuration_untrusted"]
    assert found["card_not_found"] == {"not_found"}
    assert {"rate_limited", "project_selection_required", "run_live", "input_invalid"} <= found.keys()


def _member(found: instance.Founded, role: str) -> Member:
    if role == "operator":
        return found.operator
    return instance.joined(found, name="Bo", role=None if role == "nobody" else Role(role))


def _held(role: str) -> frozenset[Permission]:
    if role == "operator":
        return roles.OPERATOR
    return roles.EVERYBODY if role == "nobody" else roles.EVERYBODY | roles.PERMISSIONS[Role(role)]


@pytest.mark.covers("D12")
def test_names_of_elsewhere_stand_beside_what_there_is() -> None:
    """A renamed tool or code takes its old name along."""
    tools = {each.name for each in catalogue.entries() if Door.MCP in each.doors}
    assert source_names.TOOLS.keys() <= tools
    assert source_names.CODES.keys() <= catalogue.refusals().keys()


@pytest.mark.covers("K20")
def test_every_permission_says_what_it_is_for() -> None:
    """The page, the form and the catalogue print it."""
    assert permission_table.MEANINGS.keys() == set(Permission)
