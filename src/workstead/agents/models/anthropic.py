"""Anthropic Messages: content blocks, results inside the user's turn, pings that mean nothing."""

from collections.abc import Iterator, Mapping, Sequence

from workstead.agents.models import fields, pairing, wire
from workstead.agents.models.events import (
    Alive,
    CallPart,
    Counted,
    Done,
    Errored,
    MalformedAnswerError,
    ModelEvent,
    Reasoned,
    Refused,
    Stopped,
    Text,
)
from workstead.agents.models.shape import Call, Finish, Message, Private, Request, Role, Usage
from workstead.agents.models.sse import Event
from workstead.agents.models.wire import Wire
from workstead.kernel.canonical import Json

_VERSION = "2023-06-01"
_FINISHES = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "tool_use": Finish.CALLS,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
}


def headers(key: str | None) -> Mapping[str, str]:
    """The version of the protocol, and the key."""
    own = {"anthropic-version": _VERSION}
    return own if key is None else {**own, "x-api-key": key}


def body(request: Request, model: str, _base_url: str) -> Mapping[str, Json]:
    """What is sent to one model. The instructions and the tools before them are marked as worth keeping there."""
    whole: dict[str, Json] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": list(_turns(pairing.paired(request.messages))),
        "stream": True,
    }
    if request.instructions:
        kept: Json = {"type": "ephemeral"}
        whole["system"] = [{"type": "text", "text": request.instructions, "cache_control": kept}]
    if request.temperature is not None:
        whole["temperature"] = min(request.temperature, 1.0)
    if request.tools:
        whole["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in request.tools
        ]
    return whole


class _Reader:
    """One stream; complete with `message_stop` after a stop reason."""

    def __init__(self) -> None:
        self._thinking: dict[str, dict[str, str]] = {}

    def __call__(self, event: Event) -> Iterator[ModelEvent]:
        """The events in one."""
        data = fields.parsed(event.data)
        match fields.text(data, "type") or event.name:
            case "message_start":
                yield Counted(usage=_usage(fields.sub(fields.sub(data, "message"), "usage")))
            case "content_block_start":
                yield from self._begun(data)
            case "content_block_delta":
                yield from self._grown(data)
            case "content_block_stop":
                yield from self._thought(data)
            case "message_delta":
                yield Counted(usage=_usage(fields.sub(data, "usage")))
                yield from _stopped(fields.text(fields.sub(data, "delta"), "stop_reason"))
            case "message_stop":
                yield Done()
            case "error":
                yield Errored(error=data.get("error"))
            case _:
                yield Alive()

    def _begun(self, data: dict[str, Json]) -> Iterator[ModelEvent]:
        block = fields.sub(data, "content_block")
        match block.get("type"):
            case "tool_use":
                yield CallPart(key=_index(data), id=fields.text(block, "id"), name=fields.text(block, "name"))
            case "thinking":
                self._thinking[_index(data)] = {
                    "thinking": fields.text(block, "thinking") or "",
                    "signature": fields.text(block, "signature") or "",
                }
                yield Text()
            case "redacted_thinking":
                yield Reasoned(item={"type": "redacted_thinking", "data": fields.text(block, "data") or ""})
            case _:
                yield Text(text=fields.text(block, "text") or "")

    def _grown(self, data: dict[str, Json]) -> Iterator[ModelEvent]:
        delta = fields.sub(data, "delta")
        thought = self._thinking.get(_index(data), {})
        match delta.get("type"):
            case "text_delta":
                yield Text(text=fields.piece(delta, "text"))
            case "input_json_delta":
                yield CallPart(key=_index(data), arguments=fields.piece(delta, "partial_json"))
            case "thinking_delta":
                thought["thinking"] = thought.get("thinking", "") + fields.piece(delta, "thinking")
                yield Text()
            case "signature_delta":
                thought["signature"] = thought.get("signature", "") + fields.piece(delta, "signature")
                yield Text()
            case _:
                # Citations and whatever is new: progress without text.
                yield Text()

    def _thought(self, data: dict[str, Json]) -> Iterator[ModelEvent]:
        thought = self._thinking.pop(_index(data), None)
        # Without its signature a thought is refused when it comes back.
        if thought is not None and thought["signature"]:
            yield Reasoned(item={"type": "thinking", **thought})
        else:
            yield Alive()


def _stopped(reason: str | None) -> Iterator[ModelEvent]:
    if reason == "refusal":
        yield Refused()
    elif reason is not None:
        yield Stopped(finish=_FINISHES.get(reason, Finish.STOP))


def _index(data: dict[str, Json]) -> str:
    index = fields.count(data, "index")
    if index is None:
        raise MalformedAnswerError("A block of the answer has no number.")
    return str(index)


def _turns(messages: Sequence[Message]) -> Iterator[dict[str, Json]]:
    """Messages with those of one side joined: results and what a person says after them are one turn."""
    side, blocks = "", list[Json]()
    for message in messages:
        speaks = "assistant" if message.role is Role.ASSISTANT else "user"
        if speaks != side and blocks:
            yield {"role": side, "content": blocks}
            blocks = []
        side = speaks
        blocks += _blocks(message)
    if blocks:
        yield {"role": side, "content": blocks}


def _blocks(message: Message) -> Iterator[Json]:
    if message.role is Role.TOOL:
        yield {"type": "tool_result", "tool_use_id": message.call_id, "content": message.text}
        return
    for part in wire.interleaved(message):
        match part:
            case Private(item=item):
                yield dict(item)
            case Call() as call:
                yield {"type": "tool_use", "id": call.id, "name": call.name, "input": pairing.arguments(call)}
            case str() as text:
                # A text of the model that ends in white space is refused at the end of a request.
                yield {"type": "text", "text": text.rstrip() if message.role is Role.ASSISTANT else text}


def _usage(usage: Json) -> Usage:
    """The provider counts kept input beside the rest; here it is part of it, as the others have it."""
    given, kept, made = (
        fields.count(usage, name) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    return Usage(
        input_tokens=given + (kept or 0) + (made or 0) if given is not None else None,
        output_tokens=fields.count(usage, "output_tokens"),
        cached_tokens=kept,
    )


WIRE = Wire(path="/messages", version="/v1", headers=headers, body=body, reader=_Reader, by_model=True)
