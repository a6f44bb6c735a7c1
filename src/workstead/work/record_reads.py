"""Reads of records: what counts now, every accepted text, differences by hunks (W04)."""

from dataclasses import dataclass
from typing import Literal, cast

from pydantic import Field

from workstead import errors
from workstead.accounts import projects
from workstead.accounts.projects import Project
from workstead.kernel import documents
from workstead.kernel.access import Caller
from workstead.kernel.operations import AnyOperation, Effect, Operation
from workstead.kernel.transaction import Tx
from workstead.work import cards, pages, records, rules, text_diff
from workstead.work.card_history import VersionLine, exact_version, newest_version, version_line
from workstead.work.card_operations import CardId
from workstead.work.card_reads import READING, CardRecords
from workstead.work.pages import PageRead, Slice, TextRead
from workstead.work.records import Record, Source
from workstead.work.text_diff import Hunk
from workstead.work.workflow import identity

_CARD = Field(description="The card whose record it is.")
_NAME = Field(min_length=1, max_length=66, description="The record's name, as in status.md.")


class ListRecords(PageRead):
    """Whose records."""

    card_id: CardId = _CARD


class ReadRecord(TextRead):
    """Which record."""

    card_id: CardId = _CARD
    name: str = _NAME


class ListRecordVersions(PageRead):
    """Whose accepted texts."""

    card_id: CardId = _CARD
    name: str = _NAME


class ReadRecordVersion(TextRead):
    """Which accepted text."""

    card_id: CardId = _CARD
    name: str = _NAME
    version: int = Field(ge=1, description="Its accepted number.")


class DiffRecordVersions(PageRead):
    """Which two texts."""

    card_id: CardId = _CARD
    name: str = _NAME
    from_version: int = Field(ge=1, description="The accepted number of the earlier text.")
    to_version: int | Literal["current"] = Field(
        default="current", description="The accepted number of the later text, or current: what counts now."
    )


@dataclass(frozen=True, kw_only=True)
class RecordText:
    """The text that counts now, or a stretch of it. source: None for an empty record. url: its reusable address."""

    card_id: str
    name: str
    url: str
    source: Source | None
    version: int
    accepted: int
    revision: int
    head_id: str
    content: str
    offset: int
    next_offset: int | None
    total_bytes: int


@dataclass(frozen=True, kw_only=True)
class AcceptedText:
    """One accepted text, or a stretch of it."""

    card_id: str
    name: str
    url: str
    version: VersionLine
    content: str
    offset: int
    next_offset: int | None
    total_bytes: int


@dataclass(frozen=True, kw_only=True)
class RecordVersionPage:
    """Accepted texts without their bodies, newest first."""

    card_id: str
    name: str
    versions: tuple[VersionLine | Slice, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class RecordDiff:
    """Where two texts differ. to_version: None when the later one is what counts now and not accepted."""

    card_id: str
    name: str
    from_version: int
    to_version: int | None
    hunks: tuple[Hunk | Slice, ...]
    total: int
    next: str | None


def listed(tx: Tx, caller: Caller, args: ListRecords) -> CardRecords:
    """The records of a card that exist; one query."""
    project = projects.visible(tx, caller, args.project)
    card = cards.find(tx, project, args.card_id)
    page = pages.fit(records.lines(tx, project.id, card.id), args, beside=card.id)
    return CardRecords(card_id=card.id, records=page.items, total=page.total, next=page.next)


def read(tx: Tx, caller: Caller, args: ReadRecord) -> RecordText:
    """What counts now: the draft, else the newest accepted text, else the starter."""
    project = projects.visible(tx, caller, args.project)
    card = cards.find(tx, project, args.card_id)
    one = _record(tx, project, card_id=card.id, name=args.name)
    effective = records.effective(tx, one)
    part = pages.stretch(effective.content if effective is not None else "", args)
    return RecordText(
        card_id=card.id,
        name=one.name,
        url=records.url(card.id, one.name),
        source=effective.source if effective is not None else None,
        version=effective.version if effective is not None else 0,
        accepted=one.accepted,
        revision=one.head.revision,
        head_id=one.head.head_id,
        content=part.text,
        offset=part.offset_bytes,
        next_offset=part.next_offset_bytes,
        total_bytes=part.total_bytes,
    )


def versions(tx: Tx, caller: Caller, args: ListRecordVersions) -> RecordVersionPage:
    """Every accepted text of a record, newest first; of deleted cards too."""
    project = projects.visible(tx, caller, args.project)
    one = _record(tx, project, card_id=args.card_id, name=args.name)
    found = documents.Backwards(tx, one.head.document)
    page = pages.fit(pages.Lazy(found, version_line), args, beside=one.head.document)
    return RecordVersionPage(card_id=args.card_id, name=one.name, versions=page.items, total=page.total, next=page.next)


def read_version(tx: Tx, caller: Caller, args: ReadRecordVersion) -> AcceptedText:
    """One accepted text; of deleted cards too."""
    project = projects.visible(tx, caller, args.project)
    one = _record(tx, project, card_id=args.card_id, name=args.name)
    shown = f"{args.card_id}/{one.name}@{args.version}"
    version = exact_version(tx, one.head.document, args.version, shown=shown)
    part = pages.stretch(cast("str", version.body["content"]), args)
    return AcceptedText(
        card_id=args.card_id,
        name=one.name,
        url=records.url(args.card_id, one.name, version=args.version),
        version=version_line(version.facts),
        content=part.text,
        offset=part.offset_bytes,
        next_offset=part.next_offset_bytes,
        total_bytes=part.total_bytes,
    )


def diff(tx: Tx, caller: Caller, args: DiffRecordVersions) -> RecordDiff:
    """Where an accepted text differs from another, or from what counts now."""
    project = projects.visible(tx, caller, args.project)
    one = _record(tx, project, card_id=args.card_id, name=args.name)
    before = _accepted(tx, one, args.from_version)
    if args.to_version == "current":
        effective = records.effective(tx, one)
        after = effective.content if effective is not None else ""
        accepted = effective is not None and effective.source is Source.ACCEPTED
        number = newest_version(tx, one.head.document) if accepted else None
    else:
        after, number = _accepted(tx, one, args.to_version), args.to_version
    page = pages.fit(text_diff.hunks(before, after), args, beside=one.head.document)
    return RecordDiff(
        card_id=args.card_id,
        name=one.name,
        from_version=args.from_version,
        to_version=number,
        hunks=page.items,
        total=page.total,
        next=page.next,
    )


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="list_records",
        summary="List the records of a card.",
        input=ListRecords,
        output=CardRecords,
        permissions=READING,
        effect=Effect.READ,
        doors=rules.EVERY_DOOR,
        handler=listed,
        lock=rules.lock,
    ),
    Operation(
        name="read_record",
        summary="Read a record's text as it counts now, in stretches if it is long.",
        input=ReadRecord,
        output=RecordText,
        permissions=READING,
        effect=Effect.READ,
        doors=rules.EVERY_DOOR,
        handler=read,
        lock=rules.lock,
    ),
    Operation(
        name="list_record_versions",
        summary="List the accepted texts of a record, newest first.",
        input=ListRecordVersions,
        output=RecordVersionPage,
        permissions=READING,
        effect=Effect.READ,
        doors=rules.EVERY_DOOR,
        handler=versions,
        lock=rules.lock,
    ),
    Operation(
        name="read_record_version",
        summary="Read one accepted text of a record, in stretches if it is long.",
        input=ReadRecordVersion,
        output=AcceptedText,
        permissions=READING,
        effect=Effect.READ,
        doors=rules.EVERY_DOOR,
        handler=read_version,
        lock=rules.lock,
    ),
    Operation(
        name="diff_record_versions",
        summary="Compare two accepted texts of a record, or one with what counts now.",
        input=DiffRecordVersions,
        output=RecordDiff,
        permissions=READING,
        effect=Effect.READ,
        doors=rules.EVERY_DOOR,
        handler=diff,
        lock=rules.lock,
    ),
)


def _record(tx: Tx, project: Project, *, card_id: str, name: str) -> Record:
    found = records.read(tx, project.id, identity.check_card_id(card_id), records.check_name(name))
    if found is None:
        raise errors.not_found("record", f"{card_id}/{name}")
    return found


def _accepted(tx: Tx, one: Record, number: int) -> str:
    shown = f"{one.card_id}/{one.name}@{number}"
    return cast("str", exact_version(tx, one.head.document, number, shown=shown).body["content"])
