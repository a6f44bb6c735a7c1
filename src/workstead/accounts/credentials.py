"""Credentials: secrets that prove a person or their assistant. Only their digest is stored.

Each kind is useless for the others.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import cast

from sqlalchemy import bindparam, insert, select, update

from workstead.accounts.tables import credential
from workstead.clock import iso, parse_iso
from workstead.kernel.store import prepared
from workstead.kernel.transaction import Tx


class CredentialKind(StrEnum):
    """What a secret opens."""

    API = "api"  # a personal token for programs of one's own
    ASSISTANT = "assistant"  # an assistant's token
    LINK = "link"  # a one-time sign-in link
    SIGN_IN = "sign_in"  # a browser's cookie


DAY_S = 86_400
PREFIXES = {
    CredentialKind.API: "ws_api_",
    CredentialKind.ASSISTANT: "ws_ast_",
    CredentialKind.LINK: "ws_link_",
    CredentialKind.SIGN_IN: "ws_in_",
}
LIFETIMES_S = {
    CredentialKind.API: 30 * DAY_S,
    CredentialKind.ASSISTANT: 30 * DAY_S,
    CredentialKind.LINK: 600,
    CredentialKind.SIGN_IN: 30 * DAY_S,
}


@dataclass(frozen=True, kw_only=True)
class Credential:
    """A stored credential, without its secret."""

    digest: str
    kind: CredentialKind
    person_id: str
    expires_at: str
    ended_at: str | None

    def holds(self, at: str) -> bool:
        """Whether it is good at a stored time."""
        return self.ended_at is None and at < self.expires_at


_ADD = prepared(insert(credential))
_READ = prepared(
    select(
        credential.c.digest,
        credential.c.kind,
        credential.c.person_id,
        credential.c.expires_at,
        credential.c.ended_at,
    ).where(credential.c.digest == bindparam("k_digest"))
)
_END = prepared(
    update(credential)
    .where(credential.c.digest == bindparam("k_digest"), credential.c.ended_at.is_(None))
    .values(ended_at=bindparam("ended_at"))
)


def digest(secret: str) -> str:
    """The stored form of a secret. Ours carry 256 random bits, so a plain hash cannot be guessed back."""
    return hashlib.sha256(secret.encode()).hexdigest()


def issue(tx: Tx, *, kind: CredentialKind, person_id: str, lifetime_s: int | None = None) -> str:
    """Make a credential and return its secret, which is never stored. lifetime_s: the kind's own when None."""
    secret = PREFIXES[kind] + secrets.token_urlsafe(32)
    expires = parse_iso(tx.at) + timedelta(seconds=LIFETIMES_S[kind] if lifetime_s is None else lifetime_s)
    tx.run(
        _ADD,
        digest=digest(secret),
        kind=kind.value,
        person_id=person_id,
        created_at=tx.at,
        expires_at=iso(expires),
        ended_at=None,
    )
    return secret


def read(tx: Tx, secret_digest: str) -> Credential | None:
    """The credential behind a digest, whatever its state."""
    row = tx.one(_READ, k_digest=secret_digest)
    if row is None:
        return None
    found, kind, person_id, expires_at, ended_at = row
    return Credential(
        digest=cast("str", found),
        kind=CredentialKind(cast("str", kind)),
        person_id=cast("str", person_id),
        expires_at=cast("str", expires_at),
        ended_at=cast("str | None", ended_at),
    )


def end(tx: Tx, secret_digest: str) -> bool:
    """End it; False when it had ended before."""
    return tx.run(_END, k_digest=secret_digest, ended_at=tx.at) == 1
