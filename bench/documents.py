"""The smallest document operations, and the same rows written by hand."""

import hashlib
import itertools
import json
import secrets
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from workstead.accounts import credentials, people
from workstead.accounts.credentials import CredentialKind
from workstead.clock import SystemClock
from workstead.kernel import documents, feed, scopes
from workstead.kernel.access import Author, Caller, Permission, SecretProof
from workstead.kernel.documents import Head, NewVersion
from workstead.kernel.operations import Again, AnyOperation, Door, Effect, Input, Operation, Reach, WriteInput
from workstead.kernel.store import Connection
from workstead.kernel.transaction import Tx
from workstead.migrations import schema

NEEDED = frozenset({Permission.PROJECTS_WRITE})
DOORS = frozenset({Door.REST})


class ReadDocument(Input):
    """Which document."""

    document: str


class WriteDocument(WriteInput):
    """A document's text."""

    document: str
    text: str


@dataclass(frozen=True, kw_only=True)
class DocumentView:
    """A document as it is shown."""

    document: str
    revision: int
    text: str


def seed(path: Path) -> SecretProof:
    """Make the database with a signed-in operator and one document; returns what a door would hold."""
    schema.prepare(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        proof = found(Tx(Connection(raw), clock=SystemClock()))
        raw.execute("COMMIT")
    return proof


def found(tx: Tx) -> SecretProof:
    """Write a signed-in operator and one document; returns what a door would hold."""
    scopes.create(tx, scopes.INSTANCE)
    person = people.add(tx, name="Ada", operator=True)
    secret = credentials.issue(tx, kind=CredentialKind.SIGN_IN, person_id=person.id)
    documents.create(tx, "d", scope=scopes.INSTANCE, new=version("start"))
    return SecretProof(digest=credentials.digest(secret))


def create(tx: Tx, caller: Caller, args: WriteDocument) -> DocumentView:
    """Make a document."""
    made = documents.create(tx, args.document, scope=scopes.INSTANCE, new=version(args.text, caller.author))
    return _written(tx, args, made)


def edit(tx: Tx, caller: Caller, args: WriteDocument) -> DocumentView:
    """Change a document's text."""
    was = documents.current(tx, args.document)
    assert was is not None
    return _written(tx, args, documents.publish(tx, was, new=version(args.text, caller.author)))


def read(tx: Tx, caller: Caller, args: ReadDocument) -> DocumentView:
    """The document as it is now."""
    head = documents.current(tx, args.document)
    assert head is not None
    return _render(tx, caller, args.document, head.revision)


def bare(raw: sqlite3.Connection, body: str) -> Callable[[], None]:
    """A function that writes the rows of one edit with prepared statements and nothing else."""
    numbers = itertools.count(2)
    answer = json.dumps({"id": "d"})

    def write() -> None:
        number = next(numbers)
        at, change = datetime.now(UTC).isoformat(), secrets.token_hex(16)
        text = json.dumps({"text": f"{number} {body}"})
        raw.execute("BEGIN IMMEDIATE")
        raw.execute(
            "INSERT INTO receipt (subject, operation, request_id, digest, scope, change_id, at, answer) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            ("person:a", "edit", f"r-{number}", "d" * 64, "instance", change, at, answer),
        )
        raw.execute(
            "UPDATE head SET head_id = ?, revision = ?, version = ?, at = ? WHERE document = 'd' AND revision = ?",
            (change, number, number, at, number - 1),
        )
        raw.execute(
            "INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *("d", number, number, at, '{"kind":"person","name":"Ada"}', "write", '["text"]', change, number - 1),
                *(hashlib.sha256(text.encode()).hexdigest(), text),
            ),
        )
        (seq,) = raw.execute("UPDATE scope SET seq = seq + 1 WHERE id = 'instance' RETURNING seq").fetchone()
        raw.execute(
            "INSERT INTO feed VALUES (?, ?, ?, ?, ?, ?, ?)",
            ("instance", seq, at, "work:card:changed", "documents/d", number, change),
        )
        raw.execute("COMMIT")

    return write


def version(text: str, author: Author | None = None) -> NewVersion:
    """A version with this text."""
    author = author or Author(kind="person", name="Ada")
    return NewVersion(body={"text": text}, author=author, change="write", changed=("text",))


def _written(tx: Tx, args: WriteDocument, head: Head) -> DocumentView:
    topic = f"documents/{args.document}"
    feed.add(tx, scopes.INSTANCE, feed.Event.CARD_CHANGED, topic=topic, revision=head.revision)
    return DocumentView(document=args.document, revision=head.revision, text=args.text)


def _kept(answer: DocumentView) -> tuple[str, int]:
    return answer.document, answer.revision


def _render(tx: Tx, caller: Caller, identity: str, revision: int) -> DocumentView:
    found = documents.read(tx, identity, revision)
    assert found is not None
    return DocumentView(document=identity, revision=revision, text=str(found.body["text"]))


def _lock(tx: Tx, args: Input) -> str:
    return scopes.INSTANCE


OPERATIONS: tuple[AnyOperation, ...] = (
    *(
        Operation(
            name=name,
            summary=name,
            input=WriteDocument,
            output=DocumentView,
            permissions=NEEDED,
            effect=Effect.WRITE,
            doors=DOORS,
            handler=handler,
            lock=_lock,
            again=Again(kept=_kept, render=_render),
        )
        for name, handler in (("create_document", create), ("edit_document", edit))
    ),
    *(
        Operation(
            name=name,
            summary=name,
            input=ReadDocument,
            output=DocumentView,
            permissions=NEEDED,
            effect=Effect.READ,
            doors=DOORS,
            handler=read,
            lock=_lock,
            reach=reach,
        )
        for name, reach in (("read_document", Reach.KEY), ("scan_document", Reach.SCAN))
    ),
)
