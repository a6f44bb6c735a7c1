"""Two texts side by side: lines of a difference paired into rows. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One row: what stood there before, and after. A number is None where a side has no line."""

    kind: Literal["same", "changed", "removed", "added"]
    before_number: int | None
    before: str
    after_number: int | None
    after: str


@dataclass(frozen=True, kw_only=True)
class Block:
    """A place where the texts differ, with some lines around it."""

    pairs: tuple[Pair, ...]


def blocks(hunks: Sequence[Mapping[str, Any]]) -> tuple[Block, ...]:
    """The hunks of a difference, as its operation answers them, as rows of two columns."""
    return tuple(
        Block(pairs=paired(hunk["lines"], before=hunk["before_line"], after=hunk["after_line"])) for hunk in hunks
    )


def paired(lines: Sequence[str], *, before: int = 1, after: int = 1) -> tuple[Pair, ...]:
    """Lines that start with a space, `-` or `+`, as rows; what was removed stands beside what came in its place."""
    found: list[Pair] = []
    gone: list[str] = []
    come: list[str] = []

    def flush() -> None:
        nonlocal before, after
        for place in range(max(len(gone), len(come))):
            old = gone[place] if place < len(gone) else None
            new = come[place] if place < len(come) else None
            found.append(_pair(old, new, before=before, after=after))
            before += old is not None
            after += new is not None
        gone.clear()
        come.clear()

    for line in lines:
        sign, text = line[:1], line[1:]
        if sign == "-":
            if come:
                flush()
            gone.append(text)
        elif sign == "+":
            come.append(text)
        else:
            flush()
            found.append(Pair(kind="same", before_number=before, before=text, after_number=after, after=text))
            before, after = before + 1, after + 1
    flush()
    return tuple(found)


def _pair(old: str | None, new: str | None, *, before: int, after: int) -> Pair:
    kind: Literal["changed", "removed", "added"] = "changed"
    if old is None:
        kind = "added"
    elif new is None:
        kind = "removed"
    return Pair(
        kind=kind,
        before_number=before if old is not None else None,
        before=old or "",
        after_number=after if new is not None else None,
        after=new or "",
    )
