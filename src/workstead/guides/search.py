"""Search: passages of the documents by words, the best first; small enough to be made when it is first asked."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from workstead.guides import documents

EXCERPT_CHARS = 900

_WORD = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
_HEADING = re.compile(r"^#{1,4} +(.+?) *$")
_TITLE_WEIGHT = 4
_SATURATION = 1.2
_TYPICAL_WORDS = 120


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A heading's text in one document. heading: with those above it."""

    document: str
    heading: str
    text: str


@dataclass(frozen=True, kw_only=True)
class _Indexed:
    passage: Passage
    words: Counter[str]
    size: int


def find(query: str) -> tuple[Passage, ...]:
    """The passages that hold a word of the query, the best first; equal ones in the order of the documents."""
    wanted = set(_words(query))
    passages = _index()
    spread = Counter(word for one in passages for word in wanted if word in one.words)
    scored = [(_score(one, wanted, spread=spread, total=len(passages)), one) for one in passages]
    found = sorted((each for each in scored if each[0] > 0), key=lambda each: -each[0])
    return tuple(one.passage for _, one in found)


def excerpt(passage: Passage, query: str) -> str:
    """The passage, or of a long one the lines around the first that fits best."""
    if len(passage.text) <= EXCERPT_CHARS:
        return passage.text
    wanted = set(_words(query))
    lines = passage.text.splitlines()
    hits = [len(wanted & set(_words(line))) for line in lines]
    at = max(hits.index(max(hits)) - 2, 0)
    kept: list[str] = []
    while at < len(lines) and sum(len(line) + 1 for line in kept) + len(lines[at]) < EXCERPT_CHARS:
        kept.append(lines[at])
        at += 1
    return "\n".join(kept) or passage.text[:EXCERPT_CHARS]


def _score(one: _Indexed, wanted: Iterable[str], *, spread: Counter[str], total: int) -> float:
    score = 0.0
    for word in wanted:
        times = one.words[word]
        if times:
            rarity = math.log(1 + total / spread[word])
            damped = _SATURATION * (0.4 + 0.6 * one.size / _TYPICAL_WORDS)
            score += rarity * times * (_SATURATION + 1) / (times + damped)
    return score


@cache
def _index() -> tuple[_Indexed, ...]:
    return tuple(
        _indexed(passage) for each in documents.DOCUMENTS for passage in _passages(each.name, documents.text(each.name))
    )


def _indexed(passage: Passage) -> _Indexed:
    heading = list(_words(passage.heading))
    body = list(_words(passage.text))
    return _Indexed(passage=passage, words=Counter(heading * _TITLE_WEIGHT + body), size=len(body))


def _passages(document: str, text: str) -> Iterator[Passage]:
    above: list[tuple[int, str]] = []
    lines: list[str] = []
    fenced = False
    for line in [*text.splitlines(), "# "]:
        fenced ^= line.startswith("```")
        found = None if fenced else re.match(r"(#{1,4}) ", line)
        if found is None:
            lines.append(line)
            continue
        body = "\n".join(lines).strip()
        if body:
            yield Passage(document=document, heading=" > ".join(name for _, name in above), text=body)
        lines = []
        level = len(found[1])
        above = [each for each in above if each[0] < level]
        named = _HEADING.match(line)
        above += [(level, named[1])] if named is not None else []


def _words(text: str) -> Iterator[str]:
    """Words without case and plural; a name with `_` counts whole and by its parts."""
    for found in _WORD.findall(text.lower()):
        parts = found.split("_")
        if len(parts) > 1:
            yield found
        yield from (_singular(part) for part in parts)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
