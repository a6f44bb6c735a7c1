"""What the page of roles and permissions is given."""

from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from workstead.doors.web.rendering import View


@dataclass(frozen=True, kw_only=True)
class PermissionRow:
    """One permission. holds: for each role, in the order of the head.

    name: exact, as `secrets:manage` would look like a secret.
    """

    name: Markup
    meaning: str
    grantable: bool
    holds: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True)
class OperationRow:
    """What one operation needs."""

    name: str
    does: str
    needs: Markup
    least_role: str
    tool: bool


@dataclass(frozen=True, kw_only=True)
class PermissionsView(View):
    """The printed table of roles and permissions."""

    TEMPLATE: ClassVar[str] = "permissions.html"

    roles: tuple[str, ...]
    permissions: tuple[PermissionRow, ...]
    operations: tuple[OperationRow, ...]
