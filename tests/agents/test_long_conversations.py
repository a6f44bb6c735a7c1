"""Long conversations over real wires: shortened again and again, every request whole, nothing protected lost."""

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agents import desk
from support import models
from support.model_server import Api, Asked, Chooser, Reply, Says, Tool, serving
from workstead.agents import genesis, protection, task
from workstead.agents.conversations import NewRow, RowKind
from workstead.agents.models.shape import Role
from workstead.work.workflow.graph import EMIT_RESULT, Capabilities, Prompt

COVERS_MODULES = ("agents/models/capacity.py",)
pytestmark = pytest.mark.anyio

APIS: tuple[Api, ...] = ("chat", "messages", "responses")
PROTECTED = "Never touch the pond: its newts are protected. «Naïve» edits are refused."
WORDS = "A person said: the bench must stand in the shade."
BRIEF = "# Brief\n\nA garden with 17 roses, none of them yellow."
WINDOW_TOKENS = 9000  # of which 3104 are usable
TURNS = 120  # `./dev bench conversations` goes on for 2000


def whole(body: dict[str, Any]) -> list[str]:
    """What no provider would take of a request, whichever protocol it is in: empty when there is nothing."""
    if "input" in body:
        return _responses(body["input"])
    messages = [each for each in body["messages"] if each["role"] != "system"]
    if isinstance(messages[0]["content"], list):
        return _anthropic(messages)
    return _chat(messages)


def _chat(messages: Sequence[dict[str, Any]]) -> list[str]:
    wrong, waiting = [], list[str]()
    if messages[0]["role"] != "user":
        wrong.append("does not begin with the user")
    for each in messages:
        if each["role"] == "tool":
            if not waiting or waiting.pop(0) != each["tool_call_id"]:
                wrong.append(f"{each['tool_call_id']} answers nothing")
            continue
        if waiting:
            wrong.append(f"{waiting} have no result")
        waiting = [call["id"] for call in each.get("tool_calls", ())]
    return wrong + [f"{waiting} have no result"] * bool(waiting)


def _anthropic(messages: Sequence[dict[str, Any]]) -> list[str]:
    wrong, waiting = [], set[str]()
    if messages[0]["role"] != "user":
        wrong.append("does not begin with the user")
    for index, each in enumerate(messages):
        if index and messages[index - 1]["role"] == each["role"]:
            wrong.append("one side speaks twice")
        results = [block["tool_use_id"] for block in each["content"] if block["type"] == "tool_result"]
        if set(results) != waiting or len(results) != len(waiting):
            wrong.append(f"{waiting} are answered by {results}")
        kinds = [block["type"] for block in each["content"]]
        if "tool_result" in kinds[len(results) :]:
            wrong.append("a result does not stand first")
        waiting = {block["id"] for block in each["content"] if block["type"] == "tool_use"}
    return wrong + [f"{waiting} have no result"] * bool(waiting)


def _responses(items: Sequence[dict[str, Any]]) -> list[str]:
    wrong, waiting = [], list[str]()
    if items[0].get("role") != "user":
        wrong.append("does not begin with the user")
    for each in items:
        if each["type"] == "function_call_output":
            if each["call_id"] not in waiting:
                wrong.append(f"{each['call_id']} answers nothing")
            else:
                waiting.remove(each["call_id"])
            continue
        if each["type"] == "function_call":
            waiting.append(each["call_id"])
        elif waiting:
            wrong.append(f"{waiting} have no result")
    return wrong + [f"{waiting} have no result"] * bool(waiting)


def is_summary(asked: Asked) -> bool:
    return "You replace the oldest part" in asked.text


@dataclass(kw_only=True)
class Gardener:
    """Answers with calls until it has said enough; writes summaries when it is asked to, and notes what is wrong."""

    turns: int
    said: int = 0
    summaries: int = 0
    sizes: list[int] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Reply:
        """The next answer."""
        self.wrong += whole(asked.body)
        if is_summary(asked):
            self.summaries += 1
            return Says(text=f"Summary {self.summaries}: the bed was dug, roses stand in rows. {'s' * 600}")
        text = json.dumps(asked.body, ensure_ascii=False)
        self.wrong += [
            f"turn {self.said} says {text.count(json.dumps(each, ensure_ascii=False)[1:-1])} times {each[:20]}"
            for each in (PROTECTED, WORDS, BRIEF)
            if text.count(json.dumps(each, ensure_ascii=False)[1:-1]) != 1
        ]
        self.sizes.append(len(asked.raw))
        self.said += 1
        if self.said > self.turns:
            return Says(calls=(Tool(name=EMIT_RESULT),))
        calls = tuple(Tool(name="look", id=f"c{self.said}-{index}") for index in range(1 + self.said % 3))
        return Says(text=f"Turn {self.said}. {'I look at the next rose. ' * 8}", calls=calls)


async def walk(place: desk.Desk, gardener: Chooser, api: Api) -> task.TaskEnd:
    """Let the gardener work at its step over a real wire."""
    with serving(choose=gardener) as server:
        async with AsyncExitStack() as stack:
            route = await stack.enter_async_context(models.route())
            known = Capabilities(context_window_tokens=place.window_tokens)
            endpoint = models.endpoint(server.url, api, name="practice", model="practice", capabilities=known)
            place.provider = endpoint.provider
            return await place.turns(route.over(endpoint), desk.tool("look")).run()


def protected(place: desk.Desk) -> None:
    """Let what must survive stand at the very beginning."""
    place.prepared = BRIEF
    prompt = Prompt(reference="p", path="p.md", text=PROTECTED, compactable=False)
    place.append(
        NewRow(kind=RowKind.CONTEXT, role=Role.USER, content=protection.of_prompt(prompt)),
        NewRow(kind=RowKind.NOTIFICATION, role=Role.USER, content=protection.of_person(WORDS)),
    )


@pytest.mark.covers("W14", "W13")
@pytest.mark.parametrize("api", APIS)
async def test_a_conversation_goes_on_for_as_long_as_it_likes(tmp_path: Path, api: Api) -> None:
    """W14, quality "agent step": many compactions, what is protected in every request, what a step costs stays flat."""
    gardener = Gardener(turns=TURNS)
    with desk.opened(tmp_path, window_tokens=WINDOW_TOKENS) as place:
        protected(place)
        assert await walk(place, gardener, api) == desk.ACCEPTED
        rows = place.rows()
    begins = [genesis.of_row(row) for row in rows if row.kind is RowKind.SEGMENT]
    assert gardener.wrong == []
    assert gardener.said == TURNS + 1
    assert len(begins) >= 10
    assert gardener.summaries == sum(each.calls for each in begins)
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    # The size of what is sent swings between two bounds and never grows with the past.
    assert max(gardener.sizes[-40:]) <= 1.1 * max(gardener.sizes[:40])
    assert max(gardener.sizes) / 4 <= 3104
