"""Glob patterns over relative paths. Pure; no pattern can take long, because nothing backtracks."""

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

from workstead import errors

LIMIT_CHARS = 1000
_ALTERNATIVES = 64
_BRACES = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, kw_only=True)
class Glob:
    """A compiled pattern: its alternatives, each as the segments of a path."""

    alternatives: tuple[tuple[str, ...], ...]

    def matches(self, path: str) -> bool:
        """Whether the relative path as a whole is meant."""
        parts = path.split("/")
        return any(_matches(segments, parts) for segments in self.alternatives)


def compiled(pattern: str) -> Glob:
    """`*` and `?` stay within a name, `**` spans folders, `[ab]` and `{a,b}` choose.

    A pattern without a slash is meant at any depth. Raises `invalid` for an empty, absolute or overlong pattern.
    """
    if not pattern or len(pattern) > LIMIT_CHARS or pattern.startswith("/") or ".." in pattern.split("/"):
        message = f"A pattern is a relative path with *, ** or ?, at most {LIMIT_CHARS} characters, as in src/**/*.py."
        raise errors.invalid("glob_invalid", message)
    written = [pattern]
    while any("{" in one and _BRACES.search(one) for one in written):
        written = [made for one in written for made in _expanded(one)]
        if len(written) > _ALTERNATIVES:
            raise errors.invalid("glob_invalid", f"The pattern has more than {_ALTERNATIVES} alternatives.")
    return Glob(alternatives=tuple(_segments(one) for one in written))


def _expanded(pattern: str) -> list[str]:
    braces = _BRACES.search(pattern)
    if braces is None:
        return [pattern]
    return [pattern[: braces.start()] + choice + pattern[braces.end() :] for choice in braces[1].split(",")]


def _segments(pattern: str) -> tuple[str, ...]:
    parts = tuple(part for part in pattern.split("/") if part not in {"", "."})
    return parts if "/" in pattern else ("**", *parts)


def _matches(segments: Sequence[str], parts: Sequence[str]) -> bool:
    """Which places of the pattern can be reached, part by part."""
    reached = _spanned({0}, segments)
    for part in parts:
        following: set[int] = set()
        for place in reached:
            if place == len(segments):
                continue
            if segments[place] == "**":
                following.add(place)
            elif fnmatch.fnmatchcase(part, segments[place]):
                following.add(place + 1)
        reached = _spanned(following, segments)
        if not reached:
            return False
    return len(segments) in reached


def _spanned(places: set[int], segments: Sequence[str]) -> set[int]:
    """With the places behind every `**`, which may span nothing."""
    reached = set(places)
    for place in sorted(places):
        after = place
        while after < len(segments) and segments[after] == "**":
            after += 1
            reached.add(after)
    return reached
