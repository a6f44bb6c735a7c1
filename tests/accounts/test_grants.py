"""Grants of agents at work (K06; architecture, "deleting an account or share ends runs")."""

from pathlib import Path

import pytest

from support import instance, invariants
from workstead.accounts import grants
from workstead.accounts.grants import Grant

pytestmark = pytest.mark.both_databases


def grant(found: instance.Founded, identity: str, *, run_id: str = "run-1") -> Grant:
    return Grant(
        id=identity,
        project_id=found.project.id,
        run_id=run_id,
        activation_id="act-1",
        card_id="card-a",
        agent="executor",
        person_id=found.operator.person.id,
        operations=frozenset({"get_card", "edit_card"}),
    )


@pytest.mark.covers("K06")
def test_a_grant_names_its_operations_and_ends_once(tmp_path: Path) -> None:
    """It ends with its node task; a later end of the run must not move the time."""
    found = instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        grants.add(tx, grant(found, "g-1"))
        assert grants.read(tx, "g-1") == grant(found, "g-1")
        assert grants.read(tx, "missing") is None
        grants.end(tx, "g-1")
        ended = grants.read(tx, "g-1")
    with instance.transaction(tmp_path / "db") as tx:
        grants.end(tx, "g-1")
        assert grants.end_run(tx, "run-1") == 0
        assert grants.read(tx, "g-1") == ended
        assert ended is not None
        assert ended.ended_at is not None
    assert invariants.check(tmp_path / "db") == []


@pytest.mark.covers("K06")
def test_the_end_of_a_run_ends_its_grants_and_no_others(tmp_path: Path) -> None:
    """Stop ends everything that acts in its name."""
    found = instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        for identity, run_id in (("g-1", "run-1"), ("g-2", "run-1"), ("g-3", "run-2")):
            grants.add(tx, grant(found, identity, run_id=run_id))
        assert grants.end_run(tx, "run-1") == 2
        open_ = [one.id for name in ("g-1", "g-2", "g-3") if (one := grants.read(tx, name)) and one.ended_at is None]
    assert open_ == ["g-3"]
