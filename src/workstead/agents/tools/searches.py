"""`glob` and `grep`: searches through the project's folder, bounded in time, files and answers.

They run on the loop, so they pause whenever they have worked for a moment, and end with what they have when their time
is up; the answer says so.
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Literal

import anyio
import anyio.lowlevel
from pydantic import Field

from workstead import errors
from workstead.agents.tools import addresses, arguments, envelopes, globs, regexes
from workstead.agents.tools.addresses import FileAddress, Place
from workstead.agents.tools.envelopes import NextPosition, ResponseBytes
from workstead.agents.tools.globs import Glob
from workstead.agents.tools.regexes import Guarded
from workstead.agents.tools.tool import Acted, CallSite, Tool
from workstead.agents.tools.workbench import Workbench
from workstead.kernel import paging
from workstead.kernel.canonical import Json
from workstead.kernel.operations import Input
from workstead.workspace import folders
from workstead.workspace.files import Entry

GLOB, GREP = "glob", "grep"

FILE_LIMIT_BYTES = 5 << 20
PREVIEW_LIMIT_CHARS = 500
RESULTS_LIMIT = 1000
RESULTS_DEFAULT = 200
SEARCH_LIMIT_S = 10.0

_TURN_S = 0.005
_BINARY_LOOK_BYTES = 8192

_GLOB_DESCRIPTION = (
    "Find files by name below a folder. * and ? stay within a name, ** spans folders, {a,b} chooses; a pattern without "
    "a slash is meant at any depth. Version control, dependencies and caches are left out."
)
_GREP_DESCRIPTION = (
    "Find lines by a Python regular expression, in a file or below a folder. Patterns that could run for long (a "
    "repeat inside a repeat, references to groups) are refused; long lines are searched up to max_line_chars."
)

MaxResults = Field(default=RESULTS_DEFAULT, ge=1, le=RESULTS_LIMIT, description="Stop after so many.")


class GlobArguments(Input):
    """Where to look, and for what."""

    directory: str = Field(max_length=4200, description="A folder, relative to the project's; empty: all of it.")
    pattern: str = Field(min_length=1, max_length=globs.LIMIT_CHARS, description="As in src/**/*.py or *.md.")
    max_results: int = MaxResults
    position: NextPosition = None
    response_bytes: ResponseBytes = paging.LIMIT_BYTES_MAX


class GrepArguments(Input):
    """What to look for, and where."""

    pattern: str = Field(
        min_length=1, max_length=regexes.LIMIT_CHARS, description="A regular expression, matched within one line."
    )
    path: str = Field(default="", max_length=4200, description="A file or folder; empty: the whole project.")
    include: str | None = Field(
        default=None, max_length=globs.LIMIT_CHARS, description="Only files whose path matches this glob."
    )
    max_results: int = MaxResults
    position: NextPosition = None
    response_bytes: ResponseBytes = paging.LIMIT_BYTES_MAX


def build(name: Literal["glob", "grep"], bench: Workbench) -> Tool:
    """One of the two tools."""
    searches = Searches(bench)
    match name:
        case "glob":
            schema = arguments.described(GLOB, _GLOB_DESCRIPTION, GlobArguments)
            return Tool(schema=schema, act=arguments.acting(GlobArguments, searches.glob))
        case "grep":
            schema = arguments.described(GREP, _GREP_DESCRIPTION, GrepArguments)
            return Tool(schema=schema, act=arguments.acting(GrepArguments, searches.grep))


class _Turns:
    """Time of a search: pauses when it has worked for a moment, and knows when its time is up."""

    def __init__(self) -> None:
        now = anyio.current_time()
        self._ends = now + SEARCH_LIMIT_S
        self._turn_ends = now + _TURN_S
        self.up = False

    async def pause(self) -> bool:
        """Let others work when it is their turn; False when the search's time is up."""
        now = anyio.current_time()
        if now >= self._turn_ends:
            await anyio.lowlevel.checkpoint()
            now = anyio.current_time()
            self._turn_ends = now + _TURN_S
        self.up = now >= self._ends
        return not self.up


class _Found:
    """What a search has found so far, and why it ended early."""

    def __init__(self, *, limit: int) -> None:
        self.items: list[Json] = []
        self.truncated = False
        self.skipped_large = 0
        self._limit = limit
        self.full = False

    def add(self, item: Json) -> bool:
        """Whether there is room for more; a first one too many only shows that there is more."""
        if len(self.items) == self._limit:
            self.full = True
            return False
        self.items.append(item)
        return True


class Searches:
    """The acts of the two tools over one workbench."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._folder = bench.folder

    async def glob(self, site: CallSite, args: GlobArguments) -> Acted:
        """The paths that match, in plain string order of folders and names."""
        base = addresses.read_file(args.directory, card_id=site.card_id)
        if self._folder.stat(base.path).kind != "folder":
            raise errors.invalid("path_not_folder", f"{args.directory} is not a folder.")
        pattern = globs.compiled(args.pattern)
        turns, found = _Turns(), _Found(limit=args.max_results)
        async for entry in self._files(base, turns):
            if pattern.matches(_below(entry.path, base)) and not found.add(self._shown(entry.path, base)):
                break
        fields: dict[str, Json] = {"incomplete": _incomplete(found, turns)}
        return envelopes.page(
            found.items,
            name="matches",
            position=args.position,
            response_bytes=args.response_bytes,
            fields=fields,
        )

    async def grep(self, site: CallSite, args: GrepArguments) -> Acted:
        """The lines that match, in order."""
        guarded = regexes.guarded(args.pattern)
        include = globs.compiled(args.include) if args.include is not None else None
        base = addresses.read_file(args.path, card_id=site.card_id)
        turns, found = _Turns(), _Found(limit=args.max_results)
        if self._folder.stat(base.path).kind == "folder":
            await self._grep_folder(base, guarded=guarded, include=include, turns=turns, found=found)
        else:
            raw = self._folder.read(base.path, limit_bytes=FILE_LIMIT_BYTES)
            await self._grep_file(raw, base.shown, guarded=guarded, turns=turns, found=found)
        fields: dict[str, Json] = {
            "content_truncated": found.truncated,
            "max_line_chars": guarded.line_chars,
            "incomplete": _incomplete(found, turns),
            "skipped_large_files": found.skipped_large,
        }
        return envelopes.page(
            found.items,
            name="matches",
            position=args.position,
            response_bytes=args.response_bytes,
            fields=fields,
        )

    async def _grep_folder(
        self, base: FileAddress, *, guarded: Guarded, include: Glob | None, turns: _Turns, found: _Found
    ) -> None:
        async for entry in self._files(base, turns):
            if include is not None and not include.matches(_below(entry.path, base)):
                continue
            if entry.size_bytes > FILE_LIMIT_BYTES:
                found.skipped_large += 1
                continue
            try:
                raw = self._folder.read(entry.path, limit_bytes=FILE_LIMIT_BYTES)
            except errors.Refusal:
                continue  # it went away, grew, or may not be read: a search shows what it can
            await self._grep_file(raw, self._shown(entry.path, base), guarded=guarded, turns=turns, found=found)
            if found.full:
                return

    async def _grep_file(self, raw: bytes, shown: str, *, guarded: Guarded, turns: _Turns, found: _Found) -> None:
        if b"\0" in raw[:_BINARY_LOOK_BYTES]:
            return
        text = self._bench.clean(raw.decode("utf-8", "replace"))
        for number, line in enumerate(text.split("\n"), start=1):
            if not await turns.pause():
                return
            if len(line) > guarded.line_chars:
                found.truncated = True
            searched = line[: guarded.line_chars].removesuffix("\r")
            match = guarded.pattern.search(searched)
            if match is not None and not found.add(
                {"path": shown, "line": number, "text": self._preview(searched, match.start())}
            ):
                return

    def _preview(self, line: str, start: int) -> str:
        """The beginning of a line, or the stretch around a match that stands far behind it."""
        if len(line) <= PREVIEW_LIMIT_CHARS:
            return line.replace("\0", "\ufffd")
        begin = 0 if start < PREVIEW_LIMIT_CHARS // 2 else start - PREVIEW_LIMIT_CHARS // 4
        return line[begin : begin + PREVIEW_LIMIT_CHARS].replace("\0", "\ufffd")

    async def _files(self, base: FileAddress, turns: _Turns) -> AsyncIterator[Entry]:
        with contextlib.closing(self._folder.walk(base.path)) as entries:
            for entry in entries:
                if not await turns.pause():
                    return
                if entry.kind == "file":
                    yield entry

    def _shown(self, path: str, base: FileAddress) -> str:
        match base.place:
            case Place.PROJECT:
                return self._bench.clean(path)
            case Place.WORK:
                return "work:///" + self._bench.clean(path.removeprefix(f"{folders.WORK}/"))
            case Place.TMP:
                return "tmp:///" + self._bench.clean(path.removeprefix(f"{addresses.tmp_folder(self._bench.card_id)}/"))


def _below(path: str, base: FileAddress) -> str:
    return path.removeprefix(f"{base.path}/") if base.path else path


def _incomplete(found: _Found, turns: _Turns) -> str | None:
    """Why there may be more than what was found."""
    if found.full:
        return "max_results"
    return "time" if turns.up else None
