"""Documents: heads, versions and what moves them (K04, S19)."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from support import instance, invariants
from workstead import errors
from workstead.kernel import documents, scopes
from workstead.kernel.access import Author
from workstead.kernel.documents import NewVersion
from workstead.kernel.transaction import Tx

pytestmark = pytest.mark.both_databases

ADA = Author(kind="person", name="Ada")


def text(words: str) -> NewVersion:
    return NewVersion(body={"text": words}, author=ADA, change="write", changed=("text",))


@contextmanager
def garden(path: Path) -> Iterator[Tx]:
    instance.founded(path)
    with instance.transaction(path) as tx:
        yield tx
    assert invariants.check(path) == []


@pytest.mark.covers("K04")
def test_a_published_change_makes_a_version_and_moves_the_head(tmp_path: Path) -> None:
    """Fresh head id, revision +1, the version names its predecessor."""
    with garden(tmp_path / "db") as tx:
        first = documents.create(tx, "doc", scope=scopes.INSTANCE, new=text("one"))
        second = documents.publish(tx, first, new=text("two"))
        assert (first.revision, first.version, second.revision, second.version) == (1, 1, 2, 2)
        assert second.head_id != first.head_id
        assert documents.current(tx, "doc") == second
        found = documents.read(tx, "doc", 2)
        assert found is not None
        assert found.body == {"text": "two"}
        assert (found.facts.id, found.facts.previous, found.facts.revision) == ("doc@2", 1, 2)
        assert (found.facts.author, found.facts.change, found.facts.changed) == (ADA, "write", ("text",))


@pytest.mark.covers("K04")
def test_an_old_version_stays_as_it_was_and_a_missing_number_is_nothing(tmp_path: Path) -> None:
    """Versions are immutable; absent numbers are never rounded to a neighbour."""
    with garden(tmp_path / "db") as tx:
        head = documents.create(tx, "doc", scope=scopes.INSTANCE, new=text("one"))
        documents.publish(tx, head, new=text("two"))
        first = documents.read(tx, "doc", 1)
        assert first is not None
        assert first.body == {"text": "one"}
        assert documents.read(tx, "doc", 3) is None
        assert documents.read(tx, "other", 1) is None
        assert documents.current(tx, "other") is None


@pytest.mark.covers("K04")
def test_an_equal_body_writes_nothing(tmp_path: Path) -> None:
    """A no-op writes nothing, unless the caller says that it counts."""
    with garden(tmp_path / "db") as tx:
        head = documents.create(tx, "doc", scope=scopes.INSTANCE, new=text("one"))
        assert documents.publish(tx, head, new=text("one")) == head
        assert len(documents.listed(tx, "doc")) == 1
        kept = documents.publish(tx, head, new=text("one"), keep_equal=True)
        assert (kept.revision, len(documents.listed(tx, "doc"))) == (2, 2)


@pytest.mark.covers("K04")
def test_a_current_only_change_moves_the_head_without_a_version(tmp_path: Path) -> None:
    """Drafts and queues (S19); the next version's number is sparse then."""
    with garden(tmp_path / "db") as tx:
        head = documents.create(tx, "doc", scope=scopes.INSTANCE, new=text("one"))
        touched = documents.touch(tx, documents.touch(tx, head))
        assert (touched.revision, touched.version) == (3, 1)
        assert len({head.head_id, touched.head_id}) == 2
        published = documents.publish(tx, touched, new=text("two"))
        assert (published.revision, published.version) == (4, 4)
        assert [(one.number, one.previous) for one in documents.listed(tx, "doc")] == [(1, None), (4, 1)]
        assert documents.read(tx, "doc", 2) is None


@pytest.mark.covers("K04")
def test_accepted_numbers_count_apart_from_revisions(tmp_path: Path) -> None:
    """Accepted record numbers are consecutive whatever the drafts did (S19)."""
    with garden(tmp_path / "db") as tx:
        head = documents.create(tx, "doc", scope=scopes.INSTANCE, new=None)
        assert (head.revision, head.version) == (1, None)
        for number in (1, 2, 3):
            head = documents.publish(tx, documents.touch(tx, head), new=text(f"accepted {number}"), number=number)
        assert [(one.number, one.revision) for one in documents.listed(tx, "doc")] == [(1, 3), (2, 5), (3, 7)]


@pytest.mark.covers("K04")
def test_a_head_that_has_moved_is_stale_and_says_what_is_current(tmp_path: Path) -> None:
    """Never last writer wins (house style 37)."""
    with garden(tmp_path / "db") as tx:
        head = documents.create(tx, "doc", scope=scopes.INSTANCE, new=text("one"))
        documents.publish(tx, head, new=text("two"))
        for late in (partial(documents.publish, new=text("three")), documents.touch):
            with pytest.raises(errors.Refusal) as refused:
                late(tx, head)
            assert refused.value.kind is errors.Kind.STALE
            assert refused.value.details == {"base_revision": 1, "current_revision": 2}
        assert len(documents.listed(tx, "doc")) == 2


@pytest.mark.covers("K04")
def test_a_base_revision_must_be_the_current_one_when_it_is_named(tmp_path: Path) -> None:
    """An edit that was decided on an old text is refused by the thing's own name."""
    with garden(tmp_path / "db") as tx:
        head = documents.create(tx, "doc", scope=scopes.INSTANCE, new=text("one"))
        documents.require_base("record", head, None)
        documents.require_base("record", head, 1)
        for wrong in (0, 2):
            with pytest.raises(errors.Refusal) as refused:
                documents.require_base("record", head, wrong)
            assert refused.value.code == "record_stale"
            assert refused.value.details == {"base_revision": wrong, "current_revision": 1}


def test_versions_are_listed_in_pages(tmp_path: Path) -> None:
    """A history may be long."""
    with garden(tmp_path / "db") as tx:
        head = documents.create(tx, "doc", scope=scopes.INSTANCE, new=text("0"))
        for n in range(1, 7):
            head = documents.publish(tx, head, new=text(str(n)))
        first = documents.listed(tx, "doc", limit=4)
        rest = documents.listed(tx, "doc", after=first[-1].number, limit=4)
        assert [one.number for one in (*first, *rest)] == [1, 2, 3, 4, 5, 6, 7]
