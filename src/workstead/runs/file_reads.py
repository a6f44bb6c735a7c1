"""`list_files`, `read_file`: a project's folder as people and assistants read it; what is private is never shown (W24).

Reads go through the folder's handle, follow no link, and run on a reader's thread.
"""

import base64
import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import Field

from workstead import errors
from workstead.accounts import projects
from workstead.agents.tools import addresses
from workstead.agents.tools.addresses import FileAddress, Place, RecordAddress
from workstead.kernel import canonical, paging
from workstead.kernel.access import Caller, Permission
from workstead.kernel.operations import AnyOperation, Door, Effect, Operation
from workstead.kernel.redaction import Redactor
from workstead.kernel.transaction import Tx
from workstead.work import pages
from workstead.work.pages import PageRead, Slice, TextRead
from workstead.work.rules import PEOPLES_DOORS, ProjectRead, lock
from workstead.work.workflow import identity
from workstead.workspace import files, folders, private
from workstead.workspace.files import Entry, Folder

TEXT_LIMIT_BYTES = 4 << 20
PICTURE_LIMIT_BYTES = 16 << 20
DIGEST_LIMIT_BYTES = 256 << 20
_SNIFF_BYTES = 8 << 10
_SHAPES = Redactor()
_READING = frozenset({Permission.WORKSPACE_READ})
_PATH = Field(
    default="",
    max_length=4200,
    description="Relative to the project's folder, or work:///<path> for what commands printed; empty: the folder.",
)
_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class ListFiles(PageRead):
    """Which folder."""

    path: str = _PATH


class ReadFile(TextRead):
    """Which stretch of which file."""

    path: str = _PATH


class ReadPicture(ProjectRead):
    """Which picture."""

    path: str = _PATH


class FileKind(StrEnum):
    """What a file holds, as far as a reader cares."""

    BINARY = "binary"
    JSON = "json"
    LARGE = "large"  # a text too long to be shown
    MARKDOWN = "markdown"
    PICTURE = "picture"
    TEXT = "text"


@dataclass(frozen=True, kw_only=True)
class FileLine:
    """One name in a folder. private: it is there and is not shown. size_bytes: None for what is no file."""

    name: str
    address: str
    kind: Literal["file", "folder", "link", "other"]
    private: bool
    size_bytes: int | None
    modified_at: str


@dataclass(frozen=True, kw_only=True)
class FilesPage:
    """What stands in a folder: folders first, then by name."""

    address: str
    entries: tuple[FileLine | Slice, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class FileText:
    """A stretch of a file. content: empty for what is no text. line: the number of its first line.

    sha256: of the whole file; None for one of more than 256 MiB.
    """

    address: str
    kind: FileKind
    size_bytes: int
    modified_at: str
    sha256: str | None
    content: str
    line: int
    offset: int
    next_offset: int | None


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture's exact bytes, as base64."""

    mime_type: str
    content: str


def listed(tx: Tx, caller: Caller, args: ListFiles) -> FilesPage:
    """A folder's entries. Raises `file_private`, `file_not_found`, `path_blocked`."""
    where = _address(args.path)
    with _folder(tx, caller, args) as folder:
        found = folder.listing(where.path)
    ranked = sorted(found, key=lambda each: (each.kind != "folder", each.name))
    page = pages.fit(pages.Lazy(ranked, lambda each: _line(each, where)), args, beside=where.shown)
    return FilesPage(address=where.shown, entries=page.items, total=page.total, next=page.next)


def read(tx: Tx, caller: Caller, args: ReadFile) -> FileText:
    """A stretch of a text; of anything else what can be said. Raises as `listed`."""
    where = _address(args.path)
    with _folder(tx, caller, args) as folder:
        facts = folder.stat(where.path)
        head = folder.read_part(where.path, offset_bytes=0, limit_bytes=_SNIFF_BYTES)
        kind = _kind(where.path, head, facts.size_bytes)
        whole = None
        if kind in {FileKind.TEXT, FileKind.JSON, FileKind.MARKDOWN}:
            whole = folder.read(where.path, limit_bytes=TEXT_LIMIT_BYTES)
            digest: str | None = hashlib.sha256(whole).hexdigest()
        else:
            digest = folder.digest(where.path) if facts.size_bytes <= DIGEST_LIMIT_BYTES else None
    text = _text(whole)
    if whole is not None and text is None:
        kind = FileKind.BINARY
    part = _stretch(text or "", args)
    return FileText(
        address=where.shown,
        kind=kind,
        size_bytes=facts.size_bytes if whole is None else len(whole),
        modified_at=facts.modified_at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        sha256=digest,
        content=part.text,
        line=1 + (text or "").encode()[: part.offset_bytes].count(b"\n"),
        offset=part.offset_bytes,
        next_offset=part.next_offset_bytes,
    )


def picture(tx: Tx, caller: Caller, args: ReadPicture) -> Picture:
    """A picture's exact bytes; its kind is told by its first bytes, never by its name. Raises `file_not_picture`."""
    where = _address(args.path)
    with _folder(tx, caller, args) as folder:
        data = folder.read(where.path, limit_bytes=PICTURE_LIMIT_BYTES)
    mime_type = _picture_type(data)
    if mime_type is None:
        raise errors.invalid("file_not_picture", f"{where.shown} is no picture that is shown here.")
    return Picture(mime_type=mime_type, content=base64.b64encode(data).decode("ascii"))


def _folder(tx: Tx, caller: Caller, args: ProjectRead) -> Folder:
    return Folder(Path(projects.visible(tx, caller, args.project).folder))


def _address(given: str) -> FileAddress:
    found = addresses.read(given, card_id=identity.ROOT)
    if isinstance(found, RecordAddress):
        raise errors.invalid("address_not_file", "A record is read with read_record.")
    inside = files.components(found.path)
    # What commands printed lies in Workstead's own part, and is reached by its address only.
    own = files.components(folders.WORK) if found.place is not Place.PROJECT else ()
    if private.is_private(inside[len(own) :]):
        raise errors.denied("file_private", f"{found.shown} may hold keys or private state; it is not shown.")
    return found


def _line(entry: Entry, where: FileAddress) -> FileLine:
    base = where.shown if not where.shown or where.shown.endswith("/") else f"{where.shown}/"
    return FileLine(
        name=entry.name,
        address=f"{base}{entry.name}",
        kind=entry.kind,
        private=private.is_private((entry.name,)),
        size_bytes=entry.size_bytes if entry.kind == "file" else None,
        modified_at=entry.modified_at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
    )


def _kind(path: str, head: bytes, size_bytes: int) -> FileKind:
    if _picture_type(head) is not None:
        return FileKind.PICTURE
    if b"\0" in head:
        return FileKind.BINARY
    if size_bytes > TEXT_LIMIT_BYTES:
        return FileKind.LARGE
    suffix = path.rpartition("/")[2].rpartition(".")[2].casefold()
    return {"json": FileKind.JSON, "md": FileKind.MARKDOWN, "markdown": FileKind.MARKDOWN}.get(suffix, FileKind.TEXT)


def _picture_type(head: bytes) -> str | None:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime_type for begin, mime_type in _PICTURES if head.startswith(begin)), None)


def _text(whole: bytes | None) -> str | None:
    try:
        return whole.decode("utf-8") if whole is not None and b"\0" not in whole else None
    except UnicodeDecodeError:
        return None


def _stretch(text: str, args: ReadFile) -> paging.TextSlice:
    """The stretch whose JSON fits; it ends after a line where it can, and cuts no secret in two."""
    room = max(args.response_bytes - pages.TEXT_RESERVE_BYTES, paging.LIMIT_BYTES_MIN // 2)
    limit_bytes = room
    while True:
        found = paging.slice_text(text, offset_bytes=args.offset, limit_bytes=limit_bytes, cut=_cut)
        size_bytes = len(canonical.dump(found.text))
        if size_bytes <= room or len(found.text) <= 1:
            return found
        limit_bytes = max(min(limit_bytes - 1, limit_bytes * room // size_bytes), 1)


def _cut(rest: str, limit: int) -> int:
    shown = rest.encode()[:limit].decode("utf-8", "ignore")
    lines = shown.rfind("\n", len(shown) // 2) + 1
    return _SHAPES.certified_end(rest, lines or len(shown))


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="list_files",
        summary="List what stands in a folder of the project; private files are named and not shown.",
        input=ListFiles,
        output=FilesPage,
        permissions=_READING,
        effect=Effect.READ,
        doors=PEOPLES_DOORS,
        handler=listed,
        lock=lock,
    ),
    Operation(
        name="read_file",
        summary="Read a text file of the project in stretches; of any other file its kind, size and digest.",
        input=ReadFile,
        output=FileText,
        permissions=_READING,
        effect=Effect.READ,
        doors=PEOPLES_DOORS,
        handler=read,
        lock=lock,
    ),
    Operation(
        name="read_picture",
        summary="Look at a picture of the project, byte by byte.",
        input=ReadPicture,
        output=Picture,
        permissions=_READING,
        effect=Effect.READ,
        doors=frozenset({Door.PAGE}),
        handler=picture,
        lock=lock,
    ),
)
