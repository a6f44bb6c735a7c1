"""Access: permissions; proofs, which a door holds before anything was read; callers, which proofs turn out to be."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from workstead import errors
from workstead.kernel.transaction import Tx


class Permission(StrEnum):
    """What an operation may require; a credential holds a set of them (S5, S6)."""

    ASSISTANTS_MANAGE = "assistants:manage"
    CATALOG_READ = "catalog:read"
    INSTANCE_READ = "instance:read"
    PROJECT_BIND = "project:bind"
    PROJECT_BUDGET = "project:budget"
    PROJECT_TRUST = "project:trust"
    PROJECTS_CONTROL = "projects:control"
    PROJECTS_DELETE = "projects:delete"
    PROJECTS_READ = "projects:read"
    PROJECTS_RUN = "projects:run"
    PROJECTS_WRITE = "projects:write"
    RUNS_READ = "runs:read"
    SECRETS_MANAGE = "secrets:manage"
    SIGN_IN = "sign_in:use"
    TOKENS_MANAGE = "tokens:manage"
    WORKSPACE_READ = "workspace:read"
    WORKSPACE_RUN = "workspace:run"
    WORKSPACE_WRITE = "workspace:write"


PERSON_ONLY = frozenset(
    {
        Permission.ASSISTANTS_MANAGE,
        Permission.INSTANCE_READ,
        Permission.PROJECT_BIND,
        Permission.PROJECT_BUDGET,
        Permission.PROJECT_TRUST,
        Permission.SECRETS_MANAGE,
        Permission.SIGN_IN,
        Permission.TOKENS_MANAGE,
    }
)
"""What no credential can ever hold."""

GRANTABLE = frozenset(Permission) - PERSON_ONLY
"""What a person may hand to an assistant."""


@dataclass(frozen=True, kw_only=True)
class SecretProof:
    """A presented secret, as its SHA-256."""

    digest: str


@dataclass(frozen=True, kw_only=True)
class TokenProof:
    """A personal token for the API, as its SHA-256; a kind of its own, so that it opens nothing else."""

    digest: str


@dataclass(frozen=True, kw_only=True)
class AssistantProof:
    """An assistant's token, as its SHA-256; a kind of its own, so that it opens nothing but its door."""

    digest: str


@dataclass(frozen=True, kw_only=True)
class ControlProof:
    """A connection on the control socket, which only the server's own user can open."""

    uid: int


@dataclass(frozen=True, kw_only=True)
class AgentProof:
    """An agent at work, by its grant: it holds until its node, its activation or its run ends."""

    grant_id: str


@dataclass(frozen=True, kw_only=True)
class SystemProof:
    """The server itself, by the name of the part that acts."""

    part: str


@dataclass(frozen=True, kw_only=True)
class AnonymousProof:
    """Nothing was presented."""


Proof = SecretProof | TokenProof | AssistantProof | ControlProof | AgentProof | SystemProof | AnonymousProof


@dataclass(frozen=True, kw_only=True)
class Author:
    """Who is written into a version: kind is person, agent, assistant, action or runtime."""

    kind: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Person:
    """A signed-in person; permissions are those in the scope the call locked."""

    id: str
    name: str
    operator: bool
    permissions: frozenset[Permission]

    @property
    def subject(self) -> str:
        """The key of this caller's receipts."""
        return f"person:{self.id}"

    @property
    def author(self) -> Author:
        """Who versions name."""
        return Author(kind="person", name=self.name)


@dataclass(frozen=True, kw_only=True)
class Assistant:
    """A named credential that acts for its owner; its permissions are never more than the owner's in the scope.

    projects: the ids it may know of; None: every project the owner sees. operations: the exact names it may call;
    None: what its permissions allow.
    """

    id: str
    name: str
    owner: Person
    permissions: frozenset[Permission]
    projects: frozenset[str] | None
    operations: frozenset[str] | None

    @property
    def subject(self) -> str:
        """The key of this caller's receipts."""
        return f"assistant:{self.id}"

    @property
    def author(self) -> Author:
        """Who versions name."""
        return Author(kind="assistant", name=self.name)


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent inside its open activation on one card; operations: the exact names it may call."""

    project_id: str
    run_id: str
    activation_id: str
    card_id: str
    name: str
    permissions: frozenset[Permission]
    operations: frozenset[str]

    @property
    def subject(self) -> str:
        """The key of this caller's receipts."""
        return f"activation:{self.activation_id}"

    @property
    def author(self) -> Author:
        """Who versions name."""
        return Author(kind="agent", name=self.name)


@dataclass(frozen=True, kw_only=True)
class System:
    """The server itself."""

    part: str
    permissions: frozenset[Permission] = frozenset(Permission)

    @property
    def subject(self) -> str:
        """The key of this caller's receipts."""
        return f"system:{self.part}"

    @property
    def author(self) -> Author:
        """Who versions name."""
        return Author(kind="runtime", name=self.part)


@dataclass(frozen=True, kw_only=True)
class Anonymous:
    """Nobody yet; may only sign in."""

    permissions: frozenset[Permission] = frozenset({Permission.SIGN_IN})

    @property
    def subject(self) -> str:
        """The key of this caller's receipts."""
        return "anonymous"

    @property
    def author(self) -> Author:
        """Who versions name."""
        return Author(kind="person", name="anonymous")


Caller = Person | Assistant | Agent | System | Anonymous

Authority = Callable[[Tx, Proof, str | None], Caller]
"""Reads who a proof is and what they may do in a scope now; raises `unauthenticated`. Defined in accounts."""


def require(caller: Caller, permissions: frozenset[Permission], *, operation: str) -> None:
    """All of the permissions, or `denied` naming what is missing; a list of operations must name this one too."""
    listed = caller.operations if isinstance(caller, Agent | Assistant) else None
    if listed is not None and operation not in listed:
        message = f"{caller.author.name} has no {operation} here."
        raise errors.denied("operation_not_granted", message, operation=operation)
    missing = sorted(permissions - caller.permissions)
    if missing:
        # A project that is not there and one that may not be seen are the same; what can be seen is worth saying.
        hint = " `list_projects` shows the projects of this token." if isinstance(caller, Assistant) else ""
        message = f"This needs {', '.join(missing)}, which you do not have here.{hint}"
        raise errors.denied("permission_missing", message, missing=missing)
