"""The printed table of roles and permissions (K20): what each means, who holds it, what each operation needs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from workstead.accounts import roles
from workstead.kernel import scopes
from workstead.kernel.access import GRANTABLE, Caller, Permission
from workstead.kernel.operations import AnyOperation, Door, Effect, Input, Operation, Reach
from workstead.kernel.transaction import Tx

SIGNED_IN, OPERATOR = "signed in", "operator"

MEANINGS: Mapping[Permission, str] = {
    Permission.ASSISTANTS_MANAGE: "make, look at and revoke one's own assistants",
    Permission.CATALOG_READ: "search and read the documentation",
    Permission.INSTANCE_READ: "look at the machine and the data folder",
    Permission.PROJECT_BIND: "make a project of a folder of the machine",
    Permission.PROJECT_BUDGET: "say how much a project's work may use",
    Permission.PROJECT_TRUST: "accept what a folder's configuration asks for",
    Permission.PROJECTS_CONTROL: "pause, resume and stop runs",
    Permission.PROJECTS_DELETE: "delete cards for good (needs projects:write too)",
    Permission.PROJECTS_READ: "read projects, cards and records",
    Permission.PROJECTS_RUN: "start runs, which may cost money (needs projects:control too)",
    Permission.PROJECTS_WRITE: "change cards and records",
    Permission.RUNS_READ: "read runs, conversations and commands",
    Permission.SECRETS_MANAGE: "store and delete the instance's secrets",
    Permission.SIGN_IN: "sign in",
    Permission.TOKENS_MANAGE: "make and revoke one's own tokens for the API",
    Permission.WORKSPACE_READ: "read files of the folder, except keys and private state",
    Permission.WORKSPACE_RUN: "run commands in the folder, contained and without network",
    Permission.WORKSPACE_WRITE: "write files of the folder",
}
"""What each permission is for, in a few words; a test wants one for each."""

HOLDERS: Mapping[str, frozenset[Permission]] = {
    SIGNED_IN: roles.EVERYBODY,
    **{role.value: roles.EVERYBODY | held for role, held in roles.PERMISSIONS.items()},
    OPERATOR: roles.OPERATOR,
}
"""Who holds what, each with what the ones before have."""


class Offered(Protocol):
    """An operation or an act, as far as the table prints it."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def summary(self) -> str:
        """What it does."""

    @property
    def permissions(self) -> frozenset[Permission]:
        """What it requires, all of it."""

    @property
    def effect(self) -> Effect:
        """What it does to the world."""

    @property
    def doors(self) -> frozenset[Door]:
        """Where it is shown."""


Everything = Callable[[], Iterable[Offered]]
"""All that doors can offer; asked late, when the table stands."""


class ListPermissions(Input):
    """The whole table."""


@dataclass(frozen=True, kw_only=True)
class PermissionLine:
    """One permission. grantable: an assistant can hold it. holders: the roles that have it."""

    name: str
    meaning: str
    grantable: bool
    holders: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class OperationLine:
    """What one operation needs. least_role: the least that has all of it. tool: assistants can call it."""

    name: str
    summary: str
    permissions: tuple[str, ...]
    effect: Effect
    least_role: str
    tool: bool


@dataclass(frozen=True, kw_only=True)
class PermissionTable:
    """Roles in growing order; permissions and operations by name."""

    roles: tuple[str, ...]
    permissions: tuple[PermissionLine, ...]
    operations: tuple[OperationLine, ...]


def least_role(permissions: frozenset[Permission]) -> str:
    """The least role that has them all, in a project of its own."""
    return next(name for name, held in HOLDERS.items() if permissions <= held)


def printed(everything: Everything, _: Tx, __: Caller, ___: ListPermissions) -> PermissionTable:
    """The table as it stands in this program."""
    return PermissionTable(
        roles=tuple(HOLDERS),
        permissions=tuple(
            PermissionLine(
                name=each.value,
                meaning=MEANINGS[each],
                grantable=each in GRANTABLE,
                holders=tuple(name for name, held in HOLDERS.items() if each in held),
            )
            for each in Permission
        ),
        operations=tuple(
            OperationLine(
                name=each.name,
                summary=each.summary,
                permissions=tuple(sorted(each.permissions)),
                effect=each.effect,
                least_role=least_role(each.permissions),
                tool=Door.MCP in each.doors,
            )
            for each in sorted(everything(), key=lambda one: one.name)
        ),
    )


def operations(everything: Everything) -> tuple[AnyOperation, ...]:
    """The operation that prints it."""
    return (
        Operation(
            name="list_permissions",
            summary="Print the table of roles and permissions, and what each operation needs.",
            input=ListPermissions,
            output=PermissionTable,
            permissions=frozenset(),
            effect=Effect.READ,
            doors=frozenset({Door.CLI, Door.MCP, Door.PAGE, Door.REST}),
            handler=partial(printed, everything),
            lock=lambda _, __: scopes.INSTANCE,
            reach=Reach.KEY,
            exact=True,  # `secrets:manage` would look like a secret
        ),
    )
