"""The printed table of roles (S7)."""

import pytest

from workstead.accounts import roles
from workstead.accounts.roles import Role
from workstead.kernel.access import PERSON_ONLY, Permission


@pytest.mark.covers("K03")
def test_each_role_has_what_the_one_before_has_and_more() -> None:
    """Viewer reads; editor also writes, controls and runs; owner also trusts; the operator everything."""
    viewer, editor, owner = (roles.PERMISSIONS[role] for role in (Role.VIEWER, Role.EDITOR, Role.OWNER))
    assert viewer < editor < owner < roles.OPERATOR
    assert viewer == {Permission.PROJECTS_READ, Permission.RUNS_READ, Permission.WORKSPACE_READ}
    assert editor - viewer == {Permission.PROJECTS_WRITE, Permission.PROJECTS_CONTROL, Permission.PROJECTS_RUN}
    assert owner - editor == {
        Permission.PROJECT_BUDGET,
        Permission.PROJECT_TRUST,
        Permission.PROJECTS_DELETE,
        Permission.WORKSPACE_RUN,
        Permission.WORKSPACE_WRITE,
    }
    above = {
        Permission.ASSISTANTS_MANAGE,
        Permission.CATALOG_READ,
        Permission.INSTANCE_READ,
        Permission.PROJECT_BIND,
        Permission.SECRETS_MANAGE,
        Permission.SIGN_IN,
        Permission.TOKENS_MANAGE,
    }
    assert roles.OPERATOR - owner == above
    assert frozenset(Permission) == roles.OPERATOR


@pytest.mark.covers("K06")
def test_an_agent_can_neither_start_nor_control_nor_do_what_only_a_person_may() -> None:
    """Its grant is below this ceiling."""
    above = PERSON_ONLY | {Permission.PROJECTS_CONTROL, Permission.PROJECTS_RUN, Permission.INSTANCE_READ}
    assert not above & roles.AGENT
