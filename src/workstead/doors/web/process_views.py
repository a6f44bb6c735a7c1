"""What the pages of a card's commands are given: what was run, how it ended, what it printed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from workstead.doors.web import views
from workstead.doors.web.place import Place
from workstead.doors.web.rendering import View


@dataclass(frozen=True, kw_only=True)
class ProcessView:
    """One command. state: running, done or failed. said: how it ended, in words. streams: name, size, complete."""

    id: str
    command: str
    cwd: str
    at: str
    took: str | None
    state: str
    said: str
    streams: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True, kw_only=True)
class ProcessesView(View):
    """A card's commands, newest first."""

    TEMPLATE: ClassVar[str] = "processes.html"

    place: Place
    processes: tuple[ProcessView, ...]


@dataclass(frozen=True, kw_only=True)
class CaptureView(View):
    """A stretch of what a command printed. earlier, later: byte offsets, None where there is nothing."""

    TEMPLATE: ClassVar[str] = "capture.html"

    place: Place
    process: ProcessView
    stream: str
    text: str
    begins: str
    total: str
    earlier: int | None
    later: int | None


def process(row: Mapping[str, Any]) -> ProcessView:
    """A process as its operation answers it."""
    end = row["end"]
    state, said = _ending(end)
    return ProcessView(
        id=row["id"],
        command=row["command"],
        cwd=row["cwd"] or ".",
        at=views.moment(row["started_at"]),
        took=views.duration(row["started_at"], end["at"] if end else None),
        state=state,
        said=said,
        streams=_streams(end),
    )


def size(count_bytes: int) -> str:
    """A size as people say it."""
    if count_bytes < 1024:
        return f"{count_bytes} B"
    kilobytes = count_bytes / 1024
    return f"{kilobytes:.1f} KiB" if kilobytes < 1024 else f"{kilobytes / 1024:.1f} MiB"


def _ending(end: Mapping[str, Any] | None) -> tuple[str, str]:
    if end is None:
        return "running", "still running"
    if end["kind"] == "exited":
        return ("done" if end["code"] == 0 else "failed"), f"exit code {end['code']}"
    if end["kind"] == "signalled":
        return "failed", f"ended by signal {end['signal']}"
    return "failed", str(end["kind"]).replace("_", " ")


def _streams(end: Mapping[str, Any] | None) -> tuple[tuple[str, str, bool], ...]:
    if end is None:
        return (("stdout", "", True), ("stderr", "", True))
    found = ((name, end[f"{name}_bytes"], end[f"{name}_complete"]) for name in ("stdout", "stderr"))
    return tuple((name, size(count_bytes), complete) for name, count_bytes, complete in found if count_bytes)
