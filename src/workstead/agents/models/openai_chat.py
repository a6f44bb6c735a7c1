"""OpenAI Chat Completions, as OpenAI and most local servers speak it."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from workstead.agents.models import fields, pairing, wire
from workstead.agents.models.events import (
    Alive,
    CallPart,
    Counted,
    Done,
    Errored,
    MalformedAnswerError,
    ModelEvent,
    Refused,
    Stopped,
    Text,
)
from workstead.agents.models.shape import Finish, Message, Request, Role, Usage
from workstead.agents.models.sse import Event
from workstead.agents.models.wire import Wire
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

# OpenAI itself has given up the name that everybody else knows.
_OWN_HOST = "api.openai.com"
_FINISHES = {
    "stop": Finish.STOP,
    "tool_calls": Finish.CALLS,
    "function_call": Finish.CALLS,
    "length": Finish.LENGTH,
}


def body(request: Request, model: str, base_url: str) -> Mapping[str, Json]:
    """What is sent to one model."""
    said: list[Json] = [{"role": "system", "content": request.instructions}] if request.instructions else []
    said += [_message(message) for message in pairing.paired(request.messages)]
    limit = "max_completion_tokens" if urlsplit(base_url).hostname == _OWN_HOST else "max_tokens"
    whole: dict[str, Json] = {
        "model": model,
        "messages": said,
        limit: request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.temperature is not None:
        whole["temperature"] = request.temperature
    if request.tools:
        whole["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for tool in request.tools
        ]
    return whole


class _Reader:
    """The first choice of one stream; complete with its finish reason and `[DONE]`."""

    def __init__(self) -> None:
        self._newest = ""

    def __call__(self, event: Event) -> Iterator[ModelEvent]:
        """The events in one chunk."""
        if event.data.strip() == "[DONE]":
            yield Done()
            return
        chunk = fields.parsed(event.data)
        if chunk.get("error") is not None:
            yield Errored(error=chunk["error"])
            return
        if isinstance(chunk.get("usage"), dict):
            yield Counted(usage=_usage(chunk["usage"]))
        choices = fields.items(chunk, "choices")
        if not choices:
            yield Alive()
            return
        yield from self._choice(choices[0])

    def _choice(self, choice: dict[str, Json]) -> Iterator[ModelEvent]:
        delta = fields.sub(choice, "delta")
        yield Text(text=fields.text(delta, "content") or fields.text(delta, "refusal") or "")
        for call in fields.items(delta, "tool_calls"):
            yield self._part(call)
        finish = choice.get("finish_reason")
        if finish == "content_filter":
            yield Refused()
        elif finish is not None:
            if not isinstance(finish, str):
                raise MalformedAnswerError("The reason of the end is no text.")
            yield Stopped(finish=_FINISHES.get(finish, Finish.STOP))

    def _part(self, call: dict[str, Json]) -> CallPart:
        index, call_id = fields.count(call, "index"), fields.text(call, "id")
        # Some servers number nothing and send whole calls; then a new id begins a new call.
        self._newest = f"#{index}" if index is not None else call_id or self._newest
        function = fields.sub(call, "function")
        return CallPart(
            key=self._newest,
            id=call_id,
            name=fields.text(function, "name"),
            arguments=fields.text(function, "arguments") or "",
        )


def _message(message: Message) -> dict[str, Json]:
    if message.role is Role.TOOL:
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    said: dict[str, Json] = {"role": message.role.value, "content": message.text or None}
    if message.calls:
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": canonical.text(pairing.arguments(call))},
            }
            for call in message.calls
        ]
    return said


def _usage(usage: Json) -> Usage:
    return Usage(
        input_tokens=fields.count(usage, "prompt_tokens"),
        output_tokens=fields.count(usage, "completion_tokens"),
        cached_tokens=fields.count(fields.sub(usage, "prompt_tokens_details"), "cached_tokens"),
    )


WIRE = Wire(path="/chat/completions", headers=wire.bearer, body=body, reader=_Reader)
