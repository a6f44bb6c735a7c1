"""Pages of typed items and stretches of text, fitted to the bytes a reader asked for (K10)."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from pydantic import Field

from workstead.kernel import canonical, paging
from workstead.kernel.canonical import Json
from workstead.work.rules import ProjectRead

T = TypeVar("T")
S = TypeVar("S")

# The names of an answer's own fields, and the envelope of a tool's result.
RESERVE_BYTES = 112
# Enough for the fields of a record's text around the text itself: names and ids are bounded.
TEXT_RESERVE_BYTES = 1024


class PageRead(ProjectRead):
    """A read that is answered in pages."""

    position: str | None = Field(
        default=None, max_length=80, description="`next` of the page before, unchanged; leave it out to start."
    )
    response_bytes: int = Field(
        default=paging.LIMIT_BYTES_MAX,
        ge=paging.LIMIT_BYTES_MIN,
        le=paging.LIMIT_BYTES_MAX,
        description="How many bytes the answer may have.",
    )


class TextRead(ProjectRead):
    """A read of a text, in stretches."""

    offset: int = Field(default=0, ge=0, description="Byte to start at: `next_offset` of the stretch before.")
    response_bytes: int = Field(
        default=paging.LIMIT_BYTES_MAX,
        ge=paging.LIMIT_BYTES_MIN,
        le=paging.LIMIT_BYTES_MAX,
        description="How many bytes the answer may have.",
    )


@dataclass(frozen=True, kw_only=True)
class Slice:
    """A stretch of one item's canonical JSON, where the item alone is larger than a page; join them in order."""

    text: str
    offset: int
    total: int


@dataclass(frozen=True, kw_only=True)
class Fitted(Generic[T]):
    """The items of one page. total: of all pages. next: copy it back as `position`; None at the end."""

    items: tuple[T | Slice, ...]
    total: int
    next: str | None


def fit(items: Sequence[T], args: PageRead, *, beside: object = None) -> Fitted[T]:
    """The page of dataclass items (or texts) that the reader asked for. Raises `invalid` for a mangled position.

    beside: what the answer says besides the page; its size is left free.
    """
    reserve_bytes = RESERVE_BYTES + (len(canonical.dump(_json(beside))) if beside is not None else 0)
    page = paging.pack(
        _Json(items), position=args.position, limit_bytes=args.response_bytes, reserve_bytes=reserve_bytes
    )
    start = paging.read_position(args.position)
    whole = [items[start.item + place] for place in range(len(page.items))]
    return Fitted(
        items=tuple(
            given if start.offset_bytes == 0 and sent == _json(given) else _slice(sent)
            for given, sent in zip(whole, page.items, strict=True)
        ),
        total=page.total,
        next=page.next,
    )


def stretch(text: str, args: TextRead) -> paging.TextSlice:
    """The stretch of a text whose JSON fits. Raises `invalid` for an offset outside it."""
    room = max(args.response_bytes - TEXT_RESERVE_BYTES, paging.LIMIT_BYTES_MIN // 2)
    limit_bytes = room
    while True:
        found = paging.slice_text(text, offset_bytes=args.offset, limit_bytes=limit_bytes)
        size_bytes = len(canonical.dump(found.text))
        if size_bytes <= room or len(found.text) <= 1:
            return found
        limit_bytes = max(min(limit_bytes - 1, limit_bytes * room // size_bytes), 1)


class Lazy(Sequence[S], Generic[S]):
    """A sequence whose items are made when a page needs them."""

    def __init__(self, raw: Sequence[Any], make: Callable[[Any], S]) -> None:
        self._raw = raw
        self._make = make

    @overload
    def __getitem__(self, index: int) -> S: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[S]: ...
    def __getitem__(self, index: int | slice) -> S | Sequence[S]:
        """One item, or a sequence of some."""
        if isinstance(index, slice):
            return Lazy(self._raw[index], self._make)
        return self._make(self._raw[index])

    def __len__(self) -> int:
        """How many there are."""
        return len(self._raw)


class _Json(Lazy[Json]):
    def __init__(self, items: Sequence[Any]) -> None:
        super().__init__(items, _json)


def _json(item: Any) -> Json:
    if isinstance(item, str):
        return item
    body: Json = dataclasses.asdict(item)
    return body


def _slice(sent: object) -> Slice:
    if not isinstance(sent, dict):
        raise TypeError("a page holds neither the item nor a slice of it")
    return Slice(text=str(sent["text"]), offset=int(sent["offset"]), total=int(sent["total"]))
