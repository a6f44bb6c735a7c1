"""Lock scopes (architecture, "Data rules")."""

from pathlib import Path

import pytest

from support import instance
from workstead.kernel import scopes

pytestmark = pytest.mark.both_databases


def test_a_scope_counts_from_one(tmp_path: Path) -> None:
    """A cursor of 0 means: from the beginning."""
    instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        scopes.create(tx, scopes.project("new"))
        assert [scopes.next_seq(tx, "project:new") for _ in range(3)] == [1, 2, 3]


def test_locking_tells_whether_there_is_such_a_scope(tmp_path: Path) -> None:
    """The missing one is reported after authority, so locking must not raise."""
    instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        assert scopes.lock(tx, scopes.INSTANCE)
        assert not scopes.lock(tx, scopes.project("missing"))


def test_a_missing_scope_has_no_next_number(tmp_path: Path) -> None:
    """A feed row without its scope would never be followed."""
    instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx, pytest.raises(LookupError):
        scopes.next_seq(tx, scopes.account("missing"))


def test_scopes_of_different_things_never_meet() -> None:
    """A project must not lock an account of the same id."""
    assert len({scopes.project("x"), scopes.account("x"), scopes.INSTANCE}) == 3
