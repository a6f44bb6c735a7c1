"""What must never be true of cards, records, conversations and runs; joined to the checks of the kernel."""

from collections.abc import Iterator
from itertools import groupby
from typing import cast

from support.database import Raw
from workstead.kernel import canonical
from workstead.kernel.canonical import Json


def cards(raw: Raw) -> Iterator[str]:
    """A card's row says what its newest version and its head say; the tree names each child once."""
    rows = raw.execute(
        "SELECT card.project_id, card_id, parent_id, title, status, priority, urgency, status_text, deleted, "
        "card.revision, head.revision, version.body FROM card "
        "LEFT JOIN head ON head.document = 'card:' || card.project_id || '/' || card_id "
        "LEFT JOIN version ON version.document = head.document AND version.number = head.version"
    ).fetchall()
    named: dict[tuple[str, str], list[str]] = {}
    for project, card, _, title, status, priority, urgency, status_text, deleted, revision, at_head, body in rows:
        if body is None:
            yield f"card {project}/{card} has no version at its head"
            continue
        stored = cast("dict[str, Json]", canonical.parse(body))
        row = [title, status, priority, urgency, status_text, bool(deleted)]
        fields = ("title", "status", "priority", "urgency", "status_text", "deleted")
        if row != [stored[name] for name in fields]:
            yield f"the row of card {project}/{card} is not its version"
        if revision != at_head:
            yield f"card {project}/{card} has revision {revision}, its head {at_head}"
        named[project, card] = cast("list[str]", stored["children"])
    for (project, card), children in named.items():
        is_under = {row[1] for row in rows if (row[0], row[2]) == (project, card)}
        if len(children) != len(set(children)) or set(children) != is_under:
            yield f"card {project}/{card} names the children {children}, under it are {sorted(is_under)}"


def records(raw: Raw) -> Iterator[str]:
    """Accepted texts count from 1 without gaps; a record is a starter, or has a draft or accepted texts (S19)."""
    rows = raw.execute(
        "SELECT record.project_id || '/' || card_id || '/' || name, accepted, baseline, draft, draft_version, "
        "draft_target, coalesce(head.version, 0), "
        "(SELECT count(*) FROM version WHERE version.document = head.document) "
        "FROM record LEFT JOIN head "
        "ON head.document = 'record:' || record.project_id || '/' || card_id || '/' || name"
    )
    for name, accepted, baseline, draft, draft_version, draft_target, at_head, versions in rows:
        if not accepted == at_head == versions:
            yield f"record {name} has {accepted} accepted, {versions} versions, its head names {at_head}"
        if baseline is not None and (draft is not None or accepted):
            yield f"record {name} has a starter beside a text"
        if draft is not None and (draft_target != accepted + 1 or draft_version not in {0, draft_target}):
            yield f"the draft of record {name} aims at {draft_target} after {accepted}"


def conversations(raw: Raw) -> Iterator[str]:
    """Rows count from 1 to the conversation's number; a result follows its call."""
    last = dict(raw.execute("SELECT id, rows FROM conversation"))
    rows = raw.execute(
        "SELECT conversation_id, number, kind, call_id FROM conversation_row ORDER BY conversation_id, number"
    )
    counted: dict[str, int] = {}
    for conversation, found in groupby(rows, key=lambda row: str(row[0])):
        calls: set[str] = set()
        for place, (_, number, kind, call_id) in enumerate(found, start=1):
            counted[conversation] = place
            if number != place:
                yield f"row {place} of conversation {conversation} is numbered {number}"
            if kind == "tool_call":
                calls.add(call_id)
            if kind == "tool_result" and call_id not in calls:
                yield f"conversation {conversation} has the result {call_id} without its call"
    for conversation in last.keys() | counted.keys():
        if last.get(conversation) != counted.get(conversation, 0):
            yield f"conversation {conversation} has {counted.get(conversation)} rows, not {last.get(conversation)}"


def runs(raw: Raw) -> Iterator[str]:
    """Nodes of an activation count without gaps; nothing is open in a run that has ended."""
    rows = raw.execute("SELECT activation_id, ordinal FROM node_visit ORDER BY activation_id, ordinal")
    for activation, found in groupby(rows, key=lambda row: str(row[0])):
        ordinals = [ordinal for _, ordinal in found]
        if ordinals != list(range(ordinals[0], ordinals[0] + len(ordinals))):
            yield f"activation {activation} visits {ordinals}"
    for table, ended in (("activation", "closed_at"), ("agent_grant", "ended_at")):
        for (found_open,) in raw.execute(
            f"SELECT {table}.id FROM {table} JOIN run ON run.id = {table}.run_id "
            f"WHERE run.ended_at IS NOT NULL AND {table}.{ended} IS NULL"
        ):
            yield f"{table} {found_open} is open in a run that has ended"
    for (result,) in raw.execute(
        "SELECT activation_id || ' ' || ordinal FROM node_result "
        "EXCEPT SELECT activation_id || ' ' || ordinal FROM node_visit"
    ):
        yield f"the node result {result} has no visit"


REFERENCES = (
    ("activation", "run_id", "run", "id"),
    ("conversation_row", "conversation_id", "conversation", "id"),
    ("exchange", "conversation_id", "conversation", "id"),
    ("exchange", "effect_id", "effect", "id"),
    ("exchange_end", "exchange_id", "exchange", "id"),
    ("process", "activation_id", "activation", "id"),
    ("process_end", "process_id", "process", "id"),
    ("run", "person_id", "person", "id"),
    ("run", "project_id", "project", "id"),
)
