"""What a command printed, in stretches of its capture file; read through the project's folder, never by a link."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import Field

from workstead import errors
from workstead.accounts import projects
from workstead.agents import process_rows
from workstead.kernel.access import Caller, Permission
from workstead.kernel.operations import AnyOperation, Effect, Operation
from workstead.kernel.redaction import Redactor
from workstead.kernel.transaction import Tx
from workstead.work.rules import PEOPLES_DOORS, ProjectRead, lock
from workstead.workspace import files, processes

LIMIT_BYTES = 64 << 10
# A secret that begins in one stretch must not end in the next: so much is looked at past the end.
AHEAD_BYTES = 8 << 10
_SHAPES = Redactor()


class Stream(StrEnum):
    """What a command prints to."""

    STDERR = "stderr"
    STDOUT = "stdout"


class ReadCapture(ProjectRead):
    """Which stretch of what which command printed."""

    card_id: str = Field(description="The card it was run for.")
    process_id: str = Field(description="The process.")
    stream: Stream = Field(default=Stream.STDOUT, description="stdout or stderr.")
    offset: int = Field(default=0, ge=0, description="Byte to start at: `next_offset` of the stretch before.")
    limit_bytes: int = Field(default=LIMIT_BYTES, ge=64, le=LIMIT_BYTES, description="How many bytes at most.")


@dataclass(frozen=True, kw_only=True)
class CaptureText:
    """A stretch of a capture. total_bytes: in the file now. next_offset: None at the end of what is there."""

    process_id: str
    stream: Stream
    content: str
    offset: int
    next_offset: int | None
    total_bytes: int


def read(tx: Tx, caller: Caller, args: ReadCapture) -> CaptureText:
    """A stretch; raises `not_found` for a process of another card, and where the file was cleared away."""
    project = projects.visible(tx, caller, args.project)
    row = process_rows.read(tx, args.process_id)
    if row is None or row.project_id != project.id or row.card_id != args.card_id:
        raise errors.not_found("process", args.process_id)
    captures = processes.captures(row.card_id, row.id)
    path = captures.stdout_path if args.stream is Stream.STDOUT else captures.stderr_path
    with files.Folder(Path(project.folder)) as folder:
        total_bytes = folder.stat(path).size_bytes
        raw = folder.read_part(path, offset_bytes=args.offset, limit_bytes=args.limit_bytes + AHEAD_BYTES)
    size_bytes = stretch_bytes(raw, limit_bytes=args.limit_bytes)
    end = args.offset + size_bytes
    return CaptureText(
        process_id=row.id,
        stream=args.stream,
        content=raw[:size_bytes].decode("utf-8", "replace"),
        offset=args.offset,
        next_offset=end if end < total_bytes and size_bytes else None,
        total_bytes=total_bytes,
    )


def stretch_bytes(raw: bytes, *, limit_bytes: int) -> int:
    """How much of the beginning to show: whole lines where there are any, and no secret cut in two."""
    if len(raw) <= limit_bytes:
        return len(raw)
    text = raw.decode("utf-8", "surrogateescape")
    lines = raw.rfind(b"\n", limit_bytes // 2, limit_bytes) + 1
    wanted = lines or limit_bytes
    shown = text.encode("utf-8", "replace").decode("utf-8")
    end = _SHAPES.certified_end(shown, wanted)
    # Where not every byte was text, characters and bytes are no longer told apart by counting.
    return len(text[:end].encode("utf-8", "surrogateescape")) or wanted


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="read_capture",
        summary="Read what a command printed, in stretches.",
        input=ReadCapture,
        output=CaptureText,
        permissions=frozenset({Permission.RUNS_READ}),
        effect=Effect.READ,
        doors=PEOPLES_DOORS,
        handler=read,
        lock=lock,
    ),
)
