"""Cuts: where a conversation may be shortened (W14); facts/work.md 9.5, step 1."""

import pytest

from workstead.agents import cuts
from workstead.agents.conversations import Row, RowKind
from workstead.agents.models.shape import Role
from workstead.work.workflow.graph import Snap

pytestmark = pytest.mark.covers("W14")


def rows(*names: str) -> list[Row]:
    """`begin`, `say`, `told`; an answer `text:1 call:1 call:1`, its results `done:1:0` by input and number."""
    made: list[Row] = []
    calls: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        kind, _, rest = name.partition(":")
        of, _, index = rest.partition(":")
        call_id = None
        if kind == "call":
            call_id = f"{of}:{calls.setdefault(of, 0)}"
            calls[of] += 1
        elif kind == "done":
            call_id = f"{of}:{index}"
        made.append(
            Row(
                number=number,
                segment=1,
                kind=KINDS[kind],
                role=ROLES[kind],
                at="t",
                activation_id="a",
                input_id=of or None,
                call_id=call_id,
                tool=None,
                content={},
            )
        )
    return made


KINDS = {
    "begin": RowKind.ACTIVATION,
    "call": RowKind.TOOL_CALL,
    "done": RowKind.TOOL_RESULT,
    "text": RowKind.TEXT,
    "thought": RowKind.PRIVATE,
    "told": RowKind.CONTEXT,
}
ROLES = {
    "begin": Role.USER,
    "call": Role.ASSISTANT,
    "done": Role.TOOL,
    "text": Role.ASSISTANT,
    "thought": Role.ASSISTANT,
    "told": Role.USER,
}
BATCH = ("thought:1", "text:1", "call:1", "call:1", "told", "done:1:0", "done:1:1")


def test_no_answer_and_no_batch_is_torn_apart() -> None:
    """S11: reasoning, text, every call and every result of one answer go together."""
    assert cuts.safe_ends(rows("begin", *BATCH, "told")) == (1, 8, 9)
    assert cuts.safe_ends(rows("begin", "text:1", "text:2", "text:2")) == (1, 2, 4)


def test_behind_a_call_without_a_result_nothing_is_safe() -> None:
    """An unmatched call is never covered: what it came to is not known yet."""
    assert cuts.safe_ends(rows("begin", *BATCH[:-1], "told", "begin")) == (1,)


def ends(names: list[str], *, tail: int, snap: Snap = Snap.KEEP) -> tuple[int, ...]:
    made = rows(*names)
    return cuts.endpoints(made, [10] * len(made), tail_tokens=tail, snap=snap)


ROUNDS = ["begin", "told", "told", "begin", "told", "told", "begin", "told"]


@pytest.mark.parametrize(
    ("tail", "snap", "found"),
    [
        (20, Snap.COMPACT, (6, 8)),  # the newest activation just fits; the one before it goes
        (20, Snap.KEEP, (3, 8)),  # or stays whole, because it is cut into
        (50, Snap.KEEP, (3, 8)),  # both fit
        (79, Snap.KEEP, (3, 8)),  # the oldest is cut into, and goes, because it is all there is to take
        (79, Snap.COMPACT, (3, 8)),
        (1000, Snap.KEEP, (8,)),  # everything fits
        (19, Snap.KEEP, (6, 8)),  # the newest alone is too much; it is cut at the row that reaches the tail
        (5, Snap.KEEP, (7, 8)),
        (0, Snap.KEEP, (8,)),
    ],
)
def test_whole_activations_stay_as_far_as_the_tail_reaches(tail: int, snap: Snap, found: tuple[int, ...]) -> None:
    """Spec, "Source endpoints": walk back whole rounds; the first straddler stays or goes."""
    assert ends(ROUNDS, tail=tail, snap=snap) == found


def test_a_cut_inside_the_newest_activation_goes_back_to_the_last_safe_place() -> None:
    """A batch may keep more than the tail; it is never split for it."""
    assert ends(["begin", "told", *BATCH], tail=25) == (2, 9)
    assert ends(["begin", *BATCH[:4]], tail=0) == (1,)
    assert ends([*BATCH[:4]], tail=0) == ()
