"""The checker finds what it is there to find; a checker that cannot fail proves nothing."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support import instance, invariants
from workstead.kernel import documents, feed
from workstead.kernel.access import Author
from workstead.kernel.documents import NewVersion

ACTIVATION = (
    "INSERT INTO activation VALUES ('a', 'r', 'p', 'card-a', 'gone', '{entry}', NULL, '2025', {closed}, {ending})"
)
RUN = "INSERT INTO run VALUES ('r', 'p', '{state}', '{wanted}', 'x', 'Ada', 'd', 1, '2026', NULL, NULL, NULL, NULL)"
CARD = (
    "INSERT INTO card VALUES "
    "('p', 'card-a', 'project', 0, 'task', 'A', '{status}', 0, 'normal', '[]', NULL, 1, '2026', 0)"
)
NOTICE = "INSERT INTO notification VALUES ('n', 'p', 'card-a', 'Look.', 'test', '2026', NULL)"


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    found = instance.founded(tmp_path / "db")
    with instance.transaction(found.path) as tx:
        author = Author(kind="person", name="Ada")
        first = NewVersion(body={"text": "one"}, author=author, change="write")
        head = documents.create(tx, "doc", scope=found.project.scope, new=first)
        documents.publish(tx, head, new=NewVersion(body={"text": "two"}, author=author, change="write"))
        for _ in range(3):
            feed.add(tx, found.project.scope, feed.Event.CARD_CHANGED, topic="cards/a")
    with closing(sqlite3.connect(found.path)) as opened:
        assert invariants.check(opened) == []
        yield opened


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("DELETE FROM version WHERE number = 1", "doc@2 follows 1, not None"),
        ('UPDATE version SET body = \'{"text":"forged"}\' WHERE number = 1', "not the body of its digest"),
        ("UPDATE head SET version = 1", "names version 1"),
        ("UPDATE head SET revision = 1", "has revision 1"),
        ("DELETE FROM head", "doc has versions and no head"),
        ("DELETE FROM feed WHERE seq = 2", "is not 1 to 3"),
        ("UPDATE scope SET seq = 9 WHERE id LIKE 'project:%'", "is not 1 to 9"),
        ("UPDATE feed SET event = 'odd'", "unknown event odd"),
        ("INSERT INTO effect_end VALUES ('e', 'done', '2026', 'b')", "the end of e has no claim"),
        ("DELETE FROM person", "which is not in person"),
        (ACTIVATION.format(entry="SIDEWAYS", closed="NULL", ending="NULL"), "activation.entry holds 'SIDEWAYS'"),
        (ACTIVATION.format(entry="BACKLOG", closed="'2026'", ending="'lost'"), "activation.ending holds 'lost'"),
        (ACTIVATION.format(entry="BACKLOG", closed="'2026'", ending="NULL"), "closed at 2026 as None"),
        (ACTIVATION.format(entry="BACKLOG", closed="'2024'", ending="'done'"), "before it began"),
        (ACTIVATION.format(entry="BACKLOG", closed="NULL", ending="NULL"), "which is not in card"),
        (ACTIVATION.format(entry="BACKLOG", closed="NULL", ending="NULL"), "is below gone of None"),
        (RUN.format(state="resting", wanted="run"), "run.state holds 'resting'"),
        (RUN.format(state="running", wanted="rest"), "run.wanted holds 'rest'"),
        (RUN.format(state="ended", wanted="run"), "is ended, ended at None as None"),
        ("UPDATE credential SET kind = 'key'", "credential.kind holds 'key'"),
        ("UPDATE credential SET ended_at = '1999'", "before it began"),
        (
            "INSERT INTO share SELECT project.id, person.id, 'king', '2026' FROM project, person",
            "share.role holds 'king'",
        ),
        ("INSERT INTO budget VALUES ('p', 'team', '', 1, NULL, NULL, 'Ada', '2026')", "budget.kind holds 'team'"),
        ("INSERT INTO comment VALUES ('c', 'p', 'card-a', '2026', 'person', 'Ada', 'Hm.')", "comment names p/card-a"),
        (
            "INSERT INTO notification VALUES ('n', 'p', 'card-a', 'Look.', 'test', '2026', NULL)",
            "notification names p/card-a",
        ),
        (f"{CARD.format(status='done')}; {NOTICE}", "a notice waits on card-a, which is done"),
        (CARD.format(status="resting"), "card.status holds 'resting'"),
        (CARD.format(status="running"), "card p/card-a has 0 live activations"),
        ("INSERT INTO record VALUES ('p', 'card-a', 'a.md', 0, NULL, NULL, NULL, NULL, NULL)", "record names p/card-a"),
        ("INSERT INTO record VALUES ('p', 'card-a', 'a.md', 2, NULL, NULL, NULL, NULL, NULL)", "has 2 accepted"),
        ("INSERT INTO node_visit VALUES ('gone', 0, 'do', 'agent:lead', '2026')", "which is not in activation"),
        ("INSERT INTO node_result VALUES ('gone', 0, 'done', 'Yes.', '2026')", "the node result gone 0 has no visit"),
        (
            "INSERT INTO assistant VALUES ('a', 'none', 'nobody', 'Claude', '[]', NULL, NULL, '2026')",
            "which is not in credential",
        ),
        ("INSERT INTO assistant_use VALUES ('a', 'x', 'ok', 1, '2026')", "which is not in assistant"),
    ],
)
def test_each_damage_is_found(raw: sqlite3.Connection, damage: str, says: str) -> None:
    """One broken promise, one sentence that names it."""
    raw.executescript(damage)
    assert any(says in breach for breach in invariants.check(raw))
