"""`write_file`, `edit_file`: an assistant changes a file of a project's folder, where it may (S1, S3, S6)."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import Field, TypeAdapter

from workstead import errors
from workstead.accounts.projects import Project
from workstead.agents.tools import edits
from workstead.kernel.access import Permission
from workstead.kernel.acts import Act, AnyAct, Asked
from workstead.kernel.canonical import Json
from workstead.kernel.operations import Door, Effect
from workstead.kernel.receipts import Kept
from workstead.runs import folder_acts
from workstead.runs.folder_acts import Claimed, Doing, Done, Means
from workstead.work.rules import ProjectWrite
from workstead.workspace import files

WRITE, EDIT = "write_file", "edit_file"
FILE_LIMIT_BYTES = 1 << 20
DEADLINE_S = 30.0

_WRITING = frozenset({Permission.WORKSPACE_WRITE})
_DOORS = frozenset({Door.MCP})
_PATH = Field(min_length=1, max_length=4096, description="Relative to the project's folder.")
_BASE = Field(
    default=None,
    min_length=64,
    max_length=64,
    description="SHA-256 of the file you read; if it has changed since, nothing is written.",
)


class WriteFile(ProjectWrite):
    """A whole file."""

    path: str = _PATH
    content: str = Field(max_length=FILE_LIMIT_BYTES, description="The whole new text; folders are made.")
    base_sha256: str | None = _BASE


class EditFile(ProjectWrite):
    """A piece of a file."""

    path: str = _PATH
    old: str = Field(min_length=1, max_length=FILE_LIMIT_BYTES, description="Text that stands there now, exactly.")
    new: str = Field(max_length=FILE_LIMIT_BYTES, description="What stands there afterwards.")
    replace_all: bool = Field(default=False, description="Replace every place; otherwise there must be exactly one.")
    base_sha256: str | None = _BASE


@dataclass(frozen=True, kw_only=True)
class FileWritten:
    """What a write left. created: there was no such file before."""

    path: str
    sha256: str
    size_bytes: int
    created: bool


_ADAPTER = TypeAdapter(FileWritten)


def acts(means: Means) -> tuple[AnyAct, ...]:
    """The two acts."""
    return (
        Act(
            name=WRITE,
            summary="Write a whole file of a project's folder; folders are made.",
            input=WriteFile,
            output=FileWritten,
            permissions=_WRITING,
            effect=Effect.WRITE,
            doors=_DOORS,
            perform=partial(write, means),
        ),
        Act(
            name=EDIT,
            summary="Replace one exact piece of text in a file of a project's folder.",
            input=EditFile,
            output=FileWritten,
            permissions=_WRITING,
            effect=Effect.WRITE,
            doors=_DOORS,
            perform=partial(edit, means),
        ),
    )


async def write(means: Means, asked: Asked[WriteFile]) -> FileWritten:
    """Put a whole text into a file. Raises `file_stale`, and what the folder refuses."""
    args = asked.args
    return await _change(means, asked, name=WRITE, base=args.base_sha256, path=args.path, text=lambda _: args.content)


async def edit(means: Means, asked: Asked[EditFile]) -> FileWritten:
    """Replace a piece. Raises `file_stale`, `file_not_found`, `file_not_text`, and what the rule of edits refuses."""
    args = asked.args

    def text(before: bytes | None) -> str:
        if before is None:
            raise errors.not_found("file", args.path)
        try:
            whole = before.decode("utf-8")
        except UnicodeDecodeError:
            raise errors.invalid("file_not_text", f"{args.path} is not UTF-8 text.") from None
        return edits.replace(whole, old=args.old, new=args.new, replace_all=args.replace_all)

    return await _change(means, asked, name=EDIT, base=args.base_sha256, path=args.path, text=text)


async def _change(
    means: Means,
    asked: Asked[WriteFile] | Asked[EditFile],
    *,
    name: str,
    base: str | None,
    path: str,
    text: Callable[[bytes | None], str],
) -> FileWritten:
    def change(project: Project) -> tuple[FileWritten, bytes]:
        with files.Folder(Path(project.folder)) as folder:
            before = _before(folder, path)
            digest = hashlib.sha256(before).hexdigest() if before is not None else None
            if base is not None and base != digest:
                message = f"{path} is not what you read any more; read it again and decide anew."
                raise errors.conflict("file_stale", message, current_sha256=digest)
            data = text(before).encode()
            folder.write(path, data)
        written = FileWritten(
            path="/".join(files.components(path)),
            sha256=hashlib.sha256(data).hexdigest(),
            size_bytes=len(data),
            created=before is None,
        )
        return written, data

    async def act(claimed: Claimed) -> Done[FileWritten]:
        written, data = await means.effects.work(partial(change, claimed.project), alone=claimed.project.folder)
        kept = Kept(answer=_ADAPTER.dump_json(written).decode(), answer_id=None, answer_revision=None)
        told: dict[str, Json] = {"size_bytes": len(data), "sha256": written.sha256, "created": written.created}
        return Done(answer=written, kept=kept, subject=written.path, told=told)

    doing = Doing(
        name=name,
        event="workspace:file:written",
        permissions=_WRITING,
        deadline_s=DEADLINE_S,
        act=act,
        again=_again,
    )
    return await folder_acts.perform(means, asked, doing)


async def _again(_: Project, kept: Kept) -> FileWritten:
    return _ADAPTER.validate_json(kept.answer or "")


def _before(folder: files.Folder, path: str) -> bytes | None:
    try:
        return folder.read(path, limit_bytes=FILE_LIMIT_BYTES * 4)
    except errors.Refusal as refused:
        if refused.kind is errors.Kind.NOT_FOUND:
            return None
        raise
