"""Documents: things with a head and immutable versions (K04).

A published change makes a version; a change of a document's current-only part moves head and revision alone (S19).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast, overload

from sqlalchemy import bindparam, func, insert, literal_column, select, update

from workstead import errors
from workstead.kernel import canonical
from workstead.kernel.access import Author
from workstead.kernel.canonical import Json
from workstead.kernel.store import Row, prepared
from workstead.kernel.tables import head, version
from workstead.kernel.transaction import Tx


@dataclass(frozen=True, kw_only=True)
class Head:
    """What is current. revision: +1 with every change. version: the number of the newest immutable version."""

    document: str
    scope: str
    head_id: str
    revision: int
    version: int | None
    at: str


@dataclass(frozen=True, kw_only=True)
class NewVersion:
    """What is to be published. change: the kind of change. changed: names of the fields that differ."""

    body: Mapping[str, Json]
    author: Author
    change: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class VersionFacts:
    """A version without its body."""

    document: str
    number: int
    revision: int
    at: str
    author: Author
    change: str
    changed: tuple[str, ...]
    previous: int | None
    sha256: str

    @property
    def id(self) -> str:
        """The printed id, `document@number`."""
        return f"{self.document}@{self.number}"


@dataclass(frozen=True, kw_only=True)
class Version:
    """A version with its body."""

    facts: VersionFacts
    body: Mapping[str, Json]


# As many as fit on a page of a list.
_STRETCH = 256
_FACTS = (
    version.c.document,
    version.c.number,
    version.c.revision,
    version.c.at,
    version.c.author,
    version.c.change,
    version.c.changed,
    version.c.previous,
    version.c.sha256,
)
_HEAD = prepared(
    select(head.c.document, head.c.scope, head.c.head_id, head.c.revision, head.c.version, head.c.at).where(
        head.c.document == bindparam("k_document")
    )
)
_NEW_HEAD = prepared(insert(head))
_MOVE = prepared(
    update(head)
    .where(head.c.document == bindparam("k_document"), head.c.revision == bindparam("k_revision"))
    .values(
        head_id=bindparam("head_id"),
        revision=bindparam("revision"),
        version=bindparam("version"),
        at=bindparam("at"),
    )
)
_NEW_VERSION = prepared(insert(version))
_VERSION = prepared(
    select(*_FACTS, version.c.body).where(
        version.c.document == bindparam("k_document"), version.c.number == bindparam("k_number")
    )
)
_SHA = prepared(
    select(version.c.sha256).where(
        version.c.document == bindparam("k_document"), version.c.number == bindparam("k_number")
    )
)
_VERSIONS = prepared(
    select(*_FACTS)
    .where(version.c.document == bindparam("k_document"), version.c.number > bindparam("k_after"))
    .order_by(version.c.number)
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)


_COUNT = prepared(
    select(func.count(literal_column("*"))).select_from(version).where(version.c.document == bindparam("k_document"))
)
_BACK = prepared(
    select(*_FACTS)
    .where(version.c.document == bindparam("k_document"))
    .order_by(version.c.number.desc())
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)
_NEWEST = prepared(
    select(*_FACTS)
    .where(version.c.document == bindparam("k_document"), version.c.at <= bindparam("k_until"))
    .order_by(version.c.number.desc())
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)


def current(tx: Tx, document: str) -> Head | None:
    """The document's head, or None."""
    row = tx.one(_HEAD, k_document=document)
    return _head(row) if row is not None else None


def create(tx: Tx, document: str, *, scope: str, new: NewVersion | None) -> Head:
    """Make the document at revision 1, with its first version unless it starts with a current-only part."""
    made = Head(
        document=document,
        scope=scope,
        head_id=tx.change_id,
        revision=1,
        version=1 if new is not None else None,
        at=tx.at,
    )
    tx.run(
        _NEW_HEAD,
        document=document,
        scope=scope,
        head_id=made.head_id,
        revision=made.revision,
        version=made.version,
        at=made.at,
    )
    if new is not None:
        _insert_version(tx, made, body=canonical.text(new.body), previous=None, new=new)
    return made


def publish(tx: Tx, was: Head, *, new: NewVersion, number: int | None = None, keep_equal: bool = False) -> Head:
    """Publish a version and move the head.

    number: the version's own number where it is counted apart from the revision (accepted records). An equal body
    writes nothing and returns the old head, unless `keep_equal`. Raises `stale` when the head has moved.
    """
    body = canonical.text(new.body)
    sha256 = canonical.digest_text(body)
    if not keep_equal and was.version is not None:
        row = tx.one(_SHA, k_document=was.document, k_number=was.version)
        if row is not None and row[0] == sha256:
            return was
    moved = _move(tx, was, version_number=was.revision + 1 if number is None else number)
    _insert_version(tx, moved, body=body, previous=was.version, new=new)
    return moved


def touch(tx: Tx, was: Head) -> Head:
    """Move head and revision for a change of the current-only part. Raises `stale` when the head has moved."""
    return _move(tx, was, version_number=was.version)


def require_base(thing: str, was: Head, base_revision: int | None) -> None:
    """Refuse a change that was decided on another revision than the current one (K04)."""
    if base_revision is not None and base_revision != was.revision:
        raise errors.stale(thing, base=base_revision, current=was.revision)


def read(tx: Tx, document: str, number: int) -> Version | None:
    """One exact version, or None: absent numbers are never rounded to a neighbour."""
    row = tx.one(_VERSION, k_document=document, k_number=number)
    if row is None:
        return None
    *facts, body = row
    return Version(facts=_facts(tuple(facts)), body=cast("Mapping[str, Json]", canonical.parse(cast("str", body))))


def listed(tx: Tx, document: str, *, after: int = 0, limit: int = 200) -> tuple[VersionFacts, ...]:
    """Versions in order of their numbers, after one of them."""
    rows = tx.all(_VERSIONS, k_document=document, k_after=after, k_limit=limit, k_offset=0)
    return tuple(_facts(row) for row in rows)


class Backwards(Sequence[VersionFacts]):
    """Every version of a document, newest first, read in stretches as they are looked at."""

    def __init__(self, tx: Tx, document: str) -> None:
        self._tx = tx
        self._document = document
        found = tx.one(_COUNT, k_document=document)
        self._count = cast("int", found[0]) if found is not None else 0
        self._first = 0
        self._stretch: tuple[VersionFacts, ...] = ()

    @overload
    def __getitem__(self, index: int) -> VersionFacts: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[VersionFacts]: ...
    def __getitem__(self, index: int | slice) -> VersionFacts | Sequence[VersionFacts]:
        """One version, or several; 0 is the newest."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self._count))]
        if not 0 <= index < self._count:
            raise IndexError(index)
        if not self._first <= index < self._first + len(self._stretch):
            rows = self._tx.all(_BACK, k_document=self._document, k_limit=_STRETCH, k_offset=index)
            self._first, self._stretch = index, tuple(_facts(row) for row in rows)
        return self._stretch[index - self._first]

    def __len__(self) -> int:
        """How many there are."""
        return self._count


def newest(tx: Tx, document: str, *, until: str, limit: int) -> tuple[VersionFacts, ...]:
    """Versions up to a moment, newest first."""
    return tuple(_facts(row) for row in tx.all(_NEWEST, k_document=document, k_until=until, k_limit=limit, k_offset=0))


def _move(tx: Tx, was: Head, *, version_number: int | None) -> Head:
    moved = Head(
        document=was.document,
        scope=was.scope,
        head_id=tx.new_id(),
        revision=was.revision + 1,
        version=version_number,
        at=tx.at,
    )
    done = tx.run(
        _MOVE,
        k_document=was.document,
        k_revision=was.revision,
        head_id=moved.head_id,
        revision=moved.revision,
        version=moved.version,
        at=moved.at,
    )
    if done != 1:
        now = current(tx, was.document)
        raise errors.stale("document", base=was.revision, current=now.revision if now else 0)
    return moved


def _insert_version(tx: Tx, at_head: Head, *, body: str, previous: int | None, new: NewVersion) -> None:
    tx.run(
        _NEW_VERSION,
        document=at_head.document,
        number=at_head.version,
        revision=at_head.revision,
        at=tx.at,
        author=canonical.text({"kind": new.author.kind, "name": new.author.name}),
        change=new.change,
        changed=canonical.text(list(new.changed)),
        change_id=tx.change_id,
        previous=previous,
        sha256=canonical.digest_text(body),
        body=body,
    )


def _head(row: Row) -> Head:
    document, scope_id, head_id, revision, number, at = row
    return Head(
        document=cast("str", document),
        scope=cast("str", scope_id),
        head_id=cast("str", head_id),
        revision=cast("int", revision),
        version=cast("int | None", number),
        at=cast("str", at),
    )


def _facts(row: Row) -> VersionFacts:
    document, number, revision, at, author, change, changed, previous, sha256 = row
    who = cast("dict[str, str]", canonical.parse(cast("str", author)))
    return VersionFacts(
        document=cast("str", document),
        number=cast("int", number),
        revision=cast("int", revision),
        at=cast("str", at),
        author=Author(kind=who["kind"], name=who["name"]),
        change=cast("str", change),
        changed=tuple(cast("list[str]", canonical.parse(cast("str", changed)))),
        previous=cast("int | None", previous),
        sha256=cast("str", sha256),
    )
