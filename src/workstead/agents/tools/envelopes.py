"""Results within a caller's `response_bytes`, counted over the whole result as it is stored and sent (K10)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from pydantic import Field

from workstead import errors
from workstead.agents.tools.tool import Acted, ToolResult
from workstead.kernel import canonical, paging
from workstead.kernel.canonical import Json
from workstead.kernel.paging import Position

Cut = Callable[[str, int], int]

ResponseBytes = Annotated[
    int,
    Field(
        ge=paging.LIMIT_BYTES_MIN,
        le=paging.LIMIT_BYTES_MAX,
        description="The most bytes the whole answer may have.",
    ),
]
NextPosition = Annotated[
    str | None, Field(max_length=200, description="`next` of the answer before this one, copied unchanged.")
]

_LOOKAHEAD_BYTES = 256
_DIGITS = 6  # of utf8_bytes
_LONGEST = Position(item=0, offset_bytes=2**53).text()


def text(
    whole: str, *, position: str | None, response_bytes: int, cut: Cut, fields: Mapping[str, Json] | None = None
) -> Acted:
    """The stretch of a text that fits, from a position; `cut` keeps what must stay whole (`certified_end`)."""
    around: dict[str, Json] = dict(fields or {})
    longest = _text_data(around, content="", offset_bytes=2**53, total_bytes=2**53, following=_LONGEST)
    room = response_bytes - _size(longest) - _DIGITS
    at = _text_offset(position)
    # A little more than fits, so that what is cut through at the end can be seen whole.
    piece = paging.slice_text(whole, offset_bytes=at, limit_bytes=max(room, 0) + _LOOKAHEAD_BYTES)
    content = _fitting(piece.text, room=room)
    if len(content) < len(piece.text):
        content = content[: cut(piece.text, len(content.encode()))] or content
    end = at + len(content.encode())
    following = Position(offset_bytes=end).text() if end < piece.total_bytes else None
    data = _text_data(around, content=content, offset_bytes=at, total_bytes=piece.total_bytes, following=following)
    return Acted(result=ToolResult(success=True, data=data))


def page(
    items: Sequence[Json],
    *,
    name: str,
    position: str | None,
    response_bytes: int,
    fields: Mapping[str, Json] | None = None,
) -> Acted:
    """The items that fit, from a position, under a name."""
    around: dict[str, Json] = dict(fields or {})
    reserve = _size(around | {name: None})
    packed = paging.pack(items, position=position, limit_bytes=response_bytes, reserve_bytes=reserve)
    return Acted(result=ToolResult(success=True, data=around | {name: packed.envelope()}))


def _text_offset(position: str | None) -> int:
    at = paging.read_position(position)
    if at.item:
        raise errors.invalid("position_invalid", "Copy `next` back exactly as it was given, or leave it out.")
    return at.offset_bytes


def _text_data(
    around: Mapping[str, Json], *, content: str, offset_bytes: int, total_bytes: int, following: str | None
) -> dict[str, Json]:
    return {
        **around,
        "content": content,
        "utf8_bytes": len(content.encode()),
        "offset_bytes": offset_bytes,
        "next": following,
        "total_bytes": total_bytes,
    }


def _fitting(piece: str, *, room: int) -> str:
    """As much of the text as its escaped form allows; at least one character, so that reading goes on."""
    if _escaped(piece) <= room:
        return piece
    low, high = 1, len(piece)
    while low < high:
        middle = (low + high + 1) // 2
        if _escaped(piece[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return piece[:low]


def _escaped(content: str) -> int:
    """Bytes of the text in JSON, without its quotes."""
    return len(canonical.dump(content)) - 2


def _size(data: Json) -> int:
    return len(canonical.dump(ToolResult(success=True, data=data).body()))
