"""Lock scopes: every write names one; its row is locked first and numbers the feed (architecture, "Lock scopes")."""

from typing import cast

from sqlalchemy import bindparam, insert, literal_column, select, update

from workstead.kernel.store import prepared
from workstead.kernel.tables import scope
from workstead.kernel.transaction import Tx

INSTANCE = "instance"

_LOCK = prepared(select(scope.c.seq).where(scope.c.id == bindparam("k_id")).with_for_update())
_SEQ = prepared(select(scope.c.seq).where(scope.c.id == bindparam("k_id")))
_CREATE = prepared(insert(scope))
_NEXT = prepared(
    update(scope)
    .where(scope.c.id == bindparam("k_id"))
    .values(seq=scope.c.seq + literal_column("1"))
    .returning(scope.c.seq)
)


def project(project_id: str) -> str:
    """The scope of a project."""
    return f"project:{project_id}"


def account(person_id: str) -> str:
    """The scope of an account."""
    return f"account:{person_id}"


def create(tx: Tx, scope_id: str) -> None:
    """Make a scope; its feed starts at 1."""
    tx.run(_CREATE, id=scope_id, seq=0)


def lock(tx: Tx, scope_id: str) -> bool:
    """Lock the scope until the transaction ends; False when there is none."""
    return tx.one(_LOCK, k_id=scope_id) is not None


def last_seq(tx: Tx, scope_id: str) -> int:
    """The number of the newest row in the scope's feed; 0 before the first, and where there is no scope."""
    row = tx.one(_SEQ, k_id=scope_id)
    return cast("int", row[0]) if row is not None else 0


def next_seq(tx: Tx, scope_id: str) -> int:
    """The next number of the scope's feed."""
    row = tx.one(_NEXT, k_id=scope_id)
    if row is None:
        raise LookupError(f"no scope {scope_id}")
    return cast("int", row[0])
