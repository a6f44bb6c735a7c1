"""OpenAI Responses: instructions, ordered input items, a stream of named events; nothing is stored at the provider."""

from collections.abc import Iterator, Mapping

from workstead.agents.models import fields, pairing, wire
from workstead.agents.models.events import (
    Alive,
    CallPart,
    CallWhole,
    Counted,
    Done,
    Errored,
    MalformedAnswerError,
    ModelEvent,
    Reasoned,
    Refused,
    Stopped,
    Text,
    TextWhole,
)
from workstead.agents.models.shape import Call, Finish, Message, Private, Request, Role, Usage
from workstead.agents.models.sse import Event
from workstead.agents.models.wire import Wire
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

_CONTENT_FILTER = "content_filter"


def body(request: Request, model: str, _base_url: str) -> Mapping[str, Json]:
    """What is sent to one model."""
    given: list[Json] = [item for message in pairing.paired(request.messages) for item in _items(message)]
    whole: dict[str, Json] = {
        "model": model,
        "instructions": request.instructions,
        "input": given,
        "max_output_tokens": request.max_tokens,
        "store": False,
        "stream": True,
    }
    if request.temperature is not None:
        whole["temperature"] = request.temperature
    if request.tools:
        whole["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
                "strict": False,
            }
            for tool in request.tools
        ]
    return whole


class _Reader:
    """One stream; complete with `response.completed` or `response.incomplete`.

    Pieces of text are progress; finished items are what counts.
    """

    def __init__(self) -> None:
        self._finished: set[str] = set()
        self._thought: set[str | None] = set()

    def __call__(self, event: Event) -> Iterator[ModelEvent]:
        """The events in one."""
        data = fields.parsed(event.data)
        kind = fields.text(data, "type") or event.name
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                yield Text(text=fields.piece(data, "delta"))
            case "response.function_call_arguments.delta":
                yield CallPart(key=fields.piece(data, "item_id"), arguments=fields.piece(data, "delta"))
            case "response.output_item.added":
                item = fields.sub(data, "item")
                if item.get("type") == "function_call":
                    yield CallPart(key=_key(item), id=_call_id(item), name=fields.text(item, "name"))
            case "response.output_item.done":
                yield from self._item(fields.sub(data, "item"))
            case "response.completed" | "response.incomplete":
                yield from self._ended(fields.sub(data, "response"), complete=kind == "response.completed")
            case "response.failed":
                yield Errored(error=fields.sub(data, "response").get("error"))
            case "error":
                yield Errored(error=data.get("error") or data)
            case "response.created" | "response.in_progress" | "response.queued" | "message" | "keepalive":
                yield Alive()
            case _:
                # Reasoning and whatever is new: the model is at work.
                yield Text()

    def _item(self, item: dict[str, Json]) -> Iterator[ModelEvent]:
        if item.get("type") == "message":
            parts = fields.items(item, "content")
            said = [fields.text(part, "text") or fields.text(part, "refusal") or "" for part in parts]
            self._finished.add("message")
            yield TextWhole(text="".join(said))
        elif item.get("type") == "reasoning":
            # What is not encrypted was kept at the provider only, and nothing is stored there.
            if isinstance(item.get("encrypted_content"), str) and fields.text(item, "id") not in self._thought:
                self._thought.add(fields.text(item, "id"))
                yield Reasoned(item=item)
        elif item.get("type") == "function_call":
            self._finished.add(_key(item))
            yield CallWhole(
                key=_key(item),
                id=_call_id(item),
                name=fields.text(item, "name"),
                arguments=fields.text(item, "arguments"),
            )

    def _ended(self, response: dict[str, Json], *, complete: bool) -> Iterator[ModelEvent]:
        if not fields.text(response, "id"):
            raise MalformedAnswerError("The end of the answer names no answer.")
        if not self._finished:
            for item in fields.items(response, "output"):
                yield from self._item(item)
        usage = response.get("usage")
        yield Counted(usage=_usage(usage))
        if not complete:
            reason = fields.text(fields.sub(response, "incomplete_details"), "reason")
            if reason == _CONTENT_FILTER:
                yield Refused()
                return
            yield Stopped(finish=Finish.LENGTH)
        else:
            yield Stopped(finish=Finish.STOP)
        yield Done()


def _items(message: Message) -> Iterator[dict[str, Json]]:
    if message.role is Role.TOOL:
        yield {"type": "function_call_output", "call_id": message.call_id, "output": message.text}
        return
    for part in wire.interleaved(message):
        match part:
            case Private(item=item):
                yield dict(item)
            case Call() as call:
                yield {
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": canonical.text(pairing.arguments(call)),
                }
            case str() as text:
                kind = "output_text" if message.role is Role.ASSISTANT else "input_text"
                yield {
                    "type": "message",
                    "role": message.role.value,
                    "content": [{"type": kind, "text": text}],
                }


def _key(item: dict[str, Json]) -> str:
    key = fields.text(item, "id") or _call_id(item)
    if not key:
        raise MalformedAnswerError("A call of the answer has no id.")
    return key


def _call_id(item: dict[str, Json]) -> str | None:
    return fields.text(item, "call_id") or fields.text(item, "id")


def _usage(usage: Json) -> Usage:
    return Usage(
        input_tokens=fields.count(usage, "input_tokens"),
        output_tokens=fields.count(usage, "output_tokens"),
        cached_tokens=fields.count(fields.sub(usage, "input_tokens_details"), "cached_tokens"),
    )


WIRE = Wire(
    path="/responses",
    headers=wire.bearer,
    body=body,
    reader=_Reader,
    reasoning={"include": ["reasoning.encrypted_content"]},
)
