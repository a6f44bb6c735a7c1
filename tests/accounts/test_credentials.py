"""Credentials: secrets that are shown once and useless for anything else (K01, K06)."""

from pathlib import Path

import pytest

from support import instance
from support.database import dump
from workstead.accounts import credentials
from workstead.accounts.credentials import LIFETIMES_S, PREFIXES, CredentialKind
from workstead.clock import iso
from workstead.testing import SetClock

pytestmark = pytest.mark.both_databases


@pytest.mark.covers("K01")
@pytest.mark.parametrize("kind", list(CredentialKind))
def test_only_the_digest_of_a_secret_is_stored(tmp_path: Path, kind: CredentialKind) -> None:
    """Whoever reads the file cannot sign in."""
    found = instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        secret = credentials.issue(tx, kind=kind, person_id=found.operator.person.id)
    assert secret.startswith(PREFIXES[kind])
    assert len(secret.removeprefix(PREFIXES[kind])) == 43
    stored = dump(tmp_path / "db")
    assert credentials.digest(secret) in stored
    assert secret not in stored
    with instance.transaction(tmp_path / "db") as tx:
        read = credentials.read(tx, credentials.digest(secret))
        assert read is not None
        assert (read.kind, read.person_id, read.ended_at) == (kind, found.operator.person.id, None)
        assert credentials.read(tx, credentials.digest(secret + "x")) is None


@pytest.mark.covers("K06")
@pytest.mark.parametrize("kind", list(CredentialKind))
def test_a_credential_holds_until_its_time_is_over(tmp_path: Path, kind: CredentialKind) -> None:
    """Ten minutes for a link, thirty days for a sign-in; at the end it does not hold any more."""
    clock = SetClock()
    found = instance.founded(tmp_path / "db", clock=clock)
    with instance.transaction(tmp_path / "db", clock=clock) as tx:
        secret = credentials.issue(tx, kind=kind, person_id=found.operator.person.id)
        read = credentials.read(tx, credentials.digest(secret))
    assert read is not None
    assert read.holds(iso(clock.now()))
    assert read.holds(iso(clock.advance(seconds=LIFETIMES_S[kind] - 0.000001)))
    assert not read.holds(iso(clock.advance(seconds=0.000001)))


@pytest.mark.covers("K01", "K06")
def test_a_credential_ends_once(tmp_path: Path) -> None:
    """A one-time link is spent by whoever ended it first."""
    found = instance.founded(tmp_path / "db")
    digest = credentials.digest(found.operator.secret)
    with instance.transaction(tmp_path / "db") as tx:
        assert [credentials.end(tx, digest), credentials.end(tx, digest)] == [True, False]
        assert not credentials.end(tx, "unknown")
        read = credentials.read(tx, digest)
        assert read is not None
        assert not read.holds(tx.at)
