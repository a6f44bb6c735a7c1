"""Paging: answers bounded in bytes, so that no list and no text is too large for a client (K10). Pure.

A page is a run of items that fit, measured in canonical JSON. An item that alone is larger than a page comes
in slices of its own canonical JSON, `{"text", "offset", "total"}`, which the reader joins. `next` is opaque:
copied back unchanged it continues exactly where the page ended; a mangled one is refused.
"""

import base64
import binascii
import dataclasses
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from workstead import errors
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

LIMIT_BYTES_MIN = 512
LIMIT_BYTES_MAX = 32_768

_VERSION = "1"
_NUMBER_MAX = 2**53
_POSITION_CHARS_MAX = 80
_SLICE_TEXT_MIN_BYTES = 4

Item = TypeVar("Item", bound=Json)
# How many characters of a text fit in so many bytes, when more than characters must stay whole.
Cut = Callable[[str, int], int]


@dataclass(frozen=True, kw_only=True)
class Position:
    """Where a page begins: items before it, and bytes of the first item that were given already."""

    item: int = 0
    offset_bytes: int = 0

    def text(self) -> str:
        """The opaque `next` string: URL-safe, versioned, checked."""
        body = f"{_VERSION}.{self.item}.{self.offset_bytes}"
        raw = f"{body}.{zlib.crc32(body.encode()):08x}".encode()
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")


START = Position()


@dataclass(frozen=True, kw_only=True)
class Page(Generic[Item]):
    """One page: its items or slices, how many items there are in all, and where it goes on."""

    items: tuple[Item | dict[str, Json], ...]
    total: int
    next: str | None

    def envelope(self) -> dict[str, Json]:
        """What is sent: the value the limit counts."""
        return {"items": list(self.items), "next": self.next, "total": self.total}


@dataclass(frozen=True, kw_only=True)
class TextSlice:
    """A stretch of a text; offsets count bytes of its UTF-8."""

    text: str
    offset_bytes: int
    next_offset_bytes: int | None
    total_bytes: int

    def json(self) -> dict[str, Json]:
        """What a page holds in place of an oversized item."""
        return {"offset": self.offset_bytes, "text": self.text, "total": self.total_bytes}


def read_position(text: str | None) -> Position:
    """The position a `next` string names, the start for none; raises `invalid` for any other text."""
    if text is None:
        return START
    try:
        padded = text + "=" * (-len(text) % 4)
        raw = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        raise _mangled() from None
    parts = raw.split(".")
    if len(parts) != 4 or not all(part.isdigit() and len(part) <= 16 for part in parts[1:3]):
        raise _mangled()
    position = Position(item=int(parts[1]), offset_bytes=int(parts[2]))
    # Also refuses every other spelling of the same numbers.
    if len(text) > _POSITION_CHARS_MAX or position.text() != text:
        raise _mangled()
    return position


def pack(
    items: Sequence[Item],
    *,
    position: str | None = None,
    limit_bytes: int = LIMIT_BYTES_MAX,
    reserve_bytes: int = 0,
    cut: Cut | None = None,
) -> Page[Item]:
    """The page of the items that starts at `position`; its envelope fits in `limit_bytes` less the reserve.

    reserve_bytes: what the caller's own fields around the envelope take. cut: as in `slice_text`. Raises
    `invalid` for a position that was mangled or lies outside the items, and for a limit outside 512 to 32768.
    """
    room = _room(limit_bytes, reserve_bytes=reserve_bytes)
    start = read_position(position)
    if start != START and start.item >= len(items):
        raise _mangled()
    total = len(items)
    taken: list[Item | dict[str, Json]] = []
    spent = _empty_bytes(total)
    at = start
    while at.item < total:
        raw = canonical.dump(items[at.item])
        following = Position(item=at.item + 1)
        if at.offset_bytes == 0 and spent + len(raw) + 1 <= room:
            taken.append(items[at.item])
            spent += len(raw) + 1
            at = following
            continue
        if taken:
            break
        piece = slice_text(raw.decode(), offset_bytes=at.offset_bytes, limit_bytes=len(raw))
        sliced = _sliced(piece, room=room - spent, cut=cut)
        taken.append(sliced.json())
        end = sliced.next_offset_bytes
        at = following if end is None else Position(item=at.item, offset_bytes=end)
        break
    return Page(items=tuple(taken), total=total, next=at.text() if at.item < total else None)


def slice_text(text: str, *, offset_bytes: int = 0, limit_bytes: int, cut: Cut | None = None) -> TextSlice:
    """The stretch from `offset_bytes` that fits in `limit_bytes` of UTF-8, at least one character.

    cut: keeps more than characters whole, as the redaction's `certified_end` does for its placeholders.
    Raises `invalid` for an offset outside the text or inside a character.
    """
    raw = text.encode("utf-8")
    total = len(raw)
    inside = 0 < offset_bytes < total and raw[offset_bytes] & 0xC0 == 0x80
    if not 0 <= offset_bytes <= total or inside:
        raise errors.invalid(
            "position_invalid",
            f"Offset {offset_bytes} is no start of a character in this text of {total} bytes.",
            total_bytes=total,
        )
    end = _boundary(raw, start=offset_bytes, limit_bytes=max(limit_bytes, _SLICE_TEXT_MIN_BYTES))
    if cut is not None and end < total:
        rest = raw[offset_bytes:].decode()
        # A cut of nothing would never end: what cannot stay whole in the limit is split between characters.
        kept_bytes = len(rest[: cut(rest, end - offset_bytes)].encode())
        end = offset_bytes + kept_bytes if kept_bytes else end
    return TextSlice(
        text=raw[offset_bytes:end].decode(),
        offset_bytes=offset_bytes,
        next_offset_bytes=end if end < total else None,
        total_bytes=total,
    )


def _room(limit_bytes: int, *, reserve_bytes: int) -> int:
    if not LIMIT_BYTES_MIN <= limit_bytes <= LIMIT_BYTES_MAX:
        raise errors.invalid(
            "limit_invalid", f"A page holds {LIMIT_BYTES_MIN} to {LIMIT_BYTES_MAX} bytes, not {limit_bytes}."
        )
    # Whatever stands around it, a page keeps enough room to make progress.
    return max(limit_bytes - reserve_bytes, LIMIT_BYTES_MIN // 2)


def _empty_bytes(total: int) -> int:
    """The envelope without items and with the longest `next` it may get."""
    longest = Position(item=_NUMBER_MAX, offset_bytes=_NUMBER_MAX).text()
    return len(canonical.dump(Page[Json](items=(), total=total, next=longest).envelope()))


def _sliced(rest: TextSlice, *, room: int, cut: Cut | None) -> TextSlice:
    """As much of the oversized item as fits; JSON in JSON grows by its escapes, so the fit is searched."""
    low, high = 1, len(rest.text)
    while low < high:
        middle = (low + high + 1) // 2
        if len(canonical.dump(_shortened(rest, chars=middle).json())) + 1 <= room:
            low = middle
        else:
            high = middle - 1
    if cut is not None and low < len(rest.text):
        low = cut(rest.text, len(rest.text[:low].encode())) or low
    return _shortened(rest, chars=low)


def _shortened(rest: TextSlice, *, chars: int) -> TextSlice:
    text = rest.text[:chars]
    end = rest.offset_bytes + len(text.encode())
    return dataclasses.replace(rest, text=text, next_offset_bytes=end if end < rest.total_bytes else None)


def _boundary(raw: bytes, *, start: int, limit_bytes: int) -> int:
    end = min(start + limit_bytes, len(raw))
    while end < len(raw) and raw[end] & 0xC0 == 0x80:
        end -= 1
    return end


def _mangled() -> errors.Refusal:
    return errors.invalid(
        "position_invalid", "Copy `next` back exactly as it was given, or leave it out to start again."
    )
