"""Records: named Markdown texts of a card: baseline, draft or accepted (W04).

A document's versions are the accepted texts, numbered from 1 without gaps; baseline and draft are current only and
move the head alone (S19).
"""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import cast

from sqlalchemy import bindparam, insert, select, update

from workstead import errors
from workstead.kernel import documents, faults, feed
from workstead.kernel.access import Author
from workstead.kernel.documents import Head, NewVersion, Version, VersionFacts
from workstead.kernel.store import Row, prepared
from workstead.kernel.tables import head
from workstead.kernel.transaction import Tx
from workstead.work.cards import Card
from workstead.work.tables import record

LIMIT_BYTES = 1_048_576

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}\.md")


class Source(StrEnum):
    """Where the text that counts now comes from."""

    ACCEPTED = "accepted"
    BASELINE = "baseline"
    DRAFT = "draft"


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The one text that can change. version: 0 while it still is the starter. target: its number when accepted.

    opened_at: when it was opened or last written.
    """

    content: str
    version: int
    target: int
    opened_at: str


@dataclass(frozen=True, kw_only=True)
class Record:
    """One record as it is now. accepted: its newest accepted number, 0 while there is none."""

    project_id: str
    card_id: str
    name: str
    accepted: int
    baseline: str | None
    draft: Draft | None
    head: Head


@dataclass(frozen=True, kw_only=True)
class Effective:
    """The text that counts now."""

    source: Source
    content: str
    version: int


@dataclass(frozen=True, kw_only=True)
class RecordLine:
    """What a list shows of a record. source: None for an empty one. version: 0 for a starter, the target of a draft."""

    name: str
    source: Source | None
    version: int
    accepted: int
    revision: int
    head_id: str
    updated_at: str


_COLUMNS = (
    record.c.accepted,
    record.c.baseline,
    record.c.draft,
    record.c.draft_version,
    record.c.draft_target,
    record.c.opened_at,
    head.c.document,
    head.c.scope,
    head.c.head_id,
    head.c.revision,
    head.c.version,
    head.c.at,
)
_KEY = (record.c.project_id == bindparam("k_project_id"), record.c.card_id == bindparam("k_card_id"))
_READ = prepared(
    select(*_COLUMNS)
    .select_from(record.join(head, head.c.document == bindparam("k_document")))
    .where(*_KEY, record.c.name == bindparam("k_name"))
)
_NAMES = prepared(select(record.c.name).where(*_KEY).order_by(record.c.name))
_LINES = prepared(
    select(
        record.c.name,
        record.c.accepted,
        record.c.baseline.is_not(None),
        record.c.draft_target,
        head.c.revision,
        head.c.head_id,
        head.c.at,
    )
    .select_from(record.join(head, head.c.document == bindparam("k_prefix").concat(record.c.name)))
    .where(*_KEY)
    .order_by(record.c.name)
)
_ADD = prepared(insert(record))
_SAVE = prepared(
    update(record)
    .where(*_KEY, record.c.name == bindparam("k_name"))
    .values(
        accepted=bindparam("accepted"),
        baseline=bindparam("baseline"),
        draft=bindparam("draft"),
        draft_version=bindparam("draft_version"),
        draft_target=bindparam("draft_target"),
        opened_at=bindparam("opened_at"),
    )
)


def check_name(name: str) -> str:
    """The same name; raises `invalid`."""
    if _NAME.fullmatch(name) is None:
        message = "A record's name is lowercase letters, digits and hyphens, then .md, as in status.md."
        raise errors.invalid("record_name_malformed", message)
    return name


def document(project_id: str, card_id: str, name: str) -> str:
    """The document that a record's accepted texts belong to."""
    return f"record:{project_id}/{card_id}/{name}"


def url(card_id: str, name: str, *, version: int | None = None) -> str:
    """The address of a record: what is current, or one accepted text."""
    pinned = "" if version is None else f"&v={version}"
    return f"record:///{name}?card={card_id}{pinned}"


def read(tx: Tx, project_id: str, card_id: str, name: str) -> Record | None:
    """The record as it is now, or None when nothing was ever written under the name."""
    row = tx.one(
        _READ,
        k_document=document(project_id, card_id, name),
        k_project_id=project_id,
        k_card_id=card_id,
        k_name=name,
    )
    return _record(project_id, card_id, name, row) if row is not None else None


def names(tx: Tx, project_id: str, card_id: str) -> tuple[str, ...]:
    """The card's records that exist, by name."""
    found = tx.all(_NAMES, k_project_id=project_id, k_card_id=card_id)
    return tuple(cast("str", row[0]) for row in found)


def lines(tx: Tx, project_id: str, card_id: str) -> tuple[RecordLine, ...]:
    """The card's records without their texts, by name; one query."""
    found = tx.all(_LINES, k_project_id=project_id, k_card_id=card_id, k_prefix=document(project_id, card_id, ""))
    return tuple(_line(row) for row in found)


def accepted(tx: Tx, project_id: str, card_id: str, name: str, *, version: int) -> Version | None:
    """One accepted text, or None: numbers are never rounded."""
    return documents.read(tx, document(project_id, card_id, name), version)


def history(tx: Tx, project_id: str, card_id: str, name: str, *, after: int = 0) -> tuple[VersionFacts, ...]:
    """The accepted texts without their bodies, from the first."""
    return documents.listed(tx, document(project_id, card_id, name), after=after)


def effective(tx: Tx, one: Record) -> Effective | None:
    """The text that counts now: the draft, else the newest accepted, else the starter; None after a discard."""
    if one.draft is not None:
        return Effective(source=Source.DRAFT, content=one.draft.content, version=one.draft.version)
    if one.accepted:
        return Effective(source=Source.ACCEPTED, content=content(tx, one, one.accepted), version=one.accepted)
    if one.baseline is not None:
        return Effective(source=Source.BASELINE, content=one.baseline, version=0)
    return None


def content(tx: Tx, one: Record, version: int) -> str:
    """The text of one accepted version that is known to exist."""
    found = documents.read(tx, one.head.document, version)
    if found is None:
        raise LookupError(f"{one.head.document}@{version} is named by its row and missing")
    return cast("str", found.body["content"])


def initialize(tx: Tx, card: Card, name: str, *, text: str) -> Record:
    """Give an absent record its starter; one that exists in any state is left as it is."""
    there = read(tx, card.project_id, card.id, name)
    if there is not None:
        return there
    return _create(tx, card, name, baseline=text, draft=None)


def open_draft(tx: Tx, card: Card, name: str) -> Record:
    """Start afresh for a node that wants a clean record: an open draft is discarded, accepted texts stay behind."""
    one = read(tx, card.project_id, card.id, name)
    if one is None:
        return _create(tx, card, name, baseline=None, draft=Draft(content="", version=1, target=1, opened_at=tx.at))
    if one.draft is not None:
        one = discard(tx, one)
    if one.baseline is not None:
        draft = Draft(content=one.baseline, version=0, target=1, opened_at=tx.at)
    else:
        target = one.accepted + 1
        draft = Draft(content="", version=target, target=target, opened_at=tx.at)
    return _save(tx, replace(one, baseline=None, draft=draft, head=documents.touch(tx, one.head)))


def write_draft(tx: Tx, card: Card, name: str, *, text: str) -> Record:
    """Put a text into the draft, opening it when there is none. Raises `conflict` when nothing would change."""
    _check_text(text)
    one = read(tx, card.project_id, card.id, name)
    if one is None:
        return _create(tx, card, name, baseline=None, draft=Draft(content=text, version=1, target=1, opened_at=tx.at))
    now = effective(tx, one)
    if now is not None and now.content == text:
        raise errors.conflict("record_unchanged", f"{name} already says exactly this; nothing was written.")
    target = one.draft.target if one.draft is not None else one.accepted + 1
    # A draft that an interrupted activation left is this writer's now, to be closed or dropped with its node.
    draft = Draft(content=text, version=target, target=target, opened_at=tx.at)
    return _save(tx, replace(one, baseline=None, draft=draft, head=documents.touch(tx, one.head)))


def accept_draft(tx: Tx, card: Card, one: Record, *, author: Author) -> Record:
    """Close the draft as the next accepted text. Raises `conflict` for an empty or unwritten one."""
    if one.draft is None or one.draft.version == 0 or not one.draft.content.strip():
        raise errors.conflict("record_not_acceptable", f"{one.name} has no written draft to accept.")
    return _accept(tx, card, one, text=one.draft.content, author=author)


def accept_text(tx: Tx, card: Card, name: str, *, text: str, author: Author, keep_equal: bool = False) -> Record:
    """Accept a text directly: a brief, a person's correction, an action's output.

    Raises `conflict` when an agent's draft is open or, unless `keep_equal`, when nothing would change.
    """
    _check_text(text)
    one = read(tx, card.project_id, card.id, name)
    if one is None:
        return _create_accepted(tx, card, name, text=text, author=author)
    if one.draft is not None:
        message = f"An agent has an open draft of {name}; wait until it is accepted or stop the run."
        raise errors.conflict("record_draft_open", message)
    if not keep_equal and one.accepted and content(tx, one, one.accepted) == text:
        raise errors.conflict("record_unchanged", f"{name} already says exactly this; nothing was written.")
    return _accept(tx, card, one, text=text, author=author)


def discard(tx: Tx, one: Record) -> Record:
    """Drop the draft; accepted texts stay. An empty record stays established, its starter does not come back."""
    if one.draft is None:
        return one
    return _save(tx, replace(one, draft=None, head=documents.touch(tx, one.head)))


def _check_text(text: str) -> None:
    if "\0" in text:
        raise errors.invalid("record_not_text", "A record is text and holds no NUL.")
    if not text.strip():
        raise errors.invalid("record_empty", "A record needs text; white space is not enough.")
    size = len(text.encode())
    if size > LIMIT_BYTES:
        message = f"A record holds at most {LIMIT_BYTES} bytes and this is {size}; put the rest into a file."
        raise errors.invalid("record_too_large", message, size_bytes=size, limit_bytes=LIMIT_BYTES)


def _version(card: Card, *, text: str, author: Author) -> NewVersion:
    return NewVersion(
        body={"content": text, "card_revision": card.head.revision, "card_version": card.head.version},
        author=author,
        change="accepted",
        changed=("content",),
    )


def _accept(tx: Tx, card: Card, one: Record, *, text: str, author: Author) -> Record:
    number = one.accepted + 1
    moved = documents.publish(
        tx, one.head, new=_version(card, text=text, author=author), number=number, keep_equal=True
    )
    saved = _save(tx, replace(one, accepted=number, baseline=None, draft=None, head=moved))
    faults.point("record.accepted")
    return saved


def _create(tx: Tx, card: Card, name: str, *, baseline: str | None, draft: Draft | None) -> Record:
    made = documents.create(tx, document(card.project_id, card.id, name), scope=card.head.scope, new=None)
    return _add(
        tx,
        Record(
            project_id=card.project_id,
            card_id=card.id,
            name=name,
            accepted=0,
            baseline=baseline,
            draft=draft,
            head=made,
        ),
    )


def _create_accepted(tx: Tx, card: Card, name: str, *, text: str, author: Author) -> Record:
    made = documents.create(
        tx,
        document(card.project_id, card.id, name),
        scope=card.head.scope,
        new=_version(card, text=text, author=author),
    )
    return _add(
        tx,
        Record(
            project_id=card.project_id, card_id=card.id, name=name, accepted=1, baseline=None, draft=None, head=made
        ),
    )


def _add(tx: Tx, one: Record) -> Record:
    tx.run(
        _ADD,
        project_id=one.project_id,
        card_id=one.card_id,
        name=check_name(one.name),
        accepted=one.accepted,
        baseline=one.baseline,
        **_draft_columns(one.draft),
    )
    return _told(tx, one)


def _save(tx: Tx, one: Record) -> Record:
    tx.run(
        _SAVE,
        k_project_id=one.project_id,
        k_card_id=one.card_id,
        k_name=one.name,
        accepted=one.accepted,
        baseline=one.baseline,
        **_draft_columns(one.draft),
    )
    return _told(tx, one)


def _told(tx: Tx, one: Record) -> Record:
    topic = f"cards/{one.card_id}/records/{one.name}"
    feed.add(tx, one.head.scope, feed.Event.RECORD_CHANGED, topic=topic, revision=one.head.revision)
    return one


def _draft_columns(draft: Draft | None) -> dict[str, str | int | None]:
    if draft is None:
        return {"draft": None, "draft_version": None, "draft_target": None, "opened_at": None}
    return {
        "draft": draft.content,
        "draft_version": draft.version,
        "draft_target": draft.target,
        "opened_at": draft.opened_at,
    }


def _line(row: Row) -> RecordLine:
    name, number, baseline, target, revision, head_id, at = cast("tuple[str, int, int, int | None, int, str, str]", row)
    source = Source.ACCEPTED if number else Source.BASELINE if baseline else None
    return RecordLine(
        name=name,
        source=source if target is None else Source.DRAFT,
        version=number if target is None else target,
        accepted=number,
        revision=revision,
        head_id=head_id,
        updated_at=at,
    )


def _record(project_id: str, card_id: str, name: str, row: Row) -> Record:
    number, baseline, draft, draft_version, draft_target, opened_at, *fields = row
    found, scope, head_id, revision, version, at = fields
    return Record(
        project_id=project_id,
        card_id=card_id,
        name=name,
        accepted=cast("int", number),
        baseline=cast("str | None", baseline),
        draft=None
        if draft is None
        else Draft(
            content=cast("str", draft),
            version=cast("int", draft_version),
            target=cast("int", draft_target),
            opened_at=cast("str", opened_at),
        ),
        head=Head(
            document=cast("str", found),
            scope=cast("str", scope),
            head_id=cast("str", head_id),
            revision=cast("int", revision),
            version=cast("int | None", version),
            at=cast("str", at),
        ),
    )
