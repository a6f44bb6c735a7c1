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
    ],
)
def test_each_damage_is_found(raw: sqlite3.Connection, damage: str, says: str) -> None:
    """One broken promise, one sentence that names it."""
    raw.execute(damage)
    assert any(says in breach for breach in invariants.check(raw))
