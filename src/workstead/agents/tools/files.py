"""`read`, `write`, `edit`, `apply_patch`: files of the project's folder and records, by address.

Files are reached through `workspace.files.Folder` only. Records go through their operations, so that a change and the
call's result are one commit.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

from pydantic import Field

from workstead import errors
from workstead.agents.tools import addresses, arguments, cards, edits, envelopes, patches
from workstead.agents.tools.addresses import FileAddress, Place, RecordAddress
from workstead.agents.tools.envelopes import NextPosition, ResponseBytes
from workstead.agents.tools.tool import Acted, CallSite, Tool, ToolResult
from workstead.agents.tools.workbench import Workbench
from workstead.kernel import paging, redaction
from workstead.kernel.canonical import Json
from workstead.kernel.operations import Input
from workstead.workspace.files import FileFacts

T = TypeVar("T")

READ, WRITE, EDIT, APPLY_PATCH = "read", "write", "edit", "apply_patch"
READ_RECORD, READ_RECORD_VERSION = "read_record", "read_record_version"
WRITE_RECORD, EDIT_RECORD = "write_record", "edit_record"

# Read whole, because what is hidden must be found before anything is cut; a longer file is read in parts by a command.
READ_LIMIT_BYTES = 4 << 20
WRITE_LIMIT_BYTES = 1 << 20
PATCH_FILES_LIMIT = 100

_RECORD_FACTS = ("source", "version", "accepted", "revision")

_ADDRESS = (
    "A path relative to the project's folder, or record:///status.md?card=<id> (&v=N: an accepted version), "
    "work:///<path> (captured output, read only), tmp:///<path> (your card's scratch files)."
)
_READ_DESCRIPTION = (
    "Read a text file, a folder's entries or a record. A long answer comes in pages: copy `next` into `position`. "
    "Secrets of this installation are shown as placeholders."
)
_WRITE_DESCRIPTION = "Write a whole file (folders are made) or a whole record."
_EDIT_DESCRIPTION = (
    "Replace one exact piece of text in a file or a record; it must stand there once, or set replace_all."
)
_PATCH_DESCRIPTION = (
    "Apply a unified diff to text files of the project: change, create, delete. Every hunk must fit exactly; if one "
    "does not, nothing is changed."
)


class Read(Input):
    """What to read."""

    path: str = Field(min_length=1, max_length=4200, description=_ADDRESS)
    position: NextPosition = None
    read_mode: Literal["auto", "text"] = Field(
        default="auto", description="text: show a file that is no clean text too, with replacement characters."
    )
    metadata_only: bool = Field(default=False, description="Only kind, size and time of change.")
    response_bytes: ResponseBytes = paging.LIMIT_BYTES_MAX


class Write(Input):
    """What to write where."""

    path: str = Field(min_length=1, max_length=4200, description=_ADDRESS)
    content: str = Field(description="The whole new text.")


class Edit(Input):
    """What to replace where."""

    path: str = Field(min_length=1, max_length=4200, description=_ADDRESS)
    old_string: str = Field(min_length=1, description="Text that stands there now, exactly.")
    new_string: str = Field(description="What stands there afterwards.")
    replace_all: bool = Field(default=False, description="Replace every place.")


class ApplyPatch(Input):
    """A unified diff."""

    patch: str = Field(min_length=1, description="A unified diff with paths relative to the project's folder.")


def build(name: Literal["read", "write", "edit", "apply_patch"], bench: Workbench) -> Tool:
    """One of the four tools."""
    files = Files(bench)
    match name:
        case "read":
            return Tool(
                schema=arguments.described(READ, _READ_DESCRIPTION, Read),
                act=arguments.acting(Read, files.read),
                operations=frozenset({READ_RECORD, READ_RECORD_VERSION}),
            )
        case "write":
            return Tool(
                schema=arguments.described(WRITE, _WRITE_DESCRIPTION, Write),
                act=arguments.acting(Write, files.write),
                operations=frozenset({WRITE_RECORD}),
                changes=True,
            )
        case "edit":
            return Tool(
                schema=arguments.described(EDIT, _EDIT_DESCRIPTION, Edit),
                act=arguments.acting(Edit, files.edit),
                operations=frozenset({EDIT_RECORD}),
                changes=True,
            )
        case "apply_patch":
            return Tool(
                schema=arguments.described(APPLY_PATCH, _PATCH_DESCRIPTION, ApplyPatch),
                act=arguments.acting(ApplyPatch, files.apply_patch),
                changes=True,
            )


@dataclass(frozen=True, kw_only=True)
class _Planned:
    """What a patch will do to one file. after: None when it is deleted; before: None when it is created."""

    address: FileAddress
    change: str
    before: str | None
    after: str | None


class Files:
    """The acts of the four tools over one workbench."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._folder = bench.folder

    async def read(self, site: CallSite, args: Read) -> Acted:
        """A stretch of text, a page of entries, or facts."""
        found = addresses.read(args.path, card_id=site.card_id)
        if isinstance(found, RecordAddress):
            return await self._read_record(site, found, args)
        return await self._bench.effects.work(partial(self._look, found, args))

    def _look(self, found: FileAddress, args: Read) -> Acted:
        facts = self._folder.stat(found.path)
        if args.metadata_only:
            return Acted(result=ToolResult(success=True, data=self._facts(found, facts)))
        if facts.kind == "folder":
            return self._read_folder(found, args)
        raw = self._folder.read(found.path, limit_bytes=READ_LIMIT_BYTES)
        whole = _lenient(raw) if args.read_mode == "text" else _text(raw, found)
        return self._shown(whole, args, fields={"kind": "file"})

    async def write(self, site: CallSite, args: Write) -> Acted:
        """The whole text of a file or a record."""
        _require_no_placeholder(args.content)
        found = addresses.read(args.path, card_id=site.card_id)
        if isinstance(found, RecordAddress):
            given = {"card_id": found.card_id, "name": _current(found), "content": args.content}
            return await cards.call(self._bench, site, name=WRITE_RECORD, given=given)
        return _written(found, await self._change(partial(self._put, found, args.content)))

    async def edit(self, site: CallSite, args: Edit) -> Acted:
        """A piece of a file or a record."""
        _require_no_placeholder(args.new_string)
        found = addresses.read(args.path, card_id=site.card_id)
        if isinstance(found, RecordAddress):
            given: dict[str, object] = {
                "card_id": found.card_id,
                "name": _current(found),
                "old": args.old_string,
                "new": args.new_string,
                "replace_all": args.replace_all,
            }
            return await cards.call(self._bench, site, name=EDIT_RECORD, given=given)
        addresses.require_writable(found)
        return _written(found, await self._change(partial(self._replace, found, args)))

    async def apply_patch(self, site: CallSite, args: ApplyPatch) -> Acted:
        """Every file of a diff, or none."""
        return await self._change(partial(self._apply, site, args))

    async def _change(self, job: Callable[[], T]) -> T:
        """Run what changes the folder when nobody else does: what it read is still there when it writes."""
        return await self._bench.effects.work(job, alone=str(self._folder.root))

    def _replace(self, found: FileAddress, args: Edit) -> bytes:
        before = _text(self._folder.read(found.path, limit_bytes=READ_LIMIT_BYTES), found)
        return self._put(
            found, edits.replace(before, old=args.old_string, new=args.new_string, replace_all=args.replace_all)
        )

    def _apply(self, site: CallSite, args: ApplyPatch) -> Acted:
        planned = [self._planned(one, site) for one in self._parsed(args.patch)]
        done: list[_Planned] = []
        try:
            for one in planned:
                self._carry_out(one.address, one.after)
                done.append(one)
        except BaseException:
            # None or all: what was changed before the disk refused is put back.
            for one in reversed(done):
                self._carry_out(one.address, one.before)
            raise
        data: list[Json] = [
            {
                "path": one.address.shown,
                "change": one.change,
                "bytes": len((one.after or "").encode()),
            }
            for one in planned
        ]
        return Acted(result=ToolResult(success=True, data={"files": data}))

    async def _read_record(self, site: CallSite, found: RecordAddress, args: Read) -> Acted:
        answer, whole = await self._record(site, found)
        facts: dict[str, Json] = {name: answer[name] for name in _RECORD_FACTS if name in answer}
        # An accepted text is named by its number; the operation says more of it than fits beside a page.
        fields = {"kind": "record", **facts} | ({} if found.version is None else {"version": found.version})
        if args.metadata_only:
            return Acted(result=ToolResult(success=True, data=fields | {"size_bytes": len(whole.encode())}))
        return self._shown(whole, args, fields=fields)

    async def _record(self, site: CallSite, found: RecordAddress) -> tuple[dict[str, Json], str]:
        """A record's facts and its whole text: what is hidden must be found before anything is cut."""
        given: dict[str, object] = {"card_id": found.card_id, "name": found.name}
        name = READ_RECORD
        if found.version is not None:
            given["version"] = found.version
            name = READ_RECORD_VERSION
        parts: list[str] = []
        first: dict[str, Json] = {}
        offset: Json = 0
        while offset is not None:
            answer = await cards.ask(self._bench, site, name=name, given={**given, "offset": offset})
            if not isinstance(answer, dict):
                raise TypeError(f"{name} answers with an object")
            first = first or answer
            if answer.get("revision") != first.get("revision"):
                raise errors.conflict("record_changed", f"{found.name} was written while it was read; read it again.")
            parts.append(str(answer["content"]))
            offset = answer["next_offset"]
        return first, "".join(parts)

    def _read_folder(self, found: FileAddress, args: Read) -> Acted:
        entries: list[Json] = [
            {
                "name": self._bench.clean(entry.name),
                "kind": entry.kind,
                "size_bytes": entry.size_bytes,
                "modified_at": entry.modified_at.isoformat(),
            }
            for entry in self._folder.listing(found.path)
        ]
        return envelopes.page(
            entries,
            name="entries",
            position=args.position,
            response_bytes=args.response_bytes,
            fields={"kind": "folder"},
        )

    def _shown(self, whole: str, args: Read, *, fields: Mapping[str, Json]) -> Acted:
        shown = self._bench.redactor.exact(whole)
        return envelopes.text(
            shown.text,
            position=args.position,
            response_bytes=args.response_bytes,
            cut=self._bench.redactor.certified_end,
            fields={**fields, "redacted": True} if shown.altered else fields,
        )

    def _facts(self, found: FileAddress, facts: FileFacts) -> Json:
        data: dict[str, Json] = {
            "kind": facts.kind,
            "size_bytes": facts.size_bytes,
            "modified_at": facts.modified_at.isoformat(),
        }
        if facts.kind == "folder":
            data["entries"] = len(self._folder.listing(found.path))
        return data

    def _put(self, found: FileAddress, text: str) -> bytes:
        addresses.require_writable(found)
        data = text.encode()
        if len(data) > WRITE_LIMIT_BYTES:
            message = f"A file is written with at most {WRITE_LIMIT_BYTES} bytes and this is {len(data)}."
            raise errors.invalid("file_too_large", message, size_bytes=len(data), limit_bytes=WRITE_LIMIT_BYTES)
        self._carry_out(found, text)
        return data

    def _carry_out(self, found: FileAddress, text: str | None) -> None:
        if text is None:
            self._folder.remove(found.path)
        elif found.own:
            self._folder.write_own(found.path, text.encode())
        else:
            self._folder.write(found.path, text.encode())

    def _parsed(self, patch: str) -> tuple[patches.FilePatch, ...]:
        parsed = patches.parse(patch)
        if len(parsed) > PATCH_FILES_LIMIT:
            message = f"A patch changes at most {PATCH_FILES_LIMIT} files and this one {len(parsed)}."
            raise errors.invalid("patch_too_large", message)
        return parsed

    def _planned(self, one: patches.FilePatch, site: CallSite) -> _Planned:
        found = addresses.read_file(one.path, card_id=site.card_id)
        if found.place is not Place.PROJECT:
            raise errors.invalid("patch_path_invalid", "A patch changes files of the project only.")
        addresses.require_writable(found)
        before = self._before(found)
        after = patches.apply(one, before)
        _require_no_placeholder(*(line for hunk in one.hunks for line in hunk.new))
        if after is not None and len(after.encode()) > WRITE_LIMIT_BYTES:
            message = f"{one.path} would have more than {WRITE_LIMIT_BYTES} bytes."
            raise errors.invalid("file_too_large", message, limit_bytes=WRITE_LIMIT_BYTES)
        return _Planned(address=found, change=one.change.value, before=before, after=after)

    def _before(self, found: FileAddress) -> str | None:
        try:
            return _text(self._folder.read(found.path, limit_bytes=READ_LIMIT_BYTES), found)
        except errors.Refusal as refusal:
            if refusal.kind is errors.Kind.NOT_FOUND:
                return None
            raise


def _text(raw: bytes, found: FileAddress) -> str:
    """Clean text, byte for byte; anything else would come back changed when it is written."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_text(found, f"byte {error.start} is not UTF-8", size_bytes=len(raw)) from None
    if "\0" in text:
        raise _not_text(found, "it holds NUL bytes", size_bytes=len(raw))
    return text


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\0", "\ufffd")


def _not_text(found: FileAddress, why: str, *, size_bytes: int) -> errors.Refusal:
    message = f"{found.shown} is not a text file ({why}); read it with read_mode text, or with a command."
    return errors.invalid("file_not_text", message, size_bytes=size_bytes)


def _current(found: RecordAddress) -> str:
    if found.version is not None:
        raise errors.invalid("record_version_fixed", "An accepted version never changes; leave out &v= to write.")
    return found.name


def _require_no_placeholder(*texts: str) -> None:
    if any(redaction.contains_placeholder(text) for text in texts):
        message = "The text holds a placeholder of a hidden secret; writing it would destroy what it stands for."
        raise errors.invalid("placeholder_in_write", message)


def _written(found: FileAddress, data: bytes) -> Acted:
    result: dict[str, Json] = {
        "destination_kind": found.place.value,
        "target": found.shown,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "written": True,
    }
    return Acted(result=ToolResult(success=True, data=result))
