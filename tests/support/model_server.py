"""A model server on loopback: speaks the three protocols, says what a test tells it to, and misbehaves on request."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Api = Literal["chat", "messages", "responses"]
APIS: Mapping[str, Api] = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool call. arguments: as text, to send what is no JSON. namespace: of tools that came in one (Responses)."""

    name: str
    arguments: Mapping[str, object] | str = field(default_factory=dict)
    id: str | None = None
    namespace: str | None = None


@dataclass(frozen=True, kw_only=True)
class Says:
    """An answer. finish: stop, length or refusal. events: only so many are sent; then what `then` says happens.

    thinks: reasoning before it, which comes back signed or encrypted where the protocol has that. until: what it waits
    for after its first `held` events.
    """

    text: str = ""
    thinks: str = ""
    calls: tuple[Tool, ...] = ()
    finish: Literal["length", "refusal", "stop"] = "stop"
    events: int | None = None
    then: Literal["cut", "end", "error", "garbage", "pings", "stall"] = "end"
    held: int = 0
    until: threading.Event | None = None


@dataclass(frozen=True, kw_only=True)
class Fails:
    """An answer that is no stream. body: JSON, or the text itself."""

    status: int
    body: Mapping[str, object] | str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as it came."""

    api: Api
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The request."""
        value: dict[str, Any] = json.loads(self.raw)
        return value

    @property
    def text(self) -> str:
        """All of it, for looking for a word."""
        return self.raw.decode()


Reply = Fails | Says
Chooser = Callable[[Asked], Reply]


@dataclass(kw_only=True)
class ModelServer:
    """A server that lives. asked: every request so far, in order. mistakes: of the chooser."""

    url: str
    choose: Chooser
    closing: threading.Event = field(default_factory=threading.Event)
    gone: threading.Event = field(default_factory=threading.Event)
    asked: list[Asked] = field(default_factory=list)
    mistakes: list[Exception] = field(default_factory=list)


def in_order(replies: Sequence[Reply]) -> Chooser:
    """One reply after the other; the last for ever."""
    left = list(replies)
    lock = threading.Lock()

    def choose(_: Asked) -> Reply:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return choose


@contextmanager
def serving(*replies: Reply, choose: Chooser | None = None) -> Iterator[ModelServer]:
    """A server on a free port; `url` ends in `/v1`, as every wire takes it."""
    listening = _Listening(("127.0.0.1", 0), _Handler)
    server = ModelServer(url=f"http://127.0.0.1:{listening.server_port}/v1", choose=choose or in_order(replies))
    listening.served = server
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        listening.shutdown()
        thread.join()
        listening.server_close()
    assert not server.mistakes, server.mistakes


class _Listening(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    served: ModelServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listening

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Keep quiet."""

    def do_POST(self) -> None:
        """Answer one call."""
        server = self.server.served
        raw = self.rfile.read(int(self.headers["content-length"]))
        api = next(api for end, api in APIS.items() if self.path.partition("?")[0].endswith(end))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(api=api, path=self.path, headers=headers, raw=raw)
        server.asked.append(asked)
        try:
            reply = server.choose(asked)
        except Exception as broken:  # noqa: BLE001 - a test's mistake must end its call, not hang it
            server.mistakes.append(broken)
            reply = Fails(status=400, body="the test's chooser failed")
        try:
            if isinstance(reply, Fails):
                self._whole(reply)
            else:
                self._stream(reply, api, model=asked.body["model"])
        except OSError:
            server.gone.set()
            self.close_connection = True

    def _whole(self, reply: Fails) -> None:
        body = reply.body.encode() if isinstance(reply.body, str) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": reply.content_type, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: Says, api: Api, *, model: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(WRITERS[api](reply, model)):
            if number == reply.events:
                break
            if number == reply.held and reply.until is not None:
                self._until(reply.until)
            self._chunk(event)
        if reply.events is not None:
            self._misbehave(reply, api)
        self.wfile.write(b"0\r\n\r\n")

    def _misbehave(self, reply: Says, api: Api) -> None:
        match reply.then:
            case "cut":
                self.connection.shutdown(socket.SHUT_RDWR)
                raise ConnectionResetError
            case "stall":
                self._while_there(b"")
            case "pings":
                ping = _event({"type": "ping"}, name="ping") if api == "messages" else b": keep-alive\n\n"
                self._while_there(ping)
            case "garbage":
                self._chunk(b"data: {not json\n\n")
            case "error":
                self._chunk(_event(mid_stream_error(api), name="error"))
            case "end":
                pass

    def _until(self, event: threading.Event) -> None:
        while not event.wait(0.02):
            if self.server.served.closing.is_set():
                raise ConnectionResetError

    def _while_there(self, said: bytes) -> None:
        """Say only this until the client goes or the server ends."""
        self.connection.settimeout(0.02)
        while not self.server.served.closing.is_set():
            if said:
                self._chunk(said)
            try:
                if self.connection.recv(1, socket.MSG_PEEK) == b"":
                    raise ConnectionResetError
            except TimeoutError:
                continue

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def mid_stream_error(api: Api) -> dict[str, object]:
    """The provider's own error inside a stream, as each protocol writes it."""
    if api == "messages":
        return {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    if api == "responses":
        return {"type": "error", "code": "server_is_overloaded", "message": "busy", "param": None, "sequence_number": 9}
    return {"error": {"type": "server_error", "code": "server_is_overloaded", "message": "busy"}}


def failing(
    api: Api, status: int, *, code: str | None = None, kind: str = "invalid_request_error", message: str = "no"
) -> Fails:
    """A refused call, as each protocol writes it. Anthropic has no code beside the type."""
    if api == "messages":
        return Fails(status=status, body={"type": "error", "error": {"type": code or kind, "message": message}})
    return Fails(status=status, body={"error": {"type": kind, "message": message, "code": code, "param": None}})


def _event(data: object, *, name: str | None = None) -> bytes:
    head = f"event: {name}\n" if name is not None else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _arguments(tool: Tool) -> str:
    return tool.arguments if isinstance(tool.arguments, str) else json.dumps(tool.arguments)


def _pieces(text: str) -> list[str]:
    return [text[at : at + 9] for at in range(0, len(text), 9)]


def _chat(reply: Says, model: str) -> Iterator[bytes]:
    common = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": model}

    def chunk(delta: Mapping[str, object], finish: str | None = None) -> bytes:
        return _event({**common, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(reply.text):
        yield chunk({"content": piece})
    for index, tool in enumerate(reply.calls):
        begun = {"index": index, "id": tool.id or f"call_{index}", "type": "function"}
        yield chunk({"tool_calls": [begun | {"function": {"name": tool.name, "arguments": ""}}]})
        for piece in _pieces(_arguments(tool)):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    finish = {"length": "length", "refusal": "content_filter", "stop": "tool_calls" if reply.calls else "stop"}
    yield chunk({}, finish[reply.finish])
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    yield _event({**common, "choices": [], "usage": {**usage, "prompt_tokens_details": {"cached_tokens": 3}}})
    yield b"data: [DONE]\n\n"


def _responses(reply: Says, model: str) -> Iterator[bytes]:
    number = iter(range(10_000))

    def event(kind: str, **fields: object) -> bytes:
        return _event({"type": kind, "sequence_number": next(number), **fields}, name=kind)

    output: list[object] = []
    yield event("response.created", response=_response("in_progress", model, []))
    if reply.thinks:
        thought = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": f"sealed {reply.thinks}"}
        output.append(thought)
        yield event("response.output_item.added", output_index=0, item={**thought, "encrypted_content": None})
        yield event("response.output_item.done", output_index=0, item=thought)
    if reply.text:
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        yield event("response.output_item.added", output_index=0, item=item)
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        for piece in _pieces(reply.text):
            yield event("response.output_text.delta", delta=piece, logprobs=[], **place)
        part = {"type": "output_text", "text": reply.text, "annotations": []}
        done = {**item, "status": "completed", "content": [part]}
        output.append(done)
        yield event("response.output_item.done", output_index=0, item=done)
    for index, tool in enumerate(reply.calls, start=len(output)):
        item = {"id": f"fc_{index}", "type": "function_call", "call_id": tool.id or f"call_{index}", "name": tool.name}
        if tool.namespace is not None:
            item["namespace"] = tool.namespace
        begun = {**item, "arguments": "", "status": "in_progress"}
        yield event("response.output_item.added", output_index=index, item=begun)
        for piece in _pieces(_arguments(tool)):
            at = {"item_id": f"fc_{index}", "output_index": index}
            yield event("response.function_call_arguments.delta", delta=piece, **at)
        done = {**item, "arguments": _arguments(tool), "status": "completed"}
        output.append(done)
        yield event("response.output_item.done", output_index=index, item=done)
    if reply.finish == "stop":
        yield event("response.completed", response=_response("completed", model, output))
        return
    reason = "max_output_tokens" if reply.finish == "length" else "content_filter"
    ended = _response("incomplete", model, output) | {"incomplete_details": {"reason": reason}}
    yield event("response.incomplete", response=ended)


def _response(status: str, model: str, output: Sequence[object]) -> dict[str, object]:
    details = {"input_tokens_details": {"cached_tokens": 3}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18, **details}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": model,
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage if status != "in_progress" else None,
    }


def _messages(reply: Says, model: str) -> Iterator[bytes]:
    def event(kind: str, **fields: object) -> bytes:
        return _event({"type": kind, **fields}, name=kind)

    # Kept input is counted beside the rest here, so this is 11 in all, as on the other wires.
    usage = {"input_tokens": 8, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 0, "output_tokens": 1}
    begun = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "usage": usage}
    yield event("message_start", message={**begun, "stop_reason": None, "stop_sequence": None})
    yield event("ping")
    at = 0
    if reply.thinks:
        yield event(
            "content_block_start", index=at, content_block={"type": "thinking", "thinking": "", "signature": ""}
        )
        for piece in _pieces(reply.thinks):
            yield event("content_block_delta", index=at, delta={"type": "thinking_delta", "thinking": piece})
        signed = {"type": "signature_delta", "signature": f"signed {reply.thinks}"}
        yield event("content_block_delta", index=at, delta=signed)
        yield event("content_block_stop", index=at)
        at += 1
    if reply.text:
        yield event("content_block_start", index=at, content_block={"type": "text", "text": ""})
        for piece in _pieces(reply.text):
            yield event("content_block_delta", index=at, delta={"type": "text_delta", "text": piece})
        yield event("content_block_stop", index=at)
        at += 1
    for index, tool in enumerate(reply.calls, start=at):
        block = {"type": "tool_use", "id": tool.id or f"toolu_{index}", "name": tool.name, "input": {}}
        yield event("content_block_start", index=index, content_block=block)
        for piece in _pieces(_arguments(tool)):
            yield event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": piece})
        yield event("content_block_stop", index=index)
    reasons = {"length": "max_tokens", "refusal": "refusal", "stop": "tool_use" if reply.calls else "end_turn"}
    delta = {"stop_reason": reasons[reply.finish], "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": 7})
    yield event("message_stop")


WRITERS: Mapping[Api, Callable[[Says, str], Iterator[bytes]]] = {
    "chat": _chat,
    "messages": _messages,
    "responses": _responses,
}
