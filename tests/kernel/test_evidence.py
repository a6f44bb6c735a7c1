"""Evidence: append-only, by lane, newest first (K08)."""

from pathlib import Path

import pytest

from support import instance, invariants
from workstead.kernel import evidence, scopes
from workstead.kernel.evidence import Lane

pytestmark = pytest.mark.both_databases


def write(path: Path, *events: str, lane: Lane = Lane.EVENTS, scope: str = scopes.INSTANCE) -> None:
    with instance.transaction(path) as tx:
        for n, event in enumerate(events):
            evidence.add(tx, scope, lane, event=event, actor="person:a", subject="card:c", detail={"n": n})


@pytest.mark.covers("K08")
def test_facts_are_listed_newest_first_in_their_lane(tmp_path: Path) -> None:
    """Rows of one transaction keep their order too."""
    instance.founded(tmp_path / "db")
    write(tmp_path / "db", *["runs:run:started"] * 50)
    write(tmp_path / "db", "accounts:link:spent", lane=Lane.CONTROL)
    with instance.transaction(tmp_path / "db") as tx:
        facts = evidence.listed(tx, scopes.INSTANCE, Lane.EVENTS)
        assert [fact.detail["n"] for fact in facts] == list(range(49, -1, -1))
        (control,) = evidence.listed(tx, scopes.INSTANCE, Lane.CONTROL)
    assert (control.event, control.actor, control.subject) == ("accounts:link:spent", "person:a", "card:c")
    assert control.lane is Lane.CONTROL
    assert invariants.check(tmp_path / "db") == []


@pytest.mark.covers("K08")
def test_facts_are_paged_and_filtered(tmp_path: Path) -> None:
    """`before` is the last id seen; an event is exact or a pattern."""
    instance.founded(tmp_path / "db")
    write(tmp_path / "db", "runs:run:started", "runs:run:ended", "jobs:lease:lost", "runs:run:started")
    with instance.transaction(tmp_path / "db") as tx:
        first = evidence.listed(tx, scopes.INSTANCE, Lane.EVENTS, limit=3)
        rest = evidence.listed(tx, scopes.INSTANCE, Lane.EVENTS, before=first[-1].id, limit=3)
        assert [fact.detail["n"] for fact in (*first, *rest)] == [3, 2, 1, 0]
        exact = evidence.listed(tx, scopes.INSTANCE, Lane.EVENTS, event="runs:run:started")
        pattern = evidence.listed(tx, scopes.INSTANCE, Lane.EVENTS, event="jobs:%")
    assert [fact.detail["n"] for fact in exact] == [3, 0]
    assert [fact.detail["n"] for fact in pattern] == [2]


def test_facts_of_another_scope_are_not_listed(tmp_path: Path) -> None:
    """A project's page shows its own."""
    found = instance.founded(tmp_path / "db")
    write(tmp_path / "db", "runs:run:started", scope=found.project.scope)
    with instance.transaction(tmp_path / "db") as tx:
        assert evidence.listed(tx, scopes.INSTANCE, Lane.EVENTS) == ()
