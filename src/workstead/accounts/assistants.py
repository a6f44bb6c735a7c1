"""Assistants: named credentials that act for their owner within permissions, projects and operations (D02, D13)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from sqlalchemy import bindparam, insert, select

from workstead.accounts import credentials, people
from workstead.accounts.credentials import CredentialKind
from workstead.accounts.people import PersonRow
from workstead.accounts.tables import assistant, assistant_use, credential, person
from workstead.kernel import canonical
from workstead.kernel.access import Permission
from workstead.kernel.canonical import Json
from workstead.kernel.store import Prepared, Row, prepared
from workstead.kernel.transaction import Tx


@dataclass(frozen=True, kw_only=True)
class AssistantRow:
    """One assistant. projects: ids; None: all its owner sees. operations: exact names; None: as permitted."""

    id: str
    digest: str
    owner_id: str
    name: str
    permissions: frozenset[Permission]
    projects: frozenset[str] | None
    operations: frozenset[str] | None
    created_at: str
    expires_at: str
    ended_at: str | None

    def holds(self, at: str) -> bool:
        """Whether its token is good at a stored time."""
        return self.ended_at is None and at < self.expires_at


@dataclass(frozen=True, kw_only=True)
class NewAssistant:
    """What its owner decided about an assistant."""

    name: str
    permissions: frozenset[Permission]
    projects: frozenset[str] | None
    operations: frozenset[str] | None
    days: int


@dataclass(frozen=True, kw_only=True)
class Use:
    """How often one operation ended one way. operation: empty for a name that is none. code: `ok` or a refusal's."""

    operation: str
    code: str
    calls: int
    last_at: str


_COLUMNS = (
    assistant.c.id,
    assistant.c.digest,
    assistant.c.owner_id,
    assistant.c.name,
    assistant.c.permissions,
    assistant.c.projects,
    assistant.c.operations,
    assistant.c.created_at,
    credential.c.expires_at,
    credential.c.ended_at,
)
_JOINED = select(*_COLUMNS).join(credential, credential.c.digest == assistant.c.digest)
_ADD = prepared(insert(assistant))
_BY_DIGEST = prepared(_JOINED.where(assistant.c.digest == bindparam("k_digest")))
_WITH_OWNER = prepared(
    select(*_COLUMNS, *people.COLUMNS)
    .join(credential, credential.c.digest == assistant.c.digest)
    .join(person, person.c.id == assistant.c.owner_id)
    .where(assistant.c.digest == bindparam("k_digest"))
)
_OF_OWNER = prepared(
    _JOINED.where(assistant.c.owner_id == bindparam("k_owner_id")).order_by(assistant.c.created_at, assistant.c.id)
)
_USES = prepared(
    select(assistant_use.c.operation, assistant_use.c.code, assistant_use.c.calls, assistant_use.c.last_at)
    .where(assistant_use.c.assistant_id == bindparam("k_assistant_id"))
    .order_by(assistant_use.c.operation, assistant_use.c.code)
)
# ON CONFLICT has one spelling in both databases but one `insert()` per dialect in Core.
_COUNT_SQL = (
    "INSERT INTO assistant_use (assistant_id, operation, code, calls, last_at) VALUES ({0}) "
    "ON CONFLICT (assistant_id, operation, code) DO UPDATE SET "
    "calls = assistant_use.calls + excluded.calls, last_at = excluded.last_at"
)
_COUNT_FIELDS = ("assistant_id", "operation", "code", "calls", "last_at")
_COUNT = Prepared(
    sqlite=_COUNT_SQL.format(", ".join(f":{name}" for name in _COUNT_FIELDS)),
    postgresql=_COUNT_SQL.format(", ".join(f"%({name})s" for name in _COUNT_FIELDS)),
)


def add(tx: Tx, wanted: NewAssistant, *, owner_id: str) -> tuple[str, AssistantRow]:
    """Make an assistant; returns its token, which is never stored, and what is."""
    lifetime_s = wanted.days * credentials.DAY_S
    token = credentials.issue(tx, kind=CredentialKind.ASSISTANT, person_id=owner_id, lifetime_s=lifetime_s)
    digest = credentials.digest(token)
    tx.run(
        _ADD,
        id=tx.new_id(),
        digest=digest,
        owner_id=owner_id,
        name=wanted.name,
        permissions=canonical.text(sorted(wanted.permissions)),
        projects=_listed(wanted.projects),
        operations=_listed(wanted.operations),
        created_at=tx.at,
    )
    made = read(tx, digest)
    assert made is not None
    return token, made


def read(tx: Tx, digest: str) -> AssistantRow | None:
    """The assistant behind a token's digest, whatever its state."""
    row = tx.one(_BY_DIGEST, k_digest=digest)
    return _row(row) if row is not None else None


def with_owner(tx: Tx, digest: str) -> tuple[AssistantRow, PersonRow] | None:
    """The assistant behind a token's digest and whose it is, in one look: every call of a door begins with it."""
    row = tx.one(_WITH_OWNER, k_digest=digest)
    return (_row(row[: len(_COLUMNS)]), people.row(row[len(_COLUMNS) :])) if row is not None else None


def of_owner(tx: Tx, owner_id: str) -> tuple[AssistantRow, ...]:
    """Every assistant a person made, oldest first, ended ones too."""
    return tuple(_row(row) for row in tx.all(_OF_OWNER, k_owner_id=owner_id))


def revoke(tx: Tx, one: AssistantRow) -> bool:
    """End its token; False when it had ended before."""
    return credentials.end(tx, one.digest)


def uses(tx: Tx, assistant_id: str) -> tuple[Use, ...]:
    """How often it called what, and how that ended."""
    return tuple(
        Use(
            operation=cast("str", operation),
            code=cast("str", code),
            calls=cast("int", calls),
            last_at=cast("str", last_at),
        )
        for operation, code, calls, last_at in tx.all(_USES, k_assistant_id=assistant_id)
    )


def count(tx: Tx, assistant_id: str, use: Use) -> None:
    """Add to what it did."""
    tx.run(
        _COUNT,
        assistant_id=assistant_id,
        operation=use.operation,
        code=use.code,
        calls=use.calls,
        last_at=use.last_at,
    )


def _listed(names: frozenset[str] | None) -> str | None:
    return canonical.text(cast("Json", sorted(names))) if names is not None else None


@lru_cache(maxsize=256)
def _permissions(stored: str) -> frozenset[Permission]:
    held = _names(stored) or frozenset()
    return frozenset(each for each in Permission if each.value in held)


@lru_cache(maxsize=256)
def _names(stored: str | None) -> frozenset[str] | None:
    if stored is None:
        return None
    return frozenset(cast("Sequence[str]", canonical.parse(stored)))


def _row(row: Row) -> AssistantRow:
    identity, digest, owner_id, name, permissions, projects, operations, created_at, expires_at, ended_at = row
    return AssistantRow(
        id=cast("str", identity),
        digest=cast("str", digest),
        owner_id=cast("str", owner_id),
        name=cast("str", name),
        permissions=_permissions(cast("str", permissions)),
        projects=_names(cast("str | None", projects)),
        operations=_names(cast("str | None", operations)),
        created_at=cast("str", created_at),
        expires_at=cast("str", expires_at),
        ended_at=cast("str | None", ended_at),
    )
