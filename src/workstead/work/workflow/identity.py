"""Card ids: `project`, `card-a`, `card-a-b`... An id says where a card hangs; it never grants membership."""

import re

from workstead import errors

ROOT = "project"
MAX_DEPTH = 12

_CHILD = re.compile(r"card-[a-z]+(?:-[a-z]+){0,11}")
_SEGMENT = re.compile(r"[a-z]+")
_LETTERS = 26


def is_card_id(text: str) -> bool:
    """Whether the text follows the grammar; says nothing about whether such a card exists."""
    return text == ROOT or _CHILD.fullmatch(text) is not None


def check_card_id(text: str) -> str:
    """The same text. Raises invalid `card_id_malformed`."""
    if is_card_id(text):
        return text
    message = f"A card id is `project` or `card-` and up to {MAX_DEPTH} lowercase segments, as in `card-a-b`."
    raise errors.invalid("card_id_malformed", message)


def depth_of(card_id: str) -> int:
    """0 for the root, otherwise the number of segments."""
    return len(_segments(card_id))


def parent_of(card_id: str) -> str | None:
    """The id one level up; None for the root."""
    segments = _segments(card_id)
    return _join(segments[:-1]) if segments else None


def ancestors_of(card_id: str) -> tuple[str, ...]:
    """Every id above, from the parent to the root."""
    segments = _segments(card_id)
    return tuple(_join(segments[:length]) for length in range(len(segments) - 1, -1, -1))


def is_within(card_id: str, subtree: str) -> bool:
    """Whether the card is the subtree's root or stands below it."""
    return card_id == subtree or subtree in ancestors_of(card_id)


def child_of(parent_id: str, segment: str) -> str:
    """The child's id. Raises conflict `card_depth_exceeded` past twelve segments."""
    if not _SEGMENT.fullmatch(segment):
        raise errors.invalid("card_segment_malformed", "A segment of a card id has lowercase letters only.")
    segments = (*_segments(parent_id), segment)
    if len(segments) > MAX_DEPTH:
        message = f"A card here would stand at depth {len(segments)}; {MAX_DEPTH} is the deepest allowed."
        raise errors.conflict("card_depth_exceeded", message, depth=len(segments), maximum=MAX_DEPTH)
    return _join(segments)


def segment_at(position: int) -> str:
    """The segment of a parent's child number `position`, counted from 0: a, b ... z, aa, ab ..."""
    if position < 0:
        raise ValueError(f"a position is never negative: {position}")
    letters = ""
    left = position + 1
    while left:
        left, letter = divmod(left - 1, _LETTERS)
        letters = chr(ord("a") + letter) + letters
    return letters


def next_segment(last: str | None) -> str:
    """The segment after the last one a parent ever gave out; gaps are never filled."""
    if last is None:
        return segment_at(0)
    if not _SEGMENT.fullmatch(last):
        raise errors.invalid("card_segment_malformed", "A segment of a card id has lowercase letters only.")
    position = 0
    for letter in last:
        position = position * _LETTERS + ord(letter) - ord("a") + 1
    return segment_at(position)


def creation_order(card_id: str) -> tuple[tuple[int, str], ...]:
    """A sort key: parents before children, siblings in the order they were made."""
    return tuple((len(segment), segment) for segment in _segments(card_id))


def _segments(card_id: str) -> tuple[str, ...]:
    check_card_id(card_id)
    return () if card_id == ROOT else tuple(card_id.split("-")[1:])


def _join(segments: tuple[str, ...]) -> str:
    return "-".join(("card", *segments)) if segments else ROOT
