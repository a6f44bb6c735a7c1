"""What the pages of an account are given: its personal tokens, and the addresses of the API."""

from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from workstead.doors.web.rendering import View


@dataclass(frozen=True, kw_only=True)
class TokenLine:
    """One personal token."""

    id: str
    name: str
    holds: bool
    expires: str


@dataclass(frozen=True, kw_only=True)
class AccountView(View):
    """A person's account. secret: of a token that was just made, exact; shown this once. key: of the next change."""

    TEMPLATE: ClassVar[str] = "account.html"

    tokens: tuple[TokenLine, ...]
    key: str
    secret: Markup | None = None


@dataclass(frozen=True, kw_only=True)
class ApiLine:
    """One address of the API."""

    method: str
    path: str
    does: str


@dataclass(frozen=True, kw_only=True)
class ApiView(View):
    """The addresses of the API."""

    TEMPLATE: ClassVar[str] = "api.html"

    address: str
    lines: tuple[ApiLine, ...]


@dataclass(frozen=True, kw_only=True)
class FailedLine:
    """A request that failed. request_id: under which the log may have more; empty without one."""

    at: str
    door: str
    asked: str
    status: int
    took: str
    request_id: str


@dataclass(frozen=True, kw_only=True)
class DiagnosticsView(View):
    """The requests that failed last. kept: how many are kept at most."""

    TEMPLATE: ClassVar[str] = "diagnostics.html"

    kept: int
    requests: tuple[FailedLine, ...]
