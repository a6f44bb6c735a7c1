"""Personal tokens: a person's own programs use the API with them, without what is for people only."""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import bindparam, insert, select

from workstead.accounts import credentials
from workstead.accounts.credentials import CredentialKind
from workstead.accounts.tables import api_token, credential
from workstead.kernel.store import Row, prepared
from workstead.kernel.transaction import Tx


@dataclass(frozen=True, kw_only=True)
class ApiToken:
    """One token, without its secret."""

    id: str
    digest: str
    name: str
    created_at: str
    expires_at: str
    ended_at: str | None

    def holds(self, at: str) -> bool:
        """Whether it is good at a stored time."""
        return self.ended_at is None and at < self.expires_at


_OF_PERSON = prepared(
    select(
        api_token.c.id,
        api_token.c.digest,
        api_token.c.name,
        api_token.c.created_at,
        credential.c.expires_at,
        credential.c.ended_at,
    )
    .join(credential, credential.c.digest == api_token.c.digest)
    .where(api_token.c.person_id == bindparam("k_person_id"))
    .order_by(api_token.c.created_at, api_token.c.id)
)
_ADD = prepared(insert(api_token))


def add(tx: Tx, *, person_id: str, name: str, days: int) -> tuple[str, ApiToken]:
    """Make a token; returns its secret, which is never stored, and what is."""
    secret = credentials.issue(tx, kind=CredentialKind.API, person_id=person_id, lifetime_s=days * credentials.DAY_S)
    digest = credentials.digest(secret)
    tx.run(_ADD, id=tx.new_id(), digest=digest, person_id=person_id, name=name, created_at=tx.at)
    return secret, next(each for each in of_person(tx, person_id) if each.digest == digest)


def of_person(tx: Tx, person_id: str) -> tuple[ApiToken, ...]:
    """Every token of a person, oldest first, ended ones too."""
    return tuple(_row(row) for row in tx.all(_OF_PERSON, k_person_id=person_id))


def revoke(tx: Tx, one: ApiToken) -> bool:
    """End it; False when it had ended before."""
    return credentials.end(tx, one.digest)


def _row(row: Row) -> ApiToken:
    identity, digest, name, created_at, expires_at, ended_at = row
    return ApiToken(
        id=cast("str", identity),
        digest=cast("str", digest),
        name=cast("str", name),
        created_at=cast("str", created_at),
        expires_at=cast("str", expires_at),
        ended_at=cast("str | None", ended_at),
    )
