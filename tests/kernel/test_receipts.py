"""Receipts on their own; with authority around them in test_operations (K05)."""

from pathlib import Path

import pytest

from support import instance, invariants
from workstead import errors
from workstead.clock import iso
from workstead.kernel import receipts, scopes
from workstead.kernel.receipts import Kept, Key
from workstead.testing import SetClock

pytestmark = pytest.mark.both_databases

KEY = Key(subject="person:a", operation="create_note", request_id="r-1")
ANSWER = Kept(answer='{"ok":true}', answer_id=None, answer_revision=None)
DIGEST, OTHER = "d" * 64, "e" * 64


@pytest.mark.covers("K05")
def test_a_known_key_gives_what_was_kept(tmp_path: Path) -> None:
    """A repeated request id with the same input gets the first answer."""
    instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        assert receipts.claim(tx, KEY, digest=DIGEST, scope=scopes.INSTANCE) is None
        receipts.keep(tx, KEY, ANSWER)
    with instance.transaction(tmp_path / "db") as tx:
        assert receipts.claim(tx, KEY, digest=DIGEST, scope=scopes.INSTANCE) == ANSWER
        assert receipts.find(tx, KEY) == ANSWER
    assert invariants.check(tmp_path / "db") == []


@pytest.mark.covers("K05")
def test_a_key_with_another_input_is_a_conflict(tmp_path: Path) -> None:
    """Two different wishes under one id: the second must not look done."""
    instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        receipts.claim(tx, KEY, digest=DIGEST, scope=None)
        with pytest.raises(errors.Refusal) as refused:
            receipts.claim(tx, KEY, digest=OTHER, scope=None)
        assert (refused.value.kind, refused.value.code) == (errors.Kind.CONFLICT, "request_id_reused")
        assert refused.value.details == {"request_id": "r-1"}


@pytest.mark.covers("K05")
@pytest.mark.parametrize(
    "other",
    [
        Key(subject="person:b", operation="create_note", request_id="r-1"),
        Key(subject="person:a", operation="edit_note", request_id="r-1"),
        Key(subject="person:a", operation="create_note", request_id="r-2"),
    ],
)
def test_keys_of_other_people_operations_and_ids_are_apart(tmp_path: Path, other: Key) -> None:
    """Nobody gets another's answer by guessing a request id."""
    instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        receipts.claim(tx, KEY, digest=DIGEST, scope=None)
        receipts.keep(tx, KEY, ANSWER)
    with instance.transaction(tmp_path / "db") as tx:
        assert receipts.find(tx, other) is None
        assert receipts.claim(tx, other, digest=DIGEST, scope=None) is None


def test_old_receipts_are_swept_and_young_ones_stay(tmp_path: Path) -> None:
    """Kept for 30 days (architecture, "Lock scopes")."""
    clock = SetClock()
    instance.founded(tmp_path / "db", clock=clock)
    with instance.transaction(tmp_path / "db", clock=clock) as tx:
        receipts.claim(tx, KEY, digest=DIGEST, scope=None)
    young = Key(subject="person:a", operation="create_note", request_id="r-2")
    before = iso(clock.advance(seconds=1))
    with instance.transaction(tmp_path / "db", clock=clock) as tx:
        receipts.claim(tx, young, digest=DIGEST, scope=None)
        assert receipts.sweep(tx, before=before) == 1
        assert (receipts.find(tx, KEY) is None, receipts.find(tx, young) is None) == (True, False)
