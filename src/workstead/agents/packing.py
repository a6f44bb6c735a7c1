"""Packing: the text of old rows cut into pieces of which as many as fit go into one summary. Pure.

Every text is passed on once, in order, without a gap; a piece says which bytes of how many it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Source:
    """One text to be summarised. label: what it is, for whoever reads it."""

    label: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Place:
    """How far a sequence of sources has been passed on: whole ones, then so many characters of the next."""

    index: int = 0
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class Packed:
    """What fits, and where to go on."""

    text: str
    next: Place


Fits = Callable[[str], bool]


def take(sources: Sequence[Source], start: Place, fits: Fits) -> Packed | None:
    """As much as fits from a place on: whole texts, or a part of the first; None where not even one character does."""
    first = _piece(sources[start.index], start.offset, None)
    pieces = [first, *(_piece(one, 0, None) for one in sources[start.index + 1 :])]
    whole = _most(len(pieces), lambda count: fits("\n".join(pieces[:count])))
    if whole:
        return Packed(text="\n".join(pieces[:whole]), next=Place(index=start.index + whole))
    source = sources[start.index]
    left = len(source.text) - start.offset
    part = _most(left - 1, lambda count: fits(_piece(source, start.offset, start.offset + count)))
    if not part:
        return None
    end = start.offset + part
    return Packed(text=_piece(source, start.offset, end), next=Place(index=start.index, offset=end))


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """The greatest count up to the limit that fits, found by doubling, then halving; zero when one does not."""
    low, high = 0, 1
    while high <= limit and fits(high):
        low, high = high, high * 2
    high = min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _piece(source: Source, start: int, end: int | None) -> str:
    text = source.text[start:end]
    before = len(source.text[:start].encode("utf-8", "surrogatepass"))
    size = len(text.encode("utf-8", "surrogatepass"))
    total = before + size + len(source.text[start:][len(text) :].encode("utf-8", "surrogatepass"))
    return f'<source {source.label} bytes="{before}-{before + size}" of="{total}">\n{text}\n</source>'
