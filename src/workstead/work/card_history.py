"""Reads of what cards were: versions, one exact version, differences (W03). Deleted cards stay readable here."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, cast

from pydantic import Field, JsonValue

from workstead import errors
from workstead.accounts import projects
from workstead.kernel import documents
from workstead.kernel.access import Author, Caller
from workstead.kernel.canonical import Json
from workstead.kernel.documents import Version, VersionFacts
from workstead.kernel.operations import AnyOperation, Effect, Operation
from workstead.kernel.transaction import Tx
from workstead.work import cards, pages, rules
from workstead.work.card_operations import CardId
from workstead.work.card_reads import READING
from workstead.work.pages import PageRead, Slice
from workstead.work.workflow import identity

_LISTS = ("children", "depends_on")

_CARD = Field(description="The card's id, as in card-a-b.")


class VersionSection(StrEnum):
    """The parts of a version that one call shows."""

    CHILDREN = "children"
    DEPENDENCIES = "dependencies"
    SUMMARY = "summary"


class ListCardVersions(PageRead):
    """Whose versions."""

    card_id: CardId = _CARD


class GetCardVersion(PageRead):
    """Which version."""

    card_id: CardId = _CARD
    version: int = Field(ge=1, description="Its exact number, as the list of versions has it; numbers have gaps.")
    section: VersionSection = Field(default=VersionSection.SUMMARY, description="Which part; one in each call.")


class DiffCardVersions(PageRead):
    """Which two versions."""

    card_id: CardId = _CARD
    from_version: int = Field(ge=1, description="The exact number of the earlier version.")
    to_version: int | Literal["current"] = Field(
        default="current", description="The exact number of the later version, or current."
    )


@dataclass(frozen=True, kw_only=True)
class VersionLine:
    """One version without its body. changed: the fields that differ from the one before."""

    id: str
    version: int
    revision: int
    previous: int | None
    at: str
    author: Author
    change: str
    changed: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, kw_only=True)
class VersionPage:
    """Versions, newest first."""

    card_id: str
    versions: tuple[VersionLine | Slice, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class CardVersion:
    """One version. fields: the card as it was, without its lists."""

    card_id: str
    version: VersionLine
    fields: dict[str, JsonValue]


@dataclass(frozen=True, kw_only=True)
class CardVersionList:
    """A list of one version: children include those deleted since, in their stored order."""

    card_id: str
    version: VersionLine
    card_ids: tuple[str | Slice, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class FieldDiff:
    """A field that differs."""

    field: str
    before: JsonValue
    after: JsonValue


@dataclass(frozen=True, kw_only=True)
class CardDiff:
    """Fields that differ, by name."""

    card_id: str
    from_version: int
    to_version: int
    fields: tuple[FieldDiff | Slice, ...]
    total: int
    next: str | None


CardVersionSection = CardVersion | CardVersionList


def listed(tx: Tx, caller: Caller, args: ListCardVersions) -> VersionPage:
    """Every version of a card, newest first."""
    name = _document(tx, caller, project=args.project, card_id=args.card_id)
    found = documents.Backwards(tx, name)
    page = pages.fit(pages.Lazy(found, version_line), args, beside=args.card_id)
    return VersionPage(card_id=args.card_id, versions=page.items, total=page.total, next=page.next)


def get(tx: Tx, caller: Caller, args: GetCardVersion) -> CardVersionSection:
    """One exact version, by sections."""
    name = _document(tx, caller, project=args.project, card_id=args.card_id)
    version = exact_version(tx, name, args.version, shown=f"{args.card_id}@{args.version}")
    facts = version_line(version.facts)
    if args.section is VersionSection.SUMMARY:
        if args.position is not None:
            raise errors.invalid("position_not_here", "The summary has one page; leave out position.")
        fields = {field: value for field, value in version.body.items() if field not in _LISTS}
        return CardVersion(card_id=args.card_id, version=facts, fields=fields)
    field = "children" if args.section is VersionSection.CHILDREN else "depends_on"
    page = pages.fit(cast("list[str]", version.body[field]), args, beside=facts)
    return CardVersionList(card_id=args.card_id, version=facts, card_ids=page.items, total=page.total, next=page.next)


def diff(tx: Tx, caller: Caller, args: DiffCardVersions) -> CardDiff:
    """Which fields differ between two versions, or between one and what is current."""
    name = _document(tx, caller, project=args.project, card_id=args.card_id)
    before = exact_version(tx, name, args.from_version, shown=f"{args.card_id}@{args.from_version}")
    number = newest_version(tx, name) if args.to_version == "current" else args.to_version
    after = exact_version(tx, name, number, shown=f"{args.card_id}@{number}")
    page = pages.fit(_differences(before.body, after.body), args, beside=args.card_id)
    return CardDiff(
        card_id=args.card_id,
        from_version=args.from_version,
        to_version=number,
        fields=page.items,
        total=page.total,
        next=page.next,
    )


def version_line(facts: VersionFacts) -> VersionLine:
    """A version as lists show it."""
    return VersionLine(
        id=facts.id,
        version=facts.number,
        revision=facts.revision,
        previous=facts.previous,
        at=facts.at,
        author=facts.author,
        change=facts.change,
        changed=facts.changed,
        sha256=facts.sha256,
    )


def exact_version(tx: Tx, document: str, number: int, *, shown: str) -> Version:
    """One version; raises not found, numbers are never rounded."""
    found = documents.read(tx, document, number)
    if found is None:
        raise errors.not_found("version", shown)
    return found


def newest_version(tx: Tx, document: str) -> int:
    """The number that the head names; raises not found while nothing was published."""
    head = documents.current(tx, document)
    if head is None or head.version is None:
        raise errors.not_found("version", document)
    return head.version


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="list_card_versions",
        summary="List the immutable versions of a card, newest first.",
        input=ListCardVersions,
        output=VersionPage,
        permissions=READING,
        effect=Effect.READ,
        doors=rules.EVERY_DOOR,
        handler=listed,
        lock=rules.lock,
    ),
    Operation(
        name="get_card_version",
        summary="Look at one exact version of a card.",
        input=GetCardVersion,
        output=cast("type[CardVersionSection]", CardVersionSection),
        permissions=READING,
        effect=Effect.READ,
        doors=rules.EVERY_DOOR,
        handler=get,
        lock=rules.lock,
    ),
    Operation(
        name="diff_card_versions",
        summary="Compare two versions of a card field by field, or one with what is current.",
        input=DiffCardVersions,
        output=CardDiff,
        permissions=READING,
        effect=Effect.READ,
        doors=rules.EVERY_DOOR,
        handler=diff,
        lock=rules.lock,
    ),
)


def _document(tx: Tx, caller: Caller, *, project: str, card_id: str) -> str:
    found = projects.visible(tx, caller, project)
    name = cards.document(found.id, identity.check_card_id(card_id))
    if documents.current(tx, name) is None:
        raise errors.not_found("card", card_id)
    return name


def _differences(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[FieldDiff]:
    names = sorted(before.keys() | after.keys())
    return [
        FieldDiff(field=name, before=before.get(name), after=after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    ]
