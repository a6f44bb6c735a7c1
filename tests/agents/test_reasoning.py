"""Reasoning goes back to who made it, unchanged, and to nobody else; a new segment ends it (W13, W14)."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents import desk
from support import models
from support.model_server import Api, Asked, Reply, Says, Tool, failing, serving
from workstead.agents import reasoning
from workstead.agents.conversations import RowKind
from workstead.agents.models.attempt import Endpoint
from workstead.agents.turns import Turns
from workstead.work.workflow.graph import EMIT_RESULT, Capabilities, KeyName, KeySource

pytestmark = pytest.mark.anyio

REASONS = Capabilities(reasoning=True)
THOUGHT = "I weigh the roses."
AS_SENT: Mapping[Api, dict[str, Any]] = {
    "messages": {"type": "thinking", "thinking": THOUGHT, "signature": f"signed {THOUGHT}"},
    "responses": {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": f"sealed {THOUGHT}"},
}


def thoughts(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The reasoning in a request, whichever protocol it is in."""
    items = body.get("input") or [
        block for each in body["messages"] if isinstance(each["content"], list) for block in each["content"]
    ]
    return [item for item in items if item.get("type") in {"thinking", "redacted_thinking", "reasoning"}]


async def walk(place: desk.Desk, *endpoints: Endpoint) -> None:
    """The step over these candidates."""
    async with AsyncExitStack() as stack:
        route = await stack.enter_async_context(models.route())
        one = place.step(desk.tool("look"))
        transport = route.over(*endpoints)
        turns = Turns(one, effects=place.instance.effects, transport=transport, means=place.means(transport))
        assert await turns.run() == desk.ACCEPTED


THINKS = Says(text="I look.", thinks=THOUGHT, calls=(Tool(name="look"), Tool(name="look", id="second")))
ENDS = Says(calls=(Tool(name=EMIT_RESULT),))


@pytest.mark.covers("W13", "W15")
@pytest.mark.parametrize("api", ["messages", "responses"])
async def test_reasoning_comes_back_as_it_was_and_stands_first(tmp_path: Path, api: Api) -> None:
    """Spec: equal identity replays native items unchanged; an Anthropic turn with calls begins with its thought."""
    with desk.opened(tmp_path) as place, serving(THINKS, ENDS) as server:
        await walk(place, models.endpoint(server.url, api, capabilities=REASONS))
        rows = place.rows()
    first, second = (asked.body for asked in server.asked)
    assert thoughts(first) == []
    assert thoughts(second) == [AS_SENT[api]]
    if api == "messages":
        answer = next(each for each in second["messages"] if each["role"] == "assistant")
        assert [block["type"] for block in answer["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    else:
        assert first["include"] == ["reasoning.encrypted_content"]
        kinds = [item["type"] for item in second["input"][-6:]]
        assert kinds[:4] == ["reasoning", "message", "function_call", "function_call"]
    (private,) = [row for row in rows if row.kind is RowKind.PRIVATE]
    assert THOUGHT not in str(reasoning.hidden(private))


@pytest.mark.covers("W13", "W15")
async def test_another_account_or_protocol_is_sent_everything_but_the_reasoning(tmp_path: Path) -> None:
    """Spec: different identity omits only the reasoning; text, calls and results survive exactly once."""

    def choose(asked: Asked) -> Reply:
        seen.append(asked)
        if len(seen) == 1:
            return THINKS
        return failing("responses", 400) if asked.headers["authorization"].endswith("first") else ENDS

    seen: list[Asked] = []
    with desk.opened(tmp_path) as place, serving(choose=choose) as server:
        first = models.endpoint(server.url, "responses", name="first", capabilities=REASONS)
        other = models.endpoint(server.url, "responses", name="other", capabilities=REASONS)
        chat = models.endpoint(server.url, "chat", name="chat")
        async with models.route(key_of=lambda key: key.name) as route:
            one = place.step(desk.tool("look"))
            transport = route.over(first, other, chat)
            turns = Turns(one, effects=place.instance.effects, transport=transport, means=place.means(transport))
            assert await turns.run() == desk.ACCEPTED
    assert [len(thoughts(asked.body)) for asked in seen] == [0, 1, 0]
    told = [[item for item in asked.body["input"] if item["type"] != "reasoning"] for asked in seen[1:]]
    assert told[0] == told[1]
    assert first.producer != other.producer


@pytest.mark.covers("W15")
async def test_a_signed_thought_goes_to_its_model_only(tmp_path: Path) -> None:
    """A signature is checked by the model that made it."""
    one = models.endpoint("http://127.0.0.1:1", "messages", model="m1")
    two = models.endpoint("http://127.0.0.1:1", "messages", model="m2")
    assert one.producer != two.producer
    assert (
        models.endpoint("http://127.0.0.1:1", "responses", model="m1").producer
        == models.endpoint("http://127.0.0.1:1", "responses", model="m2").producer
    )
    key = KeyName(source=KeySource.SECRET, name="another")
    assert replace(one, provider=replace(one.provider, key=key)).producer != one.producer


@pytest.mark.covers("W15")
async def test_reasoning_is_asked_for_only_where_the_configuration_says_so(tmp_path: Path) -> None:
    """Models that do not reason refuse the question."""
    with desk.opened(tmp_path) as place, serving(ENDS) as server:
        await walk(place, models.endpoint(server.url, "responses"))
    assert "include" not in server.asked[0].body


@pytest.mark.covers("W14")
@pytest.mark.parametrize("api", ["messages", "responses"])
async def test_a_segment_ends_the_reasoning_before_it(tmp_path: Path, api: Api) -> None:
    """It stands for rows, never for what only a provider can read; what is kept keeps its own."""
    said = [replace(THINKS, text=f"Turn {number}. {'I look again. ' * 60}") for number in range(14)]

    def choose(asked: Asked) -> Reply:
        if "You replace the oldest part" in asked.text:
            wrote.append(asked)
            return Says(text="Looked.")
        return said.pop(0) if said else ENDS

    wrote: list[Asked] = []
    with desk.opened(tmp_path, window_tokens=9000) as place, serving(choose=choose) as server:
        await walk(place, models.endpoint(server.url, api, name="practice", model="practice", capabilities=REASONS))
    assert wrote
    assert all(THOUGHT not in asked.text for asked in wrote)
    last = server.asked[-1].body
    answers = [number for number in range(14) if f"Turn {number}. " in str(last)]
    assert len(thoughts(last)) == len(answers) > 0
    assert len(answers) < 14
