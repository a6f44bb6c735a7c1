"""The timeline of a card: what happened to it, what its work came to, and what people said, newest first (W29)."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from pydantic import Field
from sqlalchemy import bindparam, select

from workstead import errors
from workstead.accounts import projects
from workstead.accounts.projects import Project
from workstead.agents.tables import process, process_end
from workstead.kernel import canonical, documents
from workstead.kernel.access import Caller, Permission
from workstead.kernel.documents import VersionFacts
from workstead.kernel.operations import AnyOperation, Effect, Operation
from workstead.kernel.store import prepared
from workstead.kernel.transaction import Tx
from workstead.runs.tables import activation, node_result, node_visit
from workstead.work import cards, comments, records
from workstead.work.rules import PEOPLES_DOORS, ProjectRead, lock
from workstead.work.workflow import identity

PAGE_ENTRIES = 50
PAGE_BYTES = 60_000
# Entries of one moment are cut by their ids, so a source is read a little further than the page needs.
_TIES = 30
_END = "9999"


class Kind(StrEnum):
    """What an entry tells of."""

    CHANGE = "change"  # a version of the card
    COMMAND = "command"  # a command began
    COMMENT = "comment"
    ENDED = "ended"  # an activation closed
    OUTCOME = "outcome"  # a step of the work came to something
    RECORD = "record"  # a text of the card was accepted
    STARTED = "started"  # an activation opened


class Show(StrEnum):
    """Which entries one wants."""

    ALL = "all"
    COMMANDS = "commands"
    OUTCOMES = "outcomes"
    PEOPLE = "people"


_SHOWN: dict[Show, frozenset[Kind]] = {
    Show.ALL: frozenset(Kind),
    Show.COMMANDS: frozenset({Kind.COMMAND}),
    Show.OUTCOMES: frozenset({Kind.ENDED, Kind.OUTCOME, Kind.RECORD}),
    Show.PEOPLE: frozenset({Kind.COMMENT}),
}


class ListTimeline(ProjectRead):
    """Whose timeline, and which part of it."""

    card_id: str = Field(min_length=1, max_length=400, description="The card's id, as in card-a-b.")
    show: Show = Field(default=Show.ALL, description="Which entries.")
    position: str | None = Field(
        default=None, max_length=200, description="`next` of the page before, unchanged; leave it out to start."
    )
    limit: int = Field(default=PAGE_ENTRIES, ge=1, le=PAGE_ENTRIES, description="How many entries at most.")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One thing that happened.

    by: who, as kind:name. what: the kind of change, the outcome, the node or the command. text: what was said.
    version: of the card or the record. agent: whose conversation has more. code: a command's exit code.
    """

    id: str
    at: str
    kind: Kind
    by: str
    what: str
    text: str | None = None
    status: str | None = None
    changed: tuple[str, ...] = ()
    record: str | None = None
    version: int | None = None
    agent: str | None = None
    process_id: str | None = None
    end: str | None = None
    code: int | None = None


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """A page of entries, newest first."""

    card_id: str
    entries: tuple[Entry, ...]
    next: str | None


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    project: Project
    card_id: str
    until: str
    limit: int


_STARTED = prepared(
    select(activation.c.id, activation.c.entry, activation.c.direction, activation.c.opened_at)
    .where(
        activation.c.project_id == bindparam("k_project_id"),
        activation.c.card_id == bindparam("k_card_id"),
        activation.c.opened_at <= bindparam("k_until"),
    )
    .order_by(activation.c.id.desc())
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)
_ENDED = prepared(
    select(activation.c.id, activation.c.ending, activation.c.closed_at)
    .where(
        activation.c.project_id == bindparam("k_project_id"),
        activation.c.card_id == bindparam("k_card_id"),
        activation.c.closed_at <= bindparam("k_until"),
    )
    .order_by(activation.c.closed_at.desc(), activation.c.id.desc())
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)
_OUTCOMES = prepared(
    select(
        node_result.c.activation_id,
        node_result.c.ordinal,
        node_visit.c.node,
        node_visit.c.executor,
        node_result.c.outcome,
        node_result.c.summary,
        node_result.c.at,
    )
    .select_from(
        activation.join(node_result, node_result.c.activation_id == activation.c.id).join(
            node_visit,
            (node_visit.c.activation_id == node_result.c.activation_id)
            & (node_visit.c.ordinal == node_result.c.ordinal),
        )
    )
    .where(
        activation.c.project_id == bindparam("k_project_id"),
        activation.c.card_id == bindparam("k_card_id"),
        node_result.c.at <= bindparam("k_until"),
    )
    .order_by(node_result.c.at.desc())
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)
_COMMANDS = prepared(
    select(
        process.c.id,
        process.c.command,
        process.c.started_at,
        process_end.c.kind,
        process_end.c.code,
    )
    .select_from(process.outerjoin(process_end, process_end.c.process_id == process.c.id))
    .where(
        process.c.project_id == bindparam("k_project_id"),
        process.c.card_id == bindparam("k_card_id"),
        process.c.started_at <= bindparam("k_until"),
    )
    .order_by(process.c.id.desc())
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)


def listed(tx: Tx, caller: Caller, args: ListTimeline) -> Timeline:
    """A page of the timeline. Raises `card_not_found`, and `invalid` for a mangled position."""
    project = projects.visible(tx, caller, args.project)
    card_id = cards.find(tx, project, identity.check_card_id(args.card_id)).id
    at, after = _position(args.position)
    wanted = _Wanted(project=project, card_id=card_id, until=at, limit=args.limit + _TIES)
    kinds = _SHOWN[args.show]
    found = [entry for entry in _entries(tx, wanted, kinds) if (entry.at, entry.id) < (at, after)]
    found.sort(key=lambda entry: (entry.at, entry.id), reverse=True)
    page = _fitting(found, args.limit)
    last = page[-1] if len(page) < len(found) else None
    return Timeline(card_id=card_id, entries=tuple(page), next=f"{last.at} {last.id}" if last is not None else None)


def _entries(tx: Tx, wanted: _Wanted, kinds: frozenset[Kind]) -> Iterator[Entry]:
    if Kind.CHANGE in kinds:
        yield from _changes(tx, wanted)
    if Kind.RECORD in kinds:
        yield from _records(tx, wanted)
    if Kind.STARTED in kinds:
        yield from _started(tx, wanted)
    if Kind.ENDED in kinds:
        yield from _ended(tx, wanted)
    if Kind.OUTCOME in kinds:
        yield from _outcomes(tx, wanted)
    if Kind.COMMAND in kinds:
        yield from _commands(tx, wanted)
    if Kind.COMMENT in kinds:
        yield from _comments(tx, wanted)


def _changes(tx: Tx, wanted: _Wanted) -> Iterator[Entry]:
    name = cards.document(wanted.project.id, wanted.card_id)
    for facts in documents.newest(tx, name, until=wanted.until, limit=wanted.limit):
        yield Entry(
            id=f"card@{facts.number:010}",
            at=facts.at,
            kind=Kind.CHANGE,
            by=_by(facts),
            what=facts.change,
            status=_status(tx, name, facts),
            changed=facts.changed,
            version=facts.number,
        )


def _status(tx: Tx, name: str, facts: VersionFacts) -> str | None:
    if "status" not in facts.changed:
        return None
    found = documents.read(tx, name, facts.number)
    return str(found.body["status"]) if found is not None else None


def _records(tx: Tx, wanted: _Wanted) -> Iterator[Entry]:
    for record in records.names(tx, wanted.project.id, wanted.card_id):
        name = records.document(wanted.project.id, wanted.card_id, record)
        for facts in documents.newest(tx, name, until=wanted.until, limit=wanted.limit):
            yield Entry(
                id=f"record:{record}@{facts.number:010}",
                at=facts.at,
                kind=Kind.RECORD,
                by=_by(facts),
                what=facts.change,
                record=record,
                version=facts.number,
            )


def _started(tx: Tx, wanted: _Wanted) -> Iterator[Entry]:
    for identity_, entry, direction, at in tx.all(_STARTED, **_keys(wanted)):
        yield Entry(
            id=f"started:{identity_}",
            at=cast("str", at),
            kind=Kind.STARTED,
            by="run",
            what=cast("str", entry),
            text=cast("str | None", direction),
        )


def _ended(tx: Tx, wanted: _Wanted) -> Iterator[Entry]:
    for identity_, ending, at in tx.all(_ENDED, **_keys(wanted)):
        yield Entry(
            id=f"ended:{identity_}",
            at=cast("str", at),
            kind=Kind.ENDED,
            by="run",
            what=cast("str | None", ending) or "ended",
        )


def _outcomes(tx: Tx, wanted: _Wanted) -> Iterator[Entry]:
    for identity_, ordinal, node, executor, outcome, summary, at in tx.all(_OUTCOMES, **_keys(wanted)):
        kind, _, name = cast("str", executor).partition(":")
        yield Entry(
            id=f"outcome:{identity_}:{cast('int', ordinal):06}",
            at=cast("str", at),
            kind=Kind.OUTCOME,
            by=cast("str", executor),
            what=cast("str", node),
            end=cast("str", outcome),
            text=cast("str", summary) or None,
            agent=name if kind == "agent" else None,
        )


def _commands(tx: Tx, wanted: _Wanted) -> Iterator[Entry]:
    for identity_, command, at, end, code in tx.all(_COMMANDS, **_keys(wanted)):
        yield Entry(
            id=f"command:{identity_}",
            at=cast("str", at),
            kind=Kind.COMMAND,
            by="run",
            what=cast("str", command),
            process_id=cast("str", identity_),
            end=cast("str | None", end),
            code=cast("int | None", code),
        )


def _comments(tx: Tx, wanted: _Wanted) -> Iterator[Entry]:
    found = comments.newest(tx, wanted.project.id, wanted.card_id, until=wanted.until, limit=wanted.limit)
    for one in found:
        yield Entry(
            id=f"comment:{one.id}",
            at=one.at,
            kind=Kind.COMMENT,
            by=f"{one.author.kind}:{one.author.name}",
            what="said",
            text=one.text,
        )


def _fitting(found: list[Entry], limit: int) -> list[Entry]:
    """As many of the first as a page may have, at least one."""
    page: list[Entry] = []
    size_bytes = 0
    for entry in found[:limit]:
        size_bytes += len(canonical.dump(dataclasses.asdict(entry)))
        if page and size_bytes > PAGE_BYTES:
            break
        page.append(entry)
    return page


def _position(position: str | None) -> tuple[str, str]:
    if position is None:
        return _END, ""
    at, _, identity_ = position.partition(" ")
    if not at.endswith("Z") or not identity_:
        issue = errors.Issue(path="position", message="copy `next` back unchanged")
        raise errors.invalid("position_invalid", "This is no position of a timeline.", issues=[issue])
    return at, identity_


def _keys(wanted: _Wanted) -> dict[str, str | int]:
    return {
        "k_project_id": wanted.project.id,
        "k_card_id": wanted.card_id,
        "k_until": wanted.until,
        "k_limit": wanted.limit,
        "k_offset": 0,
    }


def _by(facts: VersionFacts) -> str:
    return f"{facts.author.kind}:{facts.author.name}"


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="list_timeline",
        summary="What happened to a card, what its work came to, and what was said; newest first.",
        input=ListTimeline,
        output=Timeline,
        permissions=frozenset({Permission.PROJECTS_READ, Permission.RUNS_READ}),
        effect=Effect.READ,
        doors=PEOPLES_DOORS,
        handler=listed,
        lock=lock,
    ),
)
