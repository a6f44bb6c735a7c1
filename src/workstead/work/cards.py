"""Cards: the tree of tasks; every change of one is a version, a head and a feed row in the same transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import cast

from sqlalchemy import bindparam, insert, select, update

from workstead import errors
from workstead.accounts.projects import Project
from workstead.kernel import canonical, documents, feed
from workstead.kernel.access import Author
from workstead.kernel.canonical import Json
from workstead.kernel.documents import Head, NewVersion
from workstead.kernel.store import Row, prepared
from workstead.kernel.tables import head, version
from workstead.kernel.transaction import Tx
from workstead.work.tables import card
from workstead.work.workflow import identity, lifecycle
from workstead.work.workflow.lifecycle import Status

RUNTIME = Author(kind="runtime", name="runtime")


class Urgency(StrEnum):
    """How soon a card matters."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    CRITICAL = "critical"


class Change(StrEnum):
    """What a version of a card is about."""

    CHILD_LINK = "child_link"
    CREATE = "create"
    DELETE = "delete"
    REORDER = "reorder"
    STATUS = "status"
    TERMINAL = "terminal"
    UPDATE = "update"


@dataclass(frozen=True, kw_only=True)
class Export:
    """A record a result names. version: its accepted number."""

    name: str
    version: int
    url: str


@dataclass(frozen=True, kw_only=True)
class Result:
    """How the last activation ended. executor: `agent:NAME` or `action:NAME`."""

    executor: str
    node: str
    outcome: str
    summary: str
    exports: tuple[Export, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Card:
    """One card as it is now. children: in their order, deleted ones included."""

    project_id: str
    id: str
    type: str
    title: str
    priority: int
    urgency: Urgency
    status: Status
    result: Result | None
    error: str | None
    completed_at: str | None
    status_text: str | None
    created_at: str
    created_by: Author
    depends_on: tuple[str, ...]
    children: tuple[str, ...]
    deleted: bool
    head: Head

    @property
    def parent_id(self) -> str | None:
        """Derived from the id; None for the root."""
        return identity.parent_of(self.id)


@dataclass(frozen=True, kw_only=True)
class CardRow:
    """What a list shows of a card."""

    id: str
    parent_id: str | None
    position: int
    type: str
    title: str
    status: Status
    priority: int
    urgency: Urgency
    depends_on: tuple[str, ...]
    status_text: str | None
    revision: int
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class NewCard:
    """What a new card is made of."""

    type: str
    title: str
    priority: int = 0
    urgency: Urgency = Urgency.NORMAL
    depends_on: tuple[str, ...] = ()


_ADD = prepared(insert(card))
_SAVE = prepared(
    update(card)
    .where(card.c.project_id == bindparam("k_project_id"), card.c.card_id == bindparam("k_card_id"))
    .values(
        title=bindparam("title"),
        status=bindparam("status"),
        priority=bindparam("priority"),
        urgency=bindparam("urgency"),
        status_text=bindparam("status_text"),
        revision=bindparam("revision"),
        updated_at=bindparam("updated_at"),
        deleted=bindparam("deleted"),
    )
)
_PLACE = prepared(
    update(card)
    .where(card.c.project_id == bindparam("k_project_id"), card.c.card_id == bindparam("k_card_id"))
    .values(position=bindparam("position"))
)
_READ = prepared(
    select(
        head.c.document,
        head.c.scope,
        head.c.head_id,
        head.c.revision,
        head.c.version,
        head.c.at,
        version.c.body,
    )
    .select_from(head.join(version, (version.c.document == head.c.document) & (version.c.number == head.c.version)))
    .where(head.c.document == bindparam("k_document"))
)
ROW_COLUMNS = (
    card.c.card_id,
    card.c.parent_id,
    card.c.position,
    card.c.type,
    card.c.title,
    card.c.status,
    card.c.priority,
    card.c.urgency,
    card.c.depends_on,
    card.c.status_text,
    card.c.revision,
    card.c.updated_at,
)
_ALIVE = (card.c.project_id == bindparam("k_project_id"), card.c.deleted == bindparam("k_deleted"))
_ALL = prepared(select(*ROW_COLUMNS).where(*_ALIVE).order_by(card.c.parent_id, card.c.position))
_CHILDREN = prepared(
    select(*ROW_COLUMNS).where(*_ALIVE, card.c.parent_id == bindparam("k_parent_id")).order_by(card.c.position)
)
_WITH_STATUS = prepared(select(*ROW_COLUMNS).where(*_ALIVE, card.c.status == bindparam("k_status")))
_ROW = prepared(select(*ROW_COLUMNS).where(*_ALIVE, card.c.card_id == bindparam("k_card_id")))


def document(project_id: str, card_id: str) -> str:
    """The document that a card's versions belong to."""
    return f"card:{project_id}/{card_id}"


def topic(card_id: str) -> str:
    """What feed rows about a card are about."""
    return f"cards/{card_id}"


def create_root(tx: Tx, project: Project, new: NewCard, *, author: Author) -> Card:
    """The project's own card; it has no parent."""
    return _insert(tx, project, identity.ROOT, new, author=author)


def create_child(tx: Tx, project: Project, parent: Card, new: NewCard, *, author: Author) -> tuple[Card, Card]:
    """A new backlog card below `parent`; returns the child and the parent, whose version links it."""
    newest = max(parent.children, key=identity.creation_order, default=None)
    segment = identity.next_segment(newest.rsplit("-", 1)[1] if newest is not None else None)
    made = _insert(
        tx, project, identity.child_of(parent.id, segment), new, author=author, position=len(parent.children)
    )
    linked = replace(parent, children=(*parent.children, made.id))
    return made, publish(tx, linked, change=Change.CHILD_LINK, author=RUNTIME, changed=("children",))


def read(tx: Tx, project_id: str, card_id: str) -> Card | None:
    """The card as it is now, deleted or not; None when there never was one."""
    row = tx.one(_READ, k_document=document(project_id, card_id))
    if row is None:
        return None
    *fields, body = row
    return _card(project_id, _head(tuple(fields)), cast("Mapping[str, Json]", canonical.parse(cast("str", body))))


def find(tx: Tx, project: Project, card_id: str) -> Card:
    """A living card of a project the caller may see; raises `invalid` for a bad id, `not_found`."""
    found = read(tx, project.id, identity.check_card_id(card_id))
    if found is None or found.deleted:
        raise errors.not_found("card", card_id)
    return found


def row(tx: Tx, project_id: str, card_id: str) -> CardRow | None:
    """What a list shows of one living card."""
    found = tx.one(_ROW, k_project_id=project_id, k_deleted=0, k_card_id=card_id)
    return card_row(found) if found is not None else None


def rows(tx: Tx, project_id: str) -> tuple[CardRow, ...]:
    """Every living card; siblings in their order."""
    return tuple(card_row(found) for found in tx.all(_ALL, k_project_id=project_id, k_deleted=0))


def children(tx: Tx, project_id: str, parent_id: str) -> tuple[CardRow, ...]:
    """The living children of a card, in their order."""
    found = tx.all(_CHILDREN, k_project_id=project_id, k_deleted=0, k_parent_id=parent_id)
    return tuple(card_row(child) for child in found)


def with_status(tx: Tx, project_id: str, status: Status) -> tuple[CardRow, ...]:
    """Living cards of one status, in no promised order."""
    found = tx.all(_WITH_STATUS, k_project_id=project_id, k_deleted=0, k_status=status.value)
    return tuple(card_row(one) for one in found)


def edit(
    tx: Tx, was: Card, *, title: str | None, priority: int | None, urgency: Urgency | None, author: Author
) -> Card:
    """Change what may be changed; equal values write nothing."""
    now = replace(
        was,
        title=was.title if title is None else title,
        priority=was.priority if priority is None else priority,
        urgency=was.urgency if urgency is None else urgency,
    )
    changed = tuple(name for name in ("title", "priority", "urgency") if getattr(was, name) != getattr(now, name))
    if not changed:
        return was
    return publish(tx, now, change=Change.UPDATE, author=author, changed=changed)


def set_status(tx: Tx, was: Card, status: Status, *, author: Author = RUNTIME, text: str | None = None) -> Card:
    """Move to running, changed, stopped or cancelled; what an earlier end left behind is cleared.

    text: why, shown on the card; without one the old text stays.
    """
    lifecycle.check_transition(was.status, status)
    cleared = status in {Status.CHANGED, Status.CANCELLED}
    now = replace(
        was,
        status=status,
        result=None if cleared else was.result,
        error=None if cleared else was.error,
        completed_at=None if cleared else was.completed_at,
        status_text=was.status_text if text is None else text,
    )
    return publish(tx, now, change=Change.STATUS, author=author, changed=_ended(was, now))


def settle(tx: Tx, was: Card, status: Status, result: Result) -> Card:
    """The end of an activation: done, failed or blocked, with its result."""
    lifecycle.check_transition(was.status, status)
    now = replace(
        was,
        status=status,
        result=result,
        error=None if status is Status.DONE else result.summary,
        completed_at=None if status is Status.BLOCKED else tx.at,
        status_text=result.summary,
    )
    return publish(tx, now, change=Change.TERMINAL, author=RUNTIME, changed=_ended(was, now))


def reorder(tx: Tx, parent: Card, ordered: tuple[str, ...], *, author: Author) -> Card:
    """Put the living children in this order; deleted ones keep their places behind."""
    behind = tuple(child for child in parent.children if child not in ordered)
    now = replace(parent, children=(*ordered, *behind))
    if now.children == parent.children:
        return parent
    for position, child_id in enumerate(now.children):
        tx.run(_PLACE, k_project_id=parent.project_id, k_card_id=child_id, position=position)
    return publish(tx, now, change=Change.REORDER, author=author, changed=("children",))


def delete(tx: Tx, was: Card, *, author: Author) -> Card:
    """Leave a tombstone: its versions stay readable, the card is gone from every list."""
    return publish(tx, replace(was, deleted=True), change=Change.DELETE, author=author, changed=("deleted",))


def touch(tx: Tx, was: Card) -> Card:
    """Move the head for a change of the card's queue; no version."""
    return _save(tx, replace(was, head=documents.touch(tx, was.head)))


def publish(tx: Tx, now: Card, *, change: Change, author: Author, changed: tuple[str, ...]) -> Card:
    """Write a version of a card that has changed, move the head, keep the row in step and tell the feed."""
    new = NewVersion(body=body(now), author=author, change=change.value, changed=changed)
    return _save(tx, replace(now, head=documents.publish(tx, now.head, new=new, keep_equal=True)))


def body(one: Card) -> dict[str, Json]:
    """What a version of the card holds; fields only ever get added, at the end, with a default."""
    return {
        "id": one.id,
        "type": one.type,
        "title": one.title,
        "priority": one.priority,
        "urgency": one.urgency.value,
        "status": one.status.value,
        "result": _result_body(one.result),
        "error": one.error,
        "completed_at": one.completed_at,
        "status_text": one.status_text,
        "created_at": one.created_at,
        "created_by": {"kind": one.created_by.kind, "name": one.created_by.name},
        "depends_on": list(one.depends_on),
        "children": list(one.children),
        "deleted": one.deleted,
    }


def card_row(found: Row) -> CardRow:
    """A row of `ROW_COLUMNS`."""
    card_id, parent_id, position, kind, title, status, priority, urgency, needs, text, revision, at = found
    return CardRow(
        id=cast("str", card_id),
        parent_id=cast("str | None", parent_id),
        position=cast("int", position),
        type=cast("str", kind),
        title=cast("str", title),
        status=Status(cast("str", status)),
        priority=cast("int", priority),
        urgency=Urgency(cast("str", urgency)),
        depends_on=tuple(cast("list[str]", canonical.parse(cast("str", needs)))),
        status_text=cast("str | None", text),
        revision=cast("int", revision),
        updated_at=cast("str", at),
    )


def _ended(was: Card, now: Card) -> tuple[str, ...]:
    names = ("status", "result", "error", "completed_at", "status_text")
    return tuple(name for name in names if getattr(was, name) != getattr(now, name))


def _insert(tx: Tx, project: Project, card_id: str, new: NewCard, *, author: Author, position: int = 0) -> Card:
    name = document(project.id, card_id)
    placeholder = Head(document=name, scope=project.scope, head_id="", revision=0, version=None, at=tx.at)
    draft = Card(
        project_id=project.id,
        id=card_id,
        type=new.type,
        title=new.title,
        priority=new.priority,
        urgency=new.urgency,
        status=Status.BACKLOG,
        result=None,
        error=None,
        completed_at=None,
        status_text=None,
        created_at=tx.at,
        created_by=author,
        depends_on=new.depends_on,
        children=(),
        deleted=False,
        head=placeholder,
    )
    first = NewVersion(body=body(draft), author=author, change=Change.CREATE.value)
    made = replace(draft, head=documents.create(tx, name, scope=project.scope, new=first))
    tx.run(
        _ADD,
        project_id=project.id,
        card_id=card_id,
        parent_id=made.parent_id,
        position=position,
        type=made.type,
        title=made.title,
        status=made.status.value,
        priority=made.priority,
        urgency=made.urgency.value,
        depends_on=canonical.text(list(made.depends_on)),
        status_text=None,
        revision=made.head.revision,
        updated_at=made.head.at,
        deleted=0,
    )
    feed.add(tx, project.scope, feed.Event.CARD_CREATED, topic=topic(card_id), revision=1)
    return made


def _save(tx: Tx, now: Card) -> Card:
    tx.run(
        _SAVE,
        k_project_id=now.project_id,
        k_card_id=now.id,
        title=now.title,
        status=now.status.value,
        priority=now.priority,
        urgency=now.urgency.value,
        status_text=now.status_text,
        revision=now.head.revision,
        updated_at=now.head.at,
        deleted=int(now.deleted),
    )
    feed.add(tx, now.head.scope, feed.Event.CARD_CHANGED, topic=topic(now.id), revision=now.head.revision)
    return now


def _result_body(result: Result | None) -> Json:
    if result is None:
        return None
    return {
        "executor": result.executor,
        "node": result.node,
        "outcome": result.outcome,
        "summary": result.summary,
        "exports": [{"name": one.name, "version": one.version, "url": one.url} for one in result.exports],
    }


def _result(stored: Json) -> Result | None:
    if not isinstance(stored, dict):
        return None
    exports = cast("list[dict[str, Json]]", stored["exports"])
    return Result(
        executor=cast("str", stored["executor"]),
        node=cast("str", stored["node"]),
        outcome=cast("str", stored["outcome"]),
        summary=cast("str", stored["summary"]),
        exports=tuple(
            Export(name=cast("str", one["name"]), version=cast("int", one["version"]), url=cast("str", one["url"]))
            for one in exports
        ),
    )


def _head(fields: Row) -> Head:
    name, scope, head_id, revision, number, at = fields
    return Head(
        document=cast("str", name),
        scope=cast("str", scope),
        head_id=cast("str", head_id),
        revision=cast("int", revision),
        version=cast("int | None", number),
        at=cast("str", at),
    )


def _card(project_id: str, now: Head, stored: Mapping[str, Json]) -> Card:
    created_by = cast("dict[str, str]", stored["created_by"])
    return Card(
        project_id=project_id,
        id=cast("str", stored["id"]),
        type=cast("str", stored["type"]),
        title=cast("str", stored["title"]),
        priority=cast("int", stored["priority"]),
        urgency=Urgency(cast("str", stored["urgency"])),
        status=Status(cast("str", stored["status"])),
        result=_result(stored["result"]),
        error=cast("str | None", stored["error"]),
        completed_at=cast("str | None", stored["completed_at"]),
        status_text=cast("str | None", stored["status_text"]),
        created_at=cast("str", stored["created_at"]),
        created_by=Author(kind=created_by["kind"], name=created_by["name"]),
        depends_on=tuple(cast("list[str]", stored["depends_on"])),
        children=tuple(cast("list[str]", stored["children"])),
        deleted=cast("bool", stored["deleted"]),
        head=now,
    )
