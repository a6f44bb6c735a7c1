"""Receipts: the stored answer to a request key (K05); each write's receipt is also its invocation record (K07)."""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import bindparam, delete, select, update

from workstead import errors
from workstead.kernel.store import Prepared, prepared
from workstead.kernel.tables import receipt
from workstead.kernel.transaction import Tx

ANSWER_LIMIT_BYTES = 1024
KEPT_DAYS = 30


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What a receipt answers with: the answer itself when it is short, else what to render again."""

    answer: str | None
    answer_id: str | None
    answer_revision: int | None


# ON CONFLICT has one spelling in both databases but one `insert()` per dialect in Core.
_INSERT_SQL = (
    "INSERT INTO receipt (subject, operation, request_id, digest, scope, change_id, at) "
    "VALUES ({0}) ON CONFLICT (subject, operation, request_id) DO NOTHING"
)
_FIELDS = ("subject", "operation", "request_id", "digest", "scope", "change_id", "at")
_INSERT = Prepared(
    sqlite=_INSERT_SQL.format(", ".join(f":{name}" for name in _FIELDS)),
    postgresql=_INSERT_SQL.format(", ".join(f"%({name})s" for name in _FIELDS)),
)
_KEY = (
    receipt.c.subject == bindparam("k_subject"),
    receipt.c.operation == bindparam("k_operation"),
    receipt.c.request_id == bindparam("k_request_id"),
)
_READ = prepared(
    select(receipt.c.digest, receipt.c.answer, receipt.c.answer_id, receipt.c.answer_revision).where(*_KEY)
)
_ANSWER = prepared(
    update(receipt)
    .where(*_KEY)
    .values(
        answer=bindparam("answer"),
        answer_id=bindparam("answer_id"),
        answer_revision=bindparam("answer_revision"),
    )
)
_RELEASE = prepared(delete(receipt).where(*_KEY))
_SWEEP = prepared(delete(receipt).where(receipt.c.at < bindparam("k_at")))


@dataclass(frozen=True, kw_only=True)
class Key:
    """Who asked for which operation under which request id."""

    subject: str
    operation: str
    request_id: str


def claim(tx: Tx, key: Key, *, digest: str, scope: str | None) -> Kept | None:
    """Insert the receipt; None means that this is the first time, else what was answered then.

    Raises `conflict` when the key was used with another input.
    """
    inserted = tx.run(
        _INSERT,
        subject=key.subject,
        operation=key.operation,
        request_id=key.request_id,
        digest=digest,
        scope=scope,
        change_id=tx.change_id,
        at=tx.at,
    )
    if inserted == 1:
        return None
    row = tx.one(_READ, k_subject=key.subject, k_operation=key.operation, k_request_id=key.request_id)
    if row is None:
        raise LookupError(f"receipt {key} neither inserted nor found")
    if row[0] != digest:
        message = "This request id was used before with another input; choose a fresh one."
        raise errors.conflict("request_id_reused", message, request_id=key.request_id)
    return Kept(
        answer=cast("str | None", row[1]),
        answer_id=cast("str | None", row[2]),
        answer_revision=cast("int | None", row[3]),
    )


def keep(tx: Tx, key: Key, kept: Kept) -> None:
    """Store what a repeat of the key is answered with."""
    tx.run(
        _ANSWER,
        k_subject=key.subject,
        k_operation=key.operation,
        k_request_id=key.request_id,
        answer=kept.answer,
        answer_id=kept.answer_id,
        answer_revision=kept.answer_revision,
    )


def find(tx: Tx, key: Key) -> Kept | None:
    """What was answered to a key, or None when nothing was written under it."""
    row = tx.one(_READ, k_subject=key.subject, k_operation=key.operation, k_request_id=key.request_id)
    if row is None:
        return None
    return Kept(
        answer=cast("str | None", row[1]),
        answer_id=cast("str | None", row[2]),
        answer_revision=cast("int | None", row[3]),
    )


def release(tx: Tx, key: Key) -> None:
    """Take a claim back under which nothing was done, so that its key is free again."""
    tx.run(_RELEASE, k_subject=key.subject, k_operation=key.operation, k_request_id=key.request_id)


def sweep(tx: Tx, *, before: str) -> int:
    """Delete receipts older than a stored time; returns how many."""
    return tx.run(_SWEEP, k_at=before)
