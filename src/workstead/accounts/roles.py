"""Roles: which permissions a role gives in a project (S7), one printed table."""

from enum import StrEnum

from workstead.kernel.access import Permission


class Role(StrEnum):
    """What a person is in a project; the operator is an owner everywhere."""

    VIEWER = "viewer"
    EDITOR = "editor"
    OWNER = "owner"


_VIEWER = frozenset({Permission.PROJECTS_READ, Permission.RUNS_READ, Permission.WORKSPACE_READ})
_EDITOR = _VIEWER | {Permission.PROJECTS_WRITE, Permission.PROJECTS_CONTROL, Permission.PROJECTS_RUN}

PERMISSIONS: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: _VIEWER,
    Role.EDITOR: _EDITOR,
    Role.OWNER: _EDITOR
    | {
        Permission.PROJECT_BUDGET,
        Permission.PROJECT_TRUST,
        Permission.PROJECTS_DELETE,
        Permission.WORKSPACE_RUN,
        Permission.WORKSPACE_WRITE,
    },
}

OPERATOR = frozenset(Permission)
"""Owner everywhere, and also folder binding and the instance itself."""

EVERYBODY = frozenset(
    {Permission.ASSISTANTS_MANAGE, Permission.CATALOG_READ, Permission.SIGN_IN, Permission.TOKENS_MANAGE}
)
"""What a signed-in person has without any project."""

ASSISTANT_ANYWHERE = frozenset({Permission.CATALOG_READ, Permission.PROJECTS_READ})
"""What an assistant may use outside any project, if it holds it: the documentation, and listing its projects."""

AGENT = frozenset(
    {Permission.PROJECTS_DELETE, Permission.PROJECTS_READ, Permission.PROJECTS_WRITE, Permission.RUNS_READ}
)
"""The ceiling of an agent at work; its grant names the operations one by one, and admission has rules for its kind."""
