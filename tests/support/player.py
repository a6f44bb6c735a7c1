"""A model that plays a practice script over any wire; all it knows it reads from the request, as a model does."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from support.model_server import Asked, Reply, Says, Tool
from workstead.agents.models import practice_script
from workstead.agents.models.practice import Practice
from workstead.agents.models.practice_script import Script
from workstead.agents.models.shape import Call, Child, Message, NoTurn, Request, Role, Situation, ToolSchema

LEDGER = Path(__file__).parents[2] / "examples" / "ledger"

_CARD = re.compile(r"^Card (\S+) \([a-z-]+\): (.*)$", re.MULTILINE)
_CHILD = re.compile(r"^- (\S+) \([a-z-]+, ([a-z]+)[^)]*\): (.*)$", re.MULTILINE)
_STEP = re.compile(r"^Step `([a-z-]+)`:$", re.MULTILINE)
_SCRIPTED_ID = re.compile(r"(practice-[0-9]+-[0-9]+-[0-9]+)(?:-[0-9]+)?")
_BEGIN = "[Activation begins at "


class Player:
    """Answers as the script says; stuck: where the script had nothing to say.

    before: what is answered at a turn of a step instead, one after the other, as a provider or a model that fails does;
    then the script goes on. unscripted: how many of those were answers.
    """

    def __init__(
        self, script: bytes | None = None, *, at: tuple[str, int] = ("", 0), before: Sequence[Reply] = ()
    ) -> None:
        self._script = practice_script.compile_script(script or (LEDGER / "practice.yaml").read_bytes())
        self._at = at
        self._before = list(before)
        self.unscripted = 0
        self.stuck: list[str] = []

    def __call__(self, asked: Asked) -> Reply:
        """The next answer; a request without tools is one for a summary."""
        if not asked.body.get("tools"):
            return Says(text="Nothing of importance has happened yet.")
        request = request_of(asked, self._script)
        where = request.situation
        if self.unscripted and where.node == self._at[0]:
            request = replace(request, situation=replace(where, turns=where.turns - self.unscripted))
        if self._before and (where.node, request.situation.turns) == self._at:
            reply = self._before.pop(0)
            self.unscripted += isinstance(reply, Says) and reply.events is None and reply.finish == "stop"
            return reply
        try:
            answer = anyio.run(Practice(self._script).complete, request)
        except NoTurn as nothing:
            self.stuck.append(str(nothing))
            return Says(text=str(nothing))
        calls = tuple(Tool(name=call.name, arguments=call.arguments, id=call.id) for call in answer.calls)
        return Says(text=answer.text, calls=calls)


def request_of(asked: Asked, script: Script) -> Request:
    """What was asked, as practice takes it."""
    messages = tuple(_merged(_MESSAGES[asked.api](asked.body)))
    situation = _situation(messages, script)
    return Request(
        model=asked.body["model"],
        instructions="",
        messages=messages,
        tools=tuple(_tools(asked.body)),
        max_tokens=1,
        temperature=None,
        situation=situation,
    )


def _situation(messages: tuple[Message, ...], script: Script) -> Situation:
    told = messages[0].text
    card = _CARD.search(told)
    assert card is not None, told[:200]
    node = _STEP.findall(told)[-1]
    begun = max(index for index, one in enumerate(messages) if _BEGIN in one.text)
    children = told.partition("Its child cards:\n")[2].partition("\n\n")[0]
    return Situation(
        agent=next(scene.agent for scene in script.scenes if scene.node == node),
        card_id=card[1],
        card_title=card[2],
        node=node,
        entry="",
        turns=sum(one.role is Role.ASSISTANT for one in messages[begun:]),
        children={title: Child(card_id=card_id, status=status) for card_id, status, title in _CHILD.findall(children)},
    )


def _tools(body: Mapping[str, Any]) -> Iterator[ToolSchema]:
    for tool in body.get("tools", []):
        one = tool.get("function", tool)
        parameters = one.get("parameters") or one.get("input_schema") or {}
        yield ToolSchema(name=one["name"], description="", parameters=parameters)


def _merged(messages: Iterator[Message]) -> Iterator[Message]:
    """Text and calls that follow each other are one answer."""
    held: Message | None = None
    for one in messages:
        if one.role is Role.ASSISTANT and held is not None:
            held = replace(held, text=held.text + one.text, calls=(*held.calls, *one.calls))
            continue
        if held is not None:
            yield held
        held = one if one.role is Role.ASSISTANT else None
        if held is None:
            yield one
    if held is not None:
        yield held


def _id(text: str) -> str:
    """The script's own id; a wire numbers what repeats."""
    match = _SCRIPTED_ID.fullmatch(text)
    return match[1] if match is not None else text


def _said(text: str, *calls: Call) -> Message:
    return Message(role=Role.ASSISTANT, text=text, calls=calls)


def _result(call_id: str, text: str) -> Message:
    return Message(role=Role.TOOL, text=text, call_id=_id(call_id))


def _chat(body: Mapping[str, Any]) -> Iterator[Message]:
    for one in body["messages"]:
        match one["role"]:
            case "user":
                yield Message(role=Role.USER, text=one["content"])
            case "tool":
                yield _result(one["tool_call_id"], one["content"])
            case "assistant":
                calls = [
                    Call(id=_id(call["id"]), name=call["function"]["name"], arguments=call["function"]["arguments"])
                    for call in one.get("tool_calls", [])
                ]
                yield _said(one.get("content") or "", *calls)
            case _:
                pass


def _responses(body: Mapping[str, Any]) -> Iterator[Message]:
    for one in body["input"]:
        match one.get("type", one.get("role")):
            case "function_call":
                yield _said("", Call(id=_id(one["call_id"]), name=one["name"], arguments=one["arguments"]))
            case "function_call_output":
                yield _result(one["call_id"], one["output"])
            case _:
                content = one["content"]
                text = content if isinstance(content, str) else "".join(part["text"] for part in content)
                yield Message(role=Role.USER, text=text) if one["role"] == "user" else _said(text)


def _anthropic(body: Mapping[str, Any]) -> Iterator[Message]:
    for one in body["messages"]:
        blocks = [{"type": "text", "text": one["content"]}] if isinstance(one["content"], str) else one["content"]
        for block in blocks:
            match block["type"]:
                case "tool_use":
                    call = Call(id=_id(block["id"]), name=block["name"], arguments=json.dumps(block["input"]))
                    yield _said("", call)
                case "tool_result":
                    yield _result(block["tool_use_id"], block["content"])
                case _:
                    text = block["text"]
                    yield Message(role=Role.USER, text=text) if one["role"] == "user" else _said(text)


_MESSAGES = {"chat": _chat, "messages": _anthropic, "responses": _responses}
