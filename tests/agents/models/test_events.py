"""Events fold into an answer only when its end mark was seen."""

import pytest

from workstead.agents.models.events import (
    CallPart,
    CallWhole,
    Counted,
    Done,
    Fold,
    MalformedAnswerError,
    ModelEvent,
    Stopped,
    Text,
    TextWhole,
)
from workstead.agents.models.shape import Answer, Finish, Usage

pytestmark = pytest.mark.covers("W15")
STOPPED = Stopped(finish=Finish.STOP)


def folded(*events: ModelEvent) -> Answer | None:
    fold = Fold()
    for event in events:
        fold.add(event)
    return fold.answer()


@pytest.mark.parametrize("events", [(), (Text(text="a"),), (Text(text="a"), STOPPED), (Text(text="a"), Done())])
def test_without_end_mark_and_reason_there_is_no_answer(events: tuple[ModelEvent, ...]) -> None:
    """W15."""
    assert folded(*events) is None


def test_what_is_finished_goes_before_its_pieces() -> None:
    """spec: the latest complete message and the completion's name are authoritative."""
    answer = folded(
        Text(text="dra"),
        CallPart(key="1", id="a", name="ec", arguments='{"x"'),
        CallWhole(key="1", id=None, name="echo", arguments="{}"),
        TextWhole(text="final"),
        Counted(usage=Usage(input_tokens=1)),
        Counted(usage=Usage(output_tokens=2)),
        STOPPED,
        Done(),
    )
    assert answer is not None
    assert (answer.text, answer.finish, answer.usage) == ("final", Finish.CALLS, Usage(input_tokens=1, output_tokens=2))
    assert [(call.id, call.name, call.arguments) for call in answer.calls] == [("a", "echo", "{}")]


def test_a_name_that_is_said_with_every_piece_is_one_name() -> None:
    """Some servers repeat it."""
    parts = [CallPart(key="1", id="a", name="echo", arguments=piece) for piece in ("{", "}")]
    answer = folded(*parts, STOPPED, Done())
    assert answer is not None
    assert (answer.calls[0].name, answer.calls[0].arguments) == ("echo", "{}")


@pytest.mark.parametrize(
    "parts",
    [
        (CallPart(key="1", name="echo"),),
        (CallPart(key="1", id="a"),),
        (CallWhole(key="1", id="a", name="", arguments="{}"),),
        (CallPart(key="1", id="a", name="echo"), CallPart(key="2", id="a", name="echo")),
    ],
)
def test_a_call_needs_an_id_of_its_own_and_a_name(parts: tuple[ModelEvent, ...]) -> None:
    """No identifier is made up."""
    with pytest.raises(MalformedAnswerError):
        folded(*parts, STOPPED, Done())
