"""A large project, written past the product in one go, of rows the invariant checker accepts; on either database.

Start from a project whose root has one card, `card-a`. That card gets many children and versions, a deep branch and a
wide tree below it, and a long conversation of one agent. Every effect, exchange and process has ended; the
processes are spread over the tree, a hundred to a card.
"""

import itertools
import sqlite3
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import psycopg
from sqlalchemy import Table

from support import database
from workstead.agents import conversations
from workstead.agents.tables import conversation, conversation_row, exchange, exchange_end, process, process_end
from workstead.kernel import canonical, scopes
from workstead.kernel.canonical import Json
from workstead.kernel.tables import effect, effect_end, head, version
from workstead.runs.tables import activation, node_result, node_visit, run
from workstead.work import cards
from workstead.work.tables import card
from workstead.work.workflow import identity
from workstead.work.workflow.lifecycle import Entry

AGENT = "planner"
WIDE = "card-a"
_VISITS = 100  # of each activation; each ran one process
_TEXT = "It went on. " * 25
_ROWS_PER_ANSWER = 3  # a text, a call, its result

Value = str | int | None
Row = Mapping[str, Value]


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much of each.

    children: of the one wide card. rows: of the one conversation. past: of ended effects, exchanges and processes,
    each.
    """

    cards: int = 5_000
    children: int = 200
    versions: int = 100_000
    rows: int = 50_000
    past: int = 100_000


@dataclass(frozen=True, kw_only=True)
class _Found:
    """The project as the product made it. body: of the wide card's only version."""

    project_id: str
    person_id: str
    at: str
    author: str
    body: dict[str, Json]


def fill(path: Path, size: Size) -> None:
    """Write it all; the server must not run."""
    found = _found(path)
    tree = _tree(size)
    with _writing(path) as into:
        into.rows(head, _heads(found, tree))
        into.rows(card, _cards(found, tree))
        into.rows(version, _versions(found, tree, total=size.versions))
        _history(into, found, size, names=list(tree))
    newest = max(size.versions - len(tree), 1) + 1
    document = cards.document(found.project_id, WIDE)
    with database.connected(path) as raw:
        raw.execute(f"UPDATE head SET revision = {newest}, version = {newest} WHERE document = '{document}'")
        raw.execute(f"UPDATE card SET revision = {newest}, title = '{_title(newest)}' WHERE card_id = '{WIDE}'")
        raw.execute("ANALYZE")


class _Into:
    """Rows into one database by the quickest way its driver has."""

    def __init__(self, raw: "sqlite3.Connection | psycopg.Connection[tuple[object, ...]]") -> None:
        self._raw = raw

    def rows(self, table: Table, rows: Iterable[Row]) -> None:
        """Every row; each names every column but those that are null."""
        names = [column.name for column in table.columns]
        values = (tuple(row.get(name) for name in names) for row in rows)
        if isinstance(self._raw, sqlite3.Connection):
            places = ", ".join("?" for _ in names)
            quoted = ", ".join(f'"{name}"' for name in names)
            self._raw.executemany(f'INSERT INTO "{table.name}" ({quoted}) VALUES ({places})', values)
            return
        with self._raw.cursor() as cursor, cursor.copy(_copy_text(table.name, names)) as copy:
            for each in values:
                copy.write_row(each)


def _copy_text(table: str, names: list[str]) -> bytes:
    return f'COPY "{table}" ({", ".join(f"{chr(34)}{name}{chr(34)}" for name in names)}) FROM STDIN'.encode()


class _writing:  # noqa: N801 - a context manager that reads as a verb
    """One transaction over the path's database."""

    def __init__(self, path: Path) -> None:
        address = database.address_of(path)
        self._raw = sqlite3.connect(path) if address is None else psycopg.connect(address)

    def __enter__(self) -> _Into:
        return _Into(self._raw)

    def __exit__(self, kind: object, *_: object) -> None:
        with closing(self._raw):
            if kind is None:
                self._raw.commit()


def _found(path: Path) -> _Found:
    [(project_id, person_id)] = database.rows(path, "SELECT id, owner_id FROM project")
    document = cards.document(project_id, WIDE)
    [(at, author, body)] = database.rows(path, f"SELECT at, author, body FROM version WHERE document = '{document}'")
    stored = cast("dict[str, Json]", canonical.parse(body))
    return _Found(project_id=project_id, person_id=person_id, at=at, author=author, body=stored)


def _tree(size: Size) -> dict[str, list[str]]:
    """Every card below the wide one, with its children in order; the wide one itself included."""
    tree: dict[str, list[str]] = {WIDE: []}
    deepest = WIDE
    for _ in range(identity.MAX_DEPTH - 1):
        deepest = _grow(tree, deepest)
    while len(tree[WIDE]) < size.children:
        _grow(tree, WIDE)
    parents = deque(tree[WIDE][1:])
    while len(tree) < size.cards:
        parent = parents.popleft()
        parents.extend(_grow(tree, parent) for _ in range(min(20, size.cards - len(tree))))
    return tree


def _grow(tree: dict[str, list[str]], parent: str) -> str:
    made = identity.child_of(parent, _letters(len(tree[parent])))
    tree[parent].append(made)
    tree[made] = []
    return made


def _letters(number: int) -> str:
    text = chr(ord("a") + number % 26)
    return text if number < 26 else _letters(number // 26 - 1) + text


def _title(number: int) -> str:
    return f"Wide, as it was said the {number}th time"


def _heads(found: _Found, tree: Mapping[str, list[str]]) -> Iterator[Row]:
    for name in tree:
        if name != WIDE:
            yield {
                "document": cards.document(found.project_id, name),
                "scope": scopes.project(found.project_id),
                "head_id": str(uuid.uuid4()),
                "revision": 1,
                "version": 1,
                "at": found.at,
            }


def _cards(found: _Found, tree: Mapping[str, list[str]]) -> Iterator[Row]:
    for parent, children in tree.items():
        for position, name in enumerate(children):
            yield {
                "project_id": found.project_id,
                "card_id": name,
                "parent_id": parent,
                "position": position,
                "type": cast("str", found.body["type"]),
                "title": f"The work of {name}",
                "status": "backlog",
                "priority": 0,
                "urgency": "normal",
                "depends_on": "[]",
                "revision": 1,
                "updated_at": found.at,
                "deleted": 0,
            }


def _versions(found: _Found, tree: Mapping[str, list[str]], *, total: int) -> Iterator[Row]:
    for name, children in tree.items():
        names: list[Json] = [*children]
        if name == WIDE:
            for number in range(2, max(total - len(tree), 1) + 2):
                body = found.body | {"children": names, "title": _title(number)}
                # A hundred thousand versions that each name two hundred children would be a gigabyte.
                yield _version(found, name, number, body if number > total - len(tree) else body | {"children": []})
        else:
            yield _version(found, name, 1, found.body | {"id": name, "children": names, "title": f"The work of {name}"})


def _version(found: _Found, name: str, number: int, body: dict[str, Json]) -> Row:
    text = canonical.text(body)
    return {
        "document": cards.document(found.project_id, name),
        "number": number,
        "revision": number,
        "at": found.at,
        "author": found.author,
        "change": "create" if number == 1 else "edit",
        "changed": "[]" if number == 1 else '["title"]',
        "change_id": str(uuid.uuid4()),
        "previous": number - 1 or None,
        "sha256": canonical.digest_text(text),
        "body": text,
    }


def _history(into: _Into, found: _Found, size: Size, *, names: list[str]) -> None:
    """One ended run: activations that ran processes, and one whose agent talked for long."""
    run_id, talked = str(uuid.uuid4()), str(uuid.uuid4())
    into.rows(run, [_run(found, run_id)])
    ran = [str(uuid.uuid4()) for _ in range(-(-size.past // _VISITS))]
    at = dict(zip((talked, *ran), itertools.cycle(names), strict=False))
    into.rows(activation, (_activation(found, run_id, one, card_id) for one, card_id in at.items()))
    visits = [(one, ordinal) for one in ran for ordinal in range(1, _VISITS + 1)][: size.past]
    into.rows(node_visit, (_visit(found, *one) for one in visits))
    into.rows(node_result, (_visit_result(found, *one) for one in visits))
    processes = [(str(uuid.uuid4()), one) for one, _ in visits]
    into.rows(process, (_process(found, one, owner, card_id=at[owner]) for one, owner in processes))
    into.rows(process_end, (_process_end(found, one) for one, _ in processes))
    calls = [str(uuid.uuid4()) for _ in range(size.past)]
    answers = min(size.rows // _ROWS_PER_ANSWER, size.past)
    into.rows(conversation, [_conversation(found, rows=answers * _ROWS_PER_ANSWER)])
    into.rows(conversation_row, _rows(found, talked, calls[:answers]))
    into.rows(effect, (_effect(found, one) for one in calls))
    outcomes = [(one, "done" if number < answers else "failed") for number, one in enumerate(calls)]
    into.rows(effect_end, ({"effect_id": a, "outcome": b, "at": found.at, "boot_id": "past"} for a, b in outcomes))
    into.rows(exchange, (_exchange(found, talked, one) for one in calls))
    into.rows(exchange_end, ({"exchange_id": a, "ended": b, "at": found.at} for a, b in outcomes))


def _run(found: _Found, run_id: str) -> Row:
    return {
        "id": run_id,
        "project_id": found.project_id,
        "state": "ended",
        "wanted": "run",
        "person_id": found.person_id,
        "person": "ada",
        "configuration": "0" * 64,
        "fence": 1,
        "created_at": found.at,
        "ended_at": found.at,
        "ending": "stopped",
        "reason": "It was stopped.",
    }


def _activation(found: _Found, run_id: str, one: str, card_id: str) -> Row:
    return {
        "id": one,
        "run_id": run_id,
        "project_id": found.project_id,
        "card_id": card_id,
        "entry": Entry.BACKLOG.value,
        "opened_at": found.at,
        "closed_at": found.at,
        "ending": "stopped",
    }


def _visit(found: _Found, one: str, ordinal: int) -> Row:
    place: Row = {"activation_id": one, "ordinal": ordinal, "node": "check"}
    return {**place, "executor": "action:check", "entered_at": found.at}


def _visit_result(found: _Found, one: str, ordinal: int) -> Row:
    return {"activation_id": one, "ordinal": ordinal, "outcome": "passed", "summary": "It passed.", "at": found.at}


def _process(found: _Found, one: str, activation_id: str, *, card_id: str) -> Row:
    return {
        "id": one,
        "project_id": found.project_id,
        "card_id": card_id,
        "activation_id": activation_id,
        "command": "make check",
        "cwd": ".",
        "pid": 4_000_000,
        "start_ticks": 1,
        "boot_id": "past",
        "started_at": found.at,
        "open": 0,
    }


def _process_end(found: _Found, one: str) -> Row:
    sizes: Row = {"stdout_bytes": 0, "stderr_bytes": 0, "stdout_complete": 1, "stderr_complete": 1}
    return {"process_id": one, "kind": "exited", "code": 0, **sizes, "at": found.at}


def _identity(found: _Found) -> str:
    return conversations.identity(found.project_id, agent=AGENT, card_id=WIDE)


def _conversation(found: _Found, *, rows: int) -> Row:
    return {
        "id": _identity(found),
        "project_id": found.project_id,
        "card_id": WIDE,
        "agent": AGENT,
        "started_at": found.at,
        "segment": 1,
        "genesis_row": 0,
        "rows": rows,
        "answer_row": max(rows - _ROWS_PER_ANSWER + 1, 0),
    }


def _rows(found: _Found, activation_id: str, answers: list[str]) -> Iterator[Row]:
    base: Row = {"conversation_id": _identity(found), "segment": 1, "at": found.at, "activation_id": activation_id}
    said = canonical.text({"text": _TEXT})
    call = canonical.text({"arguments": '{"path":"a.txt"}', "id": "call"})
    answer = canonical.text({"id": "call", "result": {"data": {"content": _TEXT}, "success": True}})
    for number, one in enumerate(answers):
        first = number * _ROWS_PER_ANSWER + 1
        of_call: Row = {"input_id": one, "call_id": f"{one}:1", "tool": "read"}
        spoke: Row = {"kind": "text", "role": "assistant", "content": said, "input_id": one}
        yield {**base, "number": first, **spoke}
        yield {**base, "number": first + 1, "kind": "tool_call", "role": "assistant", "content": call, **of_call}
        yield {**base, "number": first + 2, "kind": "tool_result", "role": "tool", "content": answer, **of_call}


def _effect(found: _Found, one: str) -> Row:
    return {
        "id": one,
        "scope": scopes.project(found.project_id),
        "kind": "model_call",
        "subject": WIDE,
        "boot_id": "past",
        "digest": "0" * 64,
        "claimed_at": found.at,
        "deadline_at": found.at,
        "open": 0,
    }


def _exchange(found: _Found, activation_id: str, one: str) -> Row:
    return {
        "id": one,
        "project_id": found.project_id,
        "conversation_id": _identity(found),
        "activation_id": activation_id,
        "effect_id": one,
        "purpose": "step",
        "segment": 1,
        "first_row": 1,
        "last_row": 1,
        "provider": "practice",
        "model": "practice",
        "prefix_digest": "0" * 64,
        "tools_digest": "0" * 64,
        "request_bytes": 1,
        "at": found.at,
        "open": 0,
    }


SMALL = replace(Size(), cards=300, versions=1_000, rows=900, past=500)
