"""Patches: unified diffs parsed and applied to texts. Pure; the rule behind the `apply_patch` tool.

A patch is text about project files: it creates, deletes and changes them. Every line it names as old must
stand in the file exactly where it says; nothing is guessed. Renames, modes and binary files are refused, not
skipped, because a patch that was half understood is worse than none.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from workstead import errors

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NO_NEWLINE = "\\ No newline at end of file"
_NOWHERE = "/dev/null"
_REFUSED = {
    "rename ": "renames a file; delete the old and create the new one instead",
    "copy ": "copies a file; create the new one instead",
    "old mode ": "changes a file's mode; run chmod instead",
    "Binary files ": "holds a binary file; only text can be patched",
    "GIT binary patch": "holds a binary file; only text can be patched",
    "*** ": "is no unified diff; it needs `--- a/path`, `+++ b/path` and `@@ -1,2 +1,3 @@` lines",
}


class Change(StrEnum):
    """What a patch does to one file."""

    CHANGED = "changed"
    CREATED = "created"
    DELETED = "deleted"


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """One stretch of changes.

    number: its place in the file's patch, from 1. start: index of its first old line, from 0.
    old, new: the lines before and after, context included, each with its line end.
    """

    number: int
    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FilePatch:
    """What a patch does to one file; `path` is relative to the project."""

    path: str
    change: Change
    hunks: tuple[Hunk, ...]


def parse(patch: str) -> tuple[FilePatch, ...]:
    """The files of a unified diff, in its order; raises `invalid` for any other text."""
    reader = _Reader(patch)
    files: dict[str, FilePatch] = {}
    while (file := _file(reader)) is not None:
        if file.path in files:
            raise _malformed(f"names {file.path} twice; put all its hunks below one header")
        files[file.path] = file
    if not files:
        raise _malformed("names no file; it needs `--- a/path` and `+++ b/path` lines")
    return tuple(files.values())


def apply(patch: FilePatch, before: str | None) -> str | None:
    """The file's text after the patch, none when it is deleted; `before` is none when there is no such file.

    Raises `conflict` naming file and hunk when the text is not what the patch expects.
    """
    if patch.change is Change.CREATED:
        if before is not None:
            raise _mismatch(patch, "the patch creates it, but it is there already")
    elif before is None:
        raise _mismatch(patch, "there is no such file")
    lines = split_lines(before or "")
    after: list[str] = []
    done = 0
    for hunk in patch.hunks:
        if hunk.start < done:
            raise _mismatch(patch, f"hunk {hunk.number} begins before the end of the one above it")
        end = hunk.start + len(hunk.old)
        if hunk.start > len(lines) or tuple(lines[hunk.start : end]) != hunk.old:
            raise _mismatch(patch, _difference(lines, hunk))
        after += (*lines[done : hunk.start], *hunk.new)
        done = end
    after += lines[done:]
    if patch.change is not Change.DELETED:
        return _joined(patch, after)
    if after:
        raise _mismatch(patch, f"the patch deletes it, but {len(after)} of its lines would stay")
    return None


def split_lines(text: str) -> list[str]:
    """The lines of a text with their ends; only a line feed ends a line, as in a diff."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


class _Reader:
    """The lines of a patch, one after the other."""

    def __init__(self, patch: str) -> None:
        if "\0" in patch:
            raise _malformed("holds a NUL character; only text can be patched")
        self._lines = patch.removesuffix("\n").split("\n")
        self._at = 0

    def peek(self) -> str | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def take(self) -> str:
        self._at += 1
        return self._lines[self._at - 1]

    def next_is(self, start: str) -> bool:
        line = self.peek()
        return line is not None and line.startswith(start)


def _file(reader: _Reader) -> FilePatch | None:
    """The next file; what tools write around the headers is skipped, what they mean is not."""
    empty: Change | None = None
    git_path = ""
    while (line := reader.peek()) is not None:
        if line.startswith("--- ") and line != "--- ":
            return _with_hunks(reader)
        if line.startswith("diff --git "):
            if empty is not None:
                break
            git_path = line.partition(" b/")[2]
        elif line.startswith(("new file mode ", "deleted file mode ")):
            empty = Change.CREATED if line.startswith("new") else Change.DELETED
        else:
            _check_around(line)
        reader.take()
    return None if empty is None else FilePatch(path=_project_path(git_path), change=empty, hunks=())


def _check_around(line: str) -> None:
    for start, why in _REFUSED.items():
        if line.startswith(start):
            raise _malformed(why)
    if line.startswith(("@@", "+")) or (line.startswith("-") and line.rstrip() != "--"):
        raise _malformed(f"has a line that belongs to no hunk or file header: {line[:80]!r}")


def _with_hunks(reader: _Reader) -> FilePatch:
    old = _header_path(reader.take())
    if not reader.next_is("+++ "):
        raise _malformed(f"has no `+++` line below `--- {old}`")
    new = _header_path(reader.take())
    if old == new == _NOWHERE:
        raise _malformed("has /dev/null on both sides")
    if old == _NOWHERE:
        path, change = new.removeprefix("b/"), Change.CREATED
    elif new == _NOWHERE:
        path, change = old.removeprefix("a/"), Change.DELETED
    else:
        git = old.startswith("a/") and new.startswith("b/")
        path, change = (new[2:] if git else new), Change.CHANGED
        if path != (old[2:] if git else old):
            raise _malformed(f"turns {old} into {new}; delete the old and create the new file instead")
    hunks: list[Hunk] = []
    while reader.next_is("@@"):
        hunks.append(_hunk(reader, path=path, number=len(hunks) + 1))
    if not hunks:
        raise _malformed(f"has no hunk for {path}; it needs `@@ -1,2 +1,3 @@` and lines")
    if change is Change.CREATED and any(hunk.old for hunk in hunks):
        raise _malformed(f"creates {path} but names old lines of it")
    return FilePatch(path=_project_path(path), change=change, hunks=tuple(hunks))


def _hunk(reader: _Reader, *, path: str, number: int) -> Hunk:
    header = reader.take()
    match = _HUNK.match(header)
    if match is None:
        raise _malformed(f"hunk {number} of {path} begins with {header[:80]!r}, not with `@@ -1,2 +1,3 @@`")
    old_start, old_count, new_count = int(match[1]), int(match[2] or 1), int(match[4] or 1)
    body = _body(reader, old_count=old_count, new_count=new_count)
    old = tuple(line for kind, line in body if kind != "+")
    new = tuple(line for kind, line in body if kind != "-")
    follows = reader.peek() or ""
    surplus = follows[:1] in {" ", "+", "-"} and not follows.startswith("--- ") and follows.rstrip() != "--"
    if (len(old), len(new)) != (old_count, new_count) or surplus:
        raise _malformed(
            f"hunk {number} of {path} says {old_count} old and {new_count} new lines, but has "
            f"{'more' if surplus else f'{len(old)} and {len(new)}'}; lines of context count on both sides"
        )
    if old == new:
        raise _malformed(f"hunk {number} of {path} changes nothing")
    # A hunk without old lines names the line it stands behind.
    return Hunk(number=number, start=max(old_start - 1, 0) if old else old_start, old=old, new=new)


def _body(reader: _Reader, *, old_count: int, new_count: int) -> list[tuple[str, str]]:
    """The lines of a hunk as kind and text, until its counts are reached."""
    body: list[tuple[str, str]] = []
    while (line := reader.peek()) is not None:
        if line.startswith("\\") and body:
            # "No newline at end of file" is said about the line above.
            body[-1] = (body[-1][0], body[-1][1].removesuffix("\n"))
        elif old_count <= 0 and new_count <= 0:
            break
        elif line[:1] in {"", " ", "+", "-"}:
            # Editors strip the one space of an empty line of context.
            kind = line[:1] or " "
            body.append((kind, f"{line[1:]}\n"))
            old_count -= kind != "+"
            new_count -= kind != "-"
        else:
            break
        reader.take()
    return body


def _header_path(line: str) -> str:
    path = line[4:].partition("\t")[0].rstrip("\r ")
    if path.startswith('"'):
        raise _malformed(f"quotes the path {path}; write it as it is")
    return path


def _project_path(path: str) -> str:
    parts = path.split("/")
    if not path or "://" in path or any(part in {"", ".", ".."} for part in parts):
        raise errors.invalid(
            "patch_path_invalid",
            f"The patch names {path!r}; a patch changes project files only, by paths like src/main.py.",
        )
    return path


def _difference(lines: list[str], hunk: Hunk) -> str:
    """Where the file and the hunk part, and where the hunk's lines stand instead, if at one place only."""
    offset = next((index for index, pair in enumerate(_pairs(lines, hunk)) if pair[0] != pair[1]), 0)
    at = hunk.start + offset
    found = repr(_short(lines[at])) if at < len(lines) else "the end of the file"
    expected = repr(_short(hunk.old[offset])) if hunk.old else f"{hunk.start} lines above it"
    said = f"hunk {hunk.number} expects {expected} at line {at + 1}, but there is {found}"
    places = _places(lines, hunk.old)
    return f"{said}; its old lines stand at line {places[0] + 1}" if len(places) == 1 else said


def _pairs(lines: list[str], hunk: Hunk) -> Iterable[tuple[str, str | None]]:
    for offset, line in enumerate(hunk.old):
        at = hunk.start + offset
        yield line, lines[at] if at < len(lines) else None


def _places(lines: list[str], old: tuple[str, ...]) -> list[int]:
    if not old:
        return []
    starts = (at for at, line in enumerate(lines) if line == old[0])
    return [at for at in starts if tuple(lines[at : at + len(old)]) == old][:2]


def _joined(patch: FilePatch, lines: list[str]) -> str:
    if any(not line.endswith("\n") for line in lines[:-1]):
        raise _mismatch(patch, f"a line that is not the last has no line end (`{_NO_NEWLINE}`)")
    return "".join(lines)


def _short(line: str) -> str:
    return line if len(line) <= 80 else f"{line[:80]}…"


def _malformed(why: str) -> errors.Refusal:
    sentence = f"In the patch, {why}." if why.startswith("hunk") else f"The patch {why}."
    return errors.invalid("patch_malformed", sentence)


def _mismatch(patch: FilePatch, why: str) -> errors.Refusal:
    return errors.conflict("patch_mismatch", f"{patch.path}: {why}. Read the file and make the patch again.")
