"""The shape of a model call: values that cannot be changed after they were recorded."""

import dataclasses

import pytest

from workstead.agents.models.shape import Answer, Call, Finish, Message, Role, Usage


@pytest.mark.covers("W15")
def test_an_answer_says_nothing_that_was_not_said() -> None:
    """Usage is what the provider counted, never a guess; text alone is a stop."""
    answer = Answer(text="Hello.")
    assert (answer.calls, answer.finish, answer.usage) == ((), Finish.STOP, Usage())
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (None, None)


def test_a_call_keeps_the_text_the_model_wrote() -> None:
    """Arguments are judged by the tool, not repaired on the way."""
    call = Call(id="c", name="read", arguments='{"path": ')
    message = Message(role=Role.ASSISTANT, text="", calls=(call,))
    assert message.calls[0].arguments == '{"path": '
    with pytest.raises(dataclasses.FrozenInstanceError):
        message.calls[0].arguments = "{}"  # type: ignore[misc]  # that it cannot be done is what is shown
