"""People: who has an account. A fresh instance has one, the operator."""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import bindparam, insert, literal_column, select

from workstead.accounts.tables import person
from workstead.kernel import scopes
from workstead.kernel.store import Row, prepared
from workstead.kernel.transaction import Tx


@dataclass(frozen=True, kw_only=True)
class PersonRow:
    """One account. suspended_at: set while the account may do nothing."""

    id: str
    name: str
    operator: bool
    created_at: str
    suspended_at: str | None


COLUMNS = (person.c.id, person.c.name, person.c.operator, person.c.created_at, person.c.suspended_at)
_ADD = prepared(insert(person))
_READ = prepared(select(*COLUMNS).where(person.c.id == bindparam("k_id")))
_OPERATOR = prepared(select(*COLUMNS).where(person.c.operator == literal_column("1")).order_by(person.c.created_at))


def add(tx: Tx, *, name: str, operator: bool) -> PersonRow:
    """Make an account with its scope."""
    made = PersonRow(id=tx.new_id(), name=name, operator=operator, created_at=tx.at, suspended_at=None)
    tx.run(_ADD, id=made.id, name=name, operator=int(operator), created_at=made.created_at, suspended_at=None)
    scopes.create(tx, scopes.account(made.id))
    return made


def read(tx: Tx, person_id: str) -> PersonRow | None:
    """One account, or None."""
    found = tx.one(_READ, k_id=person_id)
    return row(found) if found is not None else None


def operator(tx: Tx) -> PersonRow | None:
    """The first operator, or None before the first start has finished."""
    found = tx.one(_OPERATOR)
    return row(found) if found is not None else None


def row(columns: Row) -> PersonRow:
    """The account in a row of COLUMNS."""
    identity, name, is_operator, created_at, suspended_at = columns
    return PersonRow(
        id=cast("str", identity),
        name=cast("str", name),
        operator=is_operator == 1,
        created_at=cast("str", created_at),
        suspended_at=cast("str | None", suspended_at),
    )
