"""Notes: the smallest documents with operations, to test the kernel without any feature."""

from dataclasses import dataclass

from workstead import errors
from workstead.accounts import projects
from workstead.kernel import documents, feed
from workstead.kernel.access import Caller, Permission
from workstead.kernel.documents import Head, NewVersion
from workstead.kernel.operations import (
    Again,
    AnswerRule,
    AnyOperation,
    Door,
    Effect,
    Input,
    Operation,
    Reach,
    WriteInput,
)
from workstead.kernel.transaction import Tx

DOORS = frozenset({Door.REST, Door.MCP})
READ = frozenset({Permission.PROJECTS_READ})
WRITE = frozenset({Permission.PROJECTS_WRITE})


class OfProject(Input):
    """Names a project."""

    project: str


class ReadNote(OfProject):
    """Which note."""

    note: str


class WriteNote(WriteInput):
    """A note's text; base_revision: the revision it was decided on."""

    project: str
    note: str
    text: str
    base_revision: int | None = None


@dataclass(frozen=True, kw_only=True)
class NoteView:
    """A note as it is shown."""

    project: str
    note: str
    revision: int
    version: int | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Secret:
    """An answer that is shown once."""

    secret: str


def document_of(tx: Tx, project: str, note: str) -> str:
    """The document's id."""
    return f"note:{projects.scope_of(tx, project)}:{note}"


def create(tx: Tx, caller: Caller, args: WriteNote) -> NoteView:
    """Make a note."""
    document = document_of(tx, args.project, args.note)
    if documents.current(tx, document) is not None:
        raise errors.conflict("note_exists", "There is such a note.")
    head = documents.create(tx, document, scope=_scope(tx, args), new=_version(caller, args.text))
    return _written(tx, args, head)


def edit(tx: Tx, caller: Caller, args: WriteNote) -> NoteView:
    """Change a note's text."""
    was = _current(tx, args.project, args.note)
    documents.require_base("note", was, args.base_revision)
    head = documents.publish(tx, was, new=_version(caller, args.text))
    return _written(tx, args, head) if head is not was else view(tx, args, head)


def touch(tx: Tx, caller: Caller, args: WriteNote) -> NoteView:
    """Move the head alone."""
    was = _current(tx, args.project, args.note)
    documents.require_base("note", was, args.base_revision)
    return _written(tx, args, documents.touch(tx, was))


def read(tx: Tx, caller: Caller, args: ReadNote) -> NoteView:
    """The note as it is now."""
    projects.visible(tx, caller, args.project)
    return view(tx, args, _current(tx, args.project, args.note))


def reveal(tx: Tx, caller: Caller, args: WriteNote) -> Secret:
    """Write, and answer with something that must not be kept."""
    create(tx, caller, args)
    return Secret(secret="shown once")


def view(tx: Tx, args: ReadNote | WriteNote, head: Head) -> NoteView:
    """A head as it is shown."""
    found = documents.read(tx, head.document, head.version) if head.version is not None else None
    text = str(found.body["text"]) if found is not None else ""
    return NoteView(project=args.project, note=args.note, revision=head.revision, version=head.version, text=text)


def _kept(answer: NoteView) -> tuple[str, int]:
    return f"{answer.project}/{answer.note}", answer.revision


def _render(tx: Tx, caller: Caller, identity: str, revision: int) -> NoteView:
    project, _, note = identity.partition("/")
    projects.visible(tx, caller, project)
    found = documents.read(tx, document_of(tx, project, note), revision)
    if found is None:
        raise errors.not_found("note", note)
    text = str(found.body["text"])
    return NoteView(project=project, note=note, revision=revision, version=revision, text=text)


def _scope(tx: Tx, args: OfProject | WriteNote) -> str:
    scope = projects.scope_of(tx, args.project)
    assert scope is not None
    return scope


def _lock(tx: Tx, args: OfProject | WriteNote) -> str | None:
    return projects.scope_of(tx, args.project)


def _current(tx: Tx, project: str, note: str) -> Head:
    head = documents.current(tx, document_of(tx, project, note))
    if head is None:
        raise errors.not_found("note", note)
    return head


def _version(caller: Caller, text: str) -> NewVersion:
    return NewVersion(body={"text": text}, author=caller.author, change="write", changed=("text",))


def _written(tx: Tx, args: WriteNote, head: Head) -> NoteView:
    topic = f"notes/{args.note}"
    feed.add(tx, head.scope, feed.Event.CARD_CHANGED, topic=topic, revision=head.revision)
    return view(tx, args, head)


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="create_note",
        summary="Make a note",
        input=WriteNote,
        output=NoteView,
        permissions=WRITE,
        effect=Effect.WRITE,
        doors=DOORS,
        handler=create,
        lock=_lock,
        again=Again(kept=_kept, render=_render),
    ),
    Operation(
        name="edit_note",
        summary="Change a note",
        input=WriteNote,
        output=NoteView,
        permissions=WRITE,
        effect=Effect.WRITE,
        doors=DOORS,
        handler=edit,
        lock=_lock,
    ),
    Operation(
        name="touch_note",
        summary="Move a note's head",
        input=WriteNote,
        output=NoteView,
        permissions=WRITE,
        effect=Effect.WRITE,
        doors=DOORS,
        handler=touch,
        lock=_lock,
    ),
    Operation(
        name="reveal_note",
        summary="Answer once",
        input=WriteNote,
        output=Secret,
        permissions=WRITE,
        effect=Effect.WRITE,
        doors=frozenset({Door.REST}),
        handler=reveal,
        lock=_lock,
        answer=AnswerRule.ONCE,
    ),
    Operation(
        name="read_note",
        summary="Read a note",
        input=ReadNote,
        output=NoteView,
        permissions=READ,
        effect=Effect.READ,
        doors=DOORS,
        handler=read,
        lock=_lock,
        reach=Reach.KEY,
    ),
    Operation(
        name="scan_note",
        summary="Read a note on a reader thread",
        input=ReadNote,
        output=NoteView,
        permissions=READ,
        effect=Effect.READ,
        doors=DOORS,
        handler=read,
        lock=_lock,
    ),
)
