"""Cuts: where a conversation may be shortened without tearing apart what belongs together. Pure.

A place is safe when every call before it has its result before it, and no answer goes on after it. The rows of an
activation are a round.
"""

from collections.abc import Sequence
from itertools import pairwise

from workstead.agents.conversations import Row, RowKind
from workstead.agents.models.shape import Role
from workstead.work.workflow.graph import Snap


def safe_ends(rows: Sequence[Row]) -> tuple[int, ...]:
    """How many rows from the front may be taken away, every possible number above zero."""
    open_calls: set[str | None] = set()
    ends: list[int] = []
    for index, row in enumerate(rows):
        if row.kind is RowKind.TOOL_CALL:
            open_calls.add(row.call_id)
        elif row.kind is RowKind.TOOL_RESULT:
            open_calls.discard(row.call_id)
        if not open_calls and not _goes_on(row, rows[index + 1 : index + 2]):
            ends.append(index + 1)
    return tuple(ends)


def endpoints(rows: Sequence[Row], tokens: Sequence[int], *, tail_tokens: int, snap: Snap) -> tuple[int, ...]:
    """At most two numbers of rows to take away, rising: the one that keeps about the wanted tail, and the most.

    tokens: what each row is taken for.
    """
    ends = safe_ends(rows)
    if not ends:
        return ()
    preferred = _preferred(rows, tokens, ends, tail_tokens=tail_tokens, snap=snap)
    return tuple(dict.fromkeys(end for end in (preferred, ends[-1]) if end))


def _preferred(rows: Sequence[Row], tokens: Sequence[int], ends: Sequence[int], *, tail_tokens: int, snap: Snap) -> int:
    rounds = _rounds(rows)
    newest = rounds[-1][0]
    if sum(tokens[newest:]) > tail_tokens:
        wanted = _inside(tokens, newest, tail_tokens=tail_tokens)
        return max((end for end in ends if end <= wanted), default=0)
    cut, held = newest, sum(tokens[newest:])
    for start, end in reversed(rounds[:-1]):
        held += sum(tokens[start:end])
        if held > tail_tokens:
            # Kept whole, the very first round would leave nothing to take but everything.
            cut = start if snap is Snap.KEEP and start else end
            break
        cut = start
    return cut if cut in ends else 0


def _inside(tokens: Sequence[int], start: int, *, tail_tokens: int) -> int:
    """The row of the newest round at which the wanted tail is reached; it stays."""
    held, index = 0, len(tokens)
    while held < tail_tokens and index > start:
        index -= 1
        held += tokens[index]
    return index


def _rounds(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Each round as the numbers of its first row and of the one after its last; what stands before any is one too."""
    starts = [index for index, row in enumerate(rows) if row.kind is RowKind.ACTIVATION]
    if not starts or starts[0]:
        starts.insert(0, 0)
    return list(pairwise([*starts, len(rows)]))


def _goes_on(row: Row, after: Sequence[Row]) -> bool:
    """Whether the answer that this row is a part of has another part."""
    return bool(after) and row.input_id is not None and after[0].input_id == row.input_id and _speaks(after[0])


def _speaks(row: Row) -> bool:
    return row.role is Role.ASSISTANT
