"""Writes of records: a person's text is accepted at once, an agent's is a draft until its step ends (W04)."""

from dataclasses import dataclass
from functools import partial

from pydantic import Field

from workstead import errors
from workstead.accounts import projects
from workstead.kernel import documents
from workstead.kernel.access import Agent, Caller
from workstead.kernel.operations import AnyOperation, Effect, Operation
from workstead.kernel.transaction import Tx
from workstead.work import cards, propagation, records, rules
from workstead.work.card_operations import WRITING, CardId
from workstead.work.cards import Card
from workstead.work.records import Record, Source
from workstead.work.rules import ProjectWrite, Rules
from workstead.work.workflow.graph import Configuration
from workstead.work.workflow.lifecycle import Status

_CARD = Field(description="The card whose record it is; an agent writes its own card's only.")
_NAME = Field(min_length=1, max_length=66, description="The record's name, as in status.md.")
_BASE = Field(
    default=None, ge=0, description="The revision you read, 0 for none; if it has changed since, nothing is written."
)


class WriteRecord(ProjectWrite):
    """A record's whole text."""

    card_id: CardId = _CARD
    name: str = _NAME
    content: str = Field(description="The whole new text, Markdown.")
    base_revision: int | None = _BASE


class EditRecord(ProjectWrite):
    """A part of a record's text is replaced."""

    card_id: CardId = _CARD
    name: str = _NAME
    old: str = Field(min_length=1, description="Text that stands there now, exactly, with enough around it.")
    new: str = Field(description="What stands there afterwards.")
    replace_all: bool = Field(default=False, description="Replace every place; otherwise there must be exactly one.")
    base_revision: int | None = _BASE


@dataclass(frozen=True, kw_only=True)
class RecordWritten:
    """What a write left. version: the accepted number, or the number the draft gets when it is accepted."""

    card_id: str
    name: str
    source: Source
    version: int
    revision: int
    head_id: str


@dataclass(frozen=True, kw_only=True)
class _Admitted:
    """A write that may go on. was: the record as it stands."""

    card: Card
    name: str
    was: Record | None
    base_revision: int | None
    configuration: Configuration


def write(setting: Rules, tx: Tx, caller: Caller, args: WriteRecord) -> RecordWritten:
    """Put a whole text into a record."""
    return _put(tx, caller, _admit(setting, tx, caller, args), text=args.content)


def edit(setting: Rules, tx: Tx, caller: Caller, args: EditRecord) -> RecordWritten:
    """Replace a part of the text that counts now."""
    admitted = _admit(setting, tx, caller, args)
    effective = records.effective(tx, admitted.was) if admitted.was is not None else None
    if effective is None:
        message = f"{args.card_id} has no {args.name} to edit yet; write it instead."
        raise errors.conflict("record_absent", message)
    places = effective.content.count(args.old)
    if places == 0:
        message = f"{args.name} does not hold this text; read it and copy the place exactly."
        raise errors.conflict("old_text_absent", message)
    if places > 1 and not args.replace_all:
        message = f"{args.name} holds this text {places} times; give more around it, or replace all."
        raise errors.conflict("old_text_repeated", message, places=places)
    text = effective.content.replace(args.old, args.new)
    if text == effective.content:
        raise errors.conflict("record_unchanged", f"{args.name} already says exactly this; nothing was written.")
    return _put(tx, caller, admitted, text=text)


def operations(setting: Rules) -> tuple[AnyOperation, ...]:
    """The writes of records."""
    return (
        Operation(
            name="write_record",
            summary="Write a record's whole text: accepted at once for people, a draft for an agent.",
            input=WriteRecord,
            output=RecordWritten,
            permissions=WRITING,
            effect=Effect.WRITE,
            doors=rules.EVERY_DOOR,
            handler=partial(write, setting),
            lock=rules.lock,
        ),
        Operation(
            name="edit_record",
            summary="Replace a part of a record's text: accepted at once for people, a draft for an agent.",
            input=EditRecord,
            output=RecordWritten,
            permissions=WRITING,
            effect=Effect.WRITE,
            doors=rules.EVERY_DOOR,
            handler=partial(edit, setting),
            lock=rules.lock,
        ),
    )


def _admit(setting: Rules, tx: Tx, caller: Caller, args: WriteRecord | EditRecord) -> _Admitted:
    project = projects.visible(tx, caller, args.project)
    card = cards.find(tx, project, args.card_id)
    records.check_name(args.name)
    configuration = setting.configuration_of(tx, caller, project)
    if isinstance(caller, Agent):
        if card.id != caller.card_id:
            message = f"An agent on {caller.card_id} writes the records of that card only."
            raise errors.denied("record_not_yours", message)
    elif not setting.resting(tx, project):
        raise errors.conflict("project_running", "A run of this project is going; pause or stop it, then try again.")
    if card.status is Status.CANCELLED:
        raise errors.conflict("card_cancelled", f"{card.id} is cancelled; its records stay as they are.")
    declared = rules.card_type(configuration, card.type).records
    if args.name not in declared:
        message = f"A {card.type} card has no record {args.name}; it has {', '.join(declared)}."
        raise errors.invalid("record_unknown", message, records=list(declared))
    if isinstance(caller, Agent) and not rules.agent_spec(configuration, caller).may_write(args.name):
        raise errors.denied("record_not_writable", f"{caller.name} may not write {args.name}.")
    return _Admitted(
        card=card,
        name=args.name,
        was=records.read(tx, project.id, card.id, args.name),
        base_revision=args.base_revision,
        configuration=configuration,
    )


def _put(tx: Tx, caller: Caller, to: _Admitted, *, text: str) -> RecordWritten:
    if to.was is not None:
        documents.require_base("record", to.was.head, to.base_revision)
    elif to.base_revision:
        raise errors.stale("record", base=to.base_revision, current=0)
    if isinstance(caller, Agent):
        return _written(records.write_draft(tx, to.card, to.name, text=text))
    now = records.accept_text(tx, to.card, to.name, text=text, author=caller.author)
    summary = f"{caller.author.name} wrote {to.name} of {to.card.id}."
    propagation.changed(tx, to.card, configuration=to.configuration, author=caller.author, summary=summary)
    return _written(now)


def _written(now: Record) -> RecordWritten:
    draft = now.draft
    return RecordWritten(
        card_id=now.card_id,
        name=now.name,
        source=Source.DRAFT if draft is not None else Source.ACCEPTED,
        version=draft.target if draft is not None else now.accepted,
        revision=now.head.revision,
        head_id=now.head.head_id,
    )
