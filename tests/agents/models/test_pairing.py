"""What is sent is paired whatever is stored: every call has its one result, directly after it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.models import asking
from workstead.agents.models import anthropic, openai_chat, openai_responses, pairing
from workstead.agents.models.shape import Call, Message, Role

pytestmark = pytest.mark.covers("W13", "W15")
IDS = st.sampled_from(["a", "b", "call 1", "call_1", "", "ü", "x" * 90])
CALLS = st.builds(Call, id=IDS, name=st.just("echo"), arguments=st.sampled_from(["{}", "[1]", "not", '{"a": 1}']))
MESSAGES = st.lists(
    st.one_of(
        st.builds(Message, role=st.just(Role.USER), text=st.sampled_from(["hi", "", " "])),
        st.builds(
            Message,
            role=st.just(Role.ASSISTANT),
            text=st.sampled_from(["ok", ""]),
            calls=st.lists(CALLS, max_size=3).map(tuple),
        ),
        st.builds(Message, role=st.just(Role.TOOL), text=st.sampled_from(["done", ""]), call_id=IDS),
    ),
    max_size=12,
)


def user(text: str) -> Message:
    return Message(role=Role.USER, text=text)


def test_results_follow_their_answer_in_its_order() -> None:
    """S11: parallel calls, each matched by its own result, whatever came between."""
    calls = (Call(id="a", name="echo", arguments="{}"), Call(id="b", name="echo", arguments="{}"))
    given_messages = (
        user("go"),
        Message(role=Role.ASSISTANT, text="", calls=calls),
        Message(role=Role.TOOL, text="two", call_id="b"),
        user("a notice"),
        Message(role=Role.TOOL, text="one", call_id="a"),
    )
    made = pairing.paired(given_messages)
    assert [(one.role.value, one.text) for one in made] == [
        ("user", "go"),
        ("assistant", ""),
        ("tool", "one"),
        ("tool", "two"),
        ("user", "a notice"),
    ]


def test_an_id_that_comes_again_is_told_apart_and_stays_the_same_in_every_request() -> None:
    """Ids are the provider's; another one's need not differ from them."""
    turn = (
        Message(role=Role.ASSISTANT, text="", calls=(Call(id="x:1", name="echo", arguments="{}"),)),
        Message(role=Role.TOOL, text="fine", call_id="x:1"),
    )
    first, longer = pairing.paired(turn * 2), pairing.paired((*turn * 2, user("more")))
    assert [one.call_id for one in first if one.role is Role.TOOL] == ["x_1", "x_1-2"]
    assert longer[: len(first)] == first


@given(MESSAGES)
def test_every_call_that_is_sent_has_one_result_under_one_id_of_its_own(messages: list[Message]) -> None:
    """Issue: on the wire every request has paired calls and results."""
    made = pairing.paired(messages)
    seen: set[str] = set()
    for index, message in enumerate(made):
        if message.role is not Role.ASSISTANT:
            continue
        ids = [call.id for call in message.calls]
        assert [one.call_id for one in made[index + 1 : index + 1 + len(ids)]] == ids
        assert not seen & set(ids)
        seen |= set(ids)
    assert sum(one.role is Role.TOOL for one in made) == len(seen)


@given(MESSAGES)
def test_anthropic_turns_alternate_and_results_come_first(messages: list[Message]) -> None:
    """The protocol refuses anything else."""
    sent = anthropic.body(asking(*messages, user("end")), "m", "")["messages"]
    assert isinstance(sent, list)
    roles = [turn["role"] for turn in sent if isinstance(turn, dict)]
    assert all(one != other for one, other in pairwise(roles))
    for before, turn in zip([None, *sent], sent, strict=False):
        assert isinstance(turn, dict)
        blocks = turn["content"]
        assert isinstance(blocks, list)
        kinds = [block["type"] for block in blocks if isinstance(block, dict)]
        results = kinds.count("tool_result")
        assert kinds[:results] == ["tool_result"] * results
        if results:
            assert isinstance(before, dict)
            assert isinstance(before["content"], list)
            assert sum(isinstance(b, dict) and b["type"] == "tool_use" for b in before["content"]) == results


@given(MESSAGES)
def test_the_other_wires_pair_by_id(messages: list[Message]) -> None:
    """Chat: a tool message for each call. Responses: an output for each call."""
    chat = openai_chat.body(asking(*messages, user("end")), "m", "http://[::1]")["messages"]
    items = openai_responses.body(asking(*messages, user("end")), "m", "")["input"]
    assert isinstance(chat, list)
    assert isinstance(items, list)
    called = [m["tool_calls"] for m in chat if isinstance(m, dict) and "tool_calls" in m]
    calls = [one["id"] for each in called if isinstance(each, list) for one in each if isinstance(one, dict)]
    assert calls == [m["tool_call_id"] for m in chat if isinstance(m, dict) and m["role"] == "tool"]
    made = [item["call_id"] for item in items if isinstance(item, dict) and item["type"] == "function_call"]
    outputs = [item["call_id"] for item in items if isinstance(item, dict) and item["type"] == "function_call_output"]
    assert made == outputs == calls


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("[1]", {"unreadable": "[1]"}),
        ("{cut", {"unreadable": "{cut"}),
        ("", {"unreadable": ""}),
    ],
)
def test_arguments_are_an_object_on_every_wire(text: str, value: object) -> None:
    """A server that parses history must not fail on what a model once wrote."""
    assert pairing.arguments(Call(id="a", name="echo", arguments=text)) == value
