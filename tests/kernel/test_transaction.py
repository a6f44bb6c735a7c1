"""Tx: one moment and one change id for everything a transaction writes (house style 38)."""

from pathlib import Path

from support import instance
from workstead.clock import iso
from workstead.testing import SetClock


def test_a_transaction_has_one_moment_however_long_it_takes(tmp_path: Path) -> None:
    """Rows of one change must not differ in their time."""
    instance.founded(tmp_path / "db")
    clock = SetClock()
    with instance.transaction(tmp_path / "db", clock=clock) as tx:
        first = tx.at
        clock.advance(seconds=5)
        assert tx.at == first == iso(SetClock().now())
    with instance.transaction(tmp_path / "db", clock=clock) as tx:
        assert tx.at > first


def test_a_transaction_has_one_change_id_and_fresh_row_ids(tmp_path: Path) -> None:
    """The change id ties version, receipt and feed row together."""
    instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        change = tx.change_id
        assert tx.change_id == change
        assert len({tx.new_id(), tx.new_id(), change}) == 3
    with instance.transaction(tmp_path / "db") as tx:
        assert tx.change_id != change
