"""Leases: who may do a thing that only one may do; a fence number tells an old holder that it was replaced."""

from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from sqlalchemy import bindparam, select, update

from workstead.clock import iso, parse_iso
from workstead.jobs.tables import lease
from workstead.kernel.store import Prepared, prepared
from workstead.kernel.transaction import Tx

LEASE_S = 30.0
RENEW_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Lease:
    """A held lease. fence: +1 with each new holder."""

    name: str
    owner: str
    fence: int
    until: str


# Two servers may make it at the same moment; ON CONFLICT has one spelling in both databases but not in Core.
_ADD_SQL = "INSERT INTO lease (name, owner, fence, until) VALUES ({0}) ON CONFLICT (name) DO NOTHING"
_FIELDS = ("name", "owner", "fence", "until")
_ADD = Prepared(
    sqlite=_ADD_SQL.format(", ".join(f":{name}" for name in _FIELDS)),
    postgresql=_ADD_SQL.format(", ".join(f"%({name})s" for name in _FIELDS)),
)
_READ = prepared(
    select(lease.c.name, lease.c.owner, lease.c.fence, lease.c.until)
    .where(lease.c.name == bindparam("k_name"))
    .with_for_update()
)
_TAKE = prepared(
    update(lease)
    .where(lease.c.name == bindparam("k_name"), lease.c.fence == bindparam("k_fence"))
    .values(owner=bindparam("owner"), fence=bindparam("fence"), until=bindparam("until"))
)


def claim(tx: Tx, name: str, *, owner: str, dead: bool = False) -> Lease | None:
    """Take the lease when nobody holds it; None while another owner does.

    dead: the other owner is known to be gone (another boot of the only server), so its time need not run out.
    """
    until = _until(tx)
    row = tx.one(_READ, k_name=name)
    if row is None:
        if tx.run(_ADD, name=name, owner=owner, fence=1, until=until) == 1:
            return Lease(name=name, owner=owner, fence=1, until=until)
        # Another made it between the two statements.
        row = tx.one(_READ, k_name=name)
        if row is None:
            raise LookupError(f"lease {name} neither made nor found")
    held = Lease(name=name, owner=cast("str", row[1]), fence=cast("int", row[2]), until=cast("str", row[3]))
    if held.owner not in {owner, ""} and held.until > tx.at and not dead:
        return None
    taken = Lease(name=name, owner=owner, fence=held.fence + 1, until=until)
    return taken if _move(tx, held, taken) else None


def renew(tx: Tx, held: Lease) -> Lease | None:
    """Hold it for longer; None when another has taken it."""
    longer = Lease(name=held.name, owner=held.owner, fence=held.fence, until=_until(tx))
    return longer if _move(tx, held, longer) else None


def release(tx: Tx, held: Lease) -> bool:
    """Let it go; False when another has taken it."""
    return _move(tx, held, Lease(name=held.name, owner="", fence=held.fence, until=tx.at))


def stands(tx: Tx, held: Lease) -> bool:
    """Whether it still is ours."""
    row = tx.one(_READ, k_name=held.name)
    return row is not None and row[1] == held.owner and row[2] == held.fence


def _move(tx: Tx, held: Lease, now: Lease) -> bool:
    moved = tx.run(_TAKE, k_name=held.name, k_fence=held.fence, owner=now.owner, fence=now.fence, until=now.until)
    return moved == 1


def _until(tx: Tx) -> str:
    return iso(parse_iso(tx.at) + timedelta(seconds=LEASE_S))
