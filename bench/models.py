"""Models: what it costs to serialise and admit a large request, and what our wire adds to a streamed answer."""

import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median

import anyio
import httpx2
from anyio.abc import SocketAttribute, SocketStream
from structlog.testing import capture_logs

from agents import desk
from bench import streaming
from bench.figures import Figure
from workstead.agents.models import attempt, openai_chat, sizing
from workstead.agents.models.attempt import Endpoint
from workstead.agents.models.shape import Answer, Call, Message, Request, Role, Situation
from workstead.clock import SystemClock
from workstead.outbound.calls import Limits
from workstead.outbound.client import Client
from workstead.work.workflow.graph import Provider, ProviderKind

_TOKENS = 100_000
_WINDOW = 130_000  # 99 904 tokens of input: a conversation of 100 000 is shortened before its next call
_EVENTS = 200
_ROUNDS = 40
_SITUATION = Situation(agent="a", card_id="project", card_title="t", node="n", entry="BACKLOG", turns=0, children={})


def run() -> Iterator[Figure]:
    """Every figure of models."""
    yield _admission()
    yield anyio.run(_shortening)
    yield anyio.run(_stream)
    yield from streaming.run()


def _admission() -> Figure:
    """Serialise, digest and admit, beside a bare dump of the same body."""
    request = _large()
    endpoint = _endpoint("http://127.0.0.1:1/v1")
    body = openai_chat.body(request, "m", "http://127.0.0.1:1/v1")

    def ours() -> None:
        made = attempt.plan(endpoint, request)
        sizing.judge(len(made.body), max_tokens=request.max_tokens, capabilities=endpoint.capabilities)

    tokens = sizing.estimate_tokens(len(attempt.plan(endpoint, request).body))
    return Figure(
        what=f"serialise and admit {tokens} tokens",
        ours=_timed(ours),
        other=_timed(lambda: json.dumps(body, ensure_ascii=False).encode()),
        unit="ms",
        beside="json.dumps of the same body",
    )


async def _shortening() -> Figure:
    """Cut, pack, measure and commit what takes the place of 100 000 tokens, with a summarizer that answers at once."""
    rounds = 5
    took: list[float] = []
    bare: list[float] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name, desk.opened(Path(name), window_tokens=_WINDOW) as place:
            place.append(*[desk.said("line of source\n" * 160) for _ in range(_TOKENS * 4 // 2400)])
            asked_s: list[float] = []

            async def asked(seen: list[float] = asked_s) -> None:
                seen.append(time.perf_counter())

            model = desk.Model(answers=[Answer(text="Short."), desk.ends()], before=asked)
            began = time.perf_counter()
            with capture_logs():
                await place.turns(model).run()
            _, answer_s = asked_s
            took.append(answer_s - began)
            body = attempt.plan(_endpoint("http://127.0.0.1:1/v1"), model.asked[0]).body
            began = time.perf_counter()
            json.dumps(json.loads(body), ensure_ascii=False).encode()
            bare.append(time.perf_counter() - began)
    return Figure(
        what=f"shorten a conversation of {_TOKENS} tokens, with its commits",
        ours=median(took) * 1000,
        other=median(bare) * 1000,
        unit="ms",
        beside="json.loads and json.dumps of the summary's request",
    )


async def _stream() -> Figure:
    """A whole call of 200 pieces over a kept connection, beside a bare client that reads the same bytes."""
    answer = _answer()

    async def serve(stream: SocketStream) -> None:
        async with stream:
            while True:
                try:
                    await stream.receive(65_536)
                except anyio.EndOfStream:
                    return
                await stream.send(answer)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/v1"
    client, clock = Client(), SystemClock()
    request = Request(
        model="m", instructions="", messages=(), tools=(), max_tokens=9, temperature=None, situation=_SITUATION
    )
    plan = attempt.plan(_endpoint(url), request)
    async with listener, anyio.create_task_group() as group, httpx2.AsyncClient(trust_env=False) as bare:
        group.start_soon(listener.serve, serve)

        async def ours() -> None:
            await attempt.ask(plan, client=client, key=None, limits=Limits(), clock=clock)

        async def other() -> None:
            async with bare.stream("POST", url, content=plan.body) as response:
                async for _ in response.aiter_raw():
                    pass

        figure = Figure(
            what=f"an answer of {_EVENTS} pieces",
            ours=await _awaited(ours),
            other=await _awaited(other),
            unit="ms",
            beside="a bare client reading the same bytes",
        )
        await client.aclose()
        group.cancel_scope.cancel()
    return figure


def _endpoint(url: str) -> Endpoint:
    provider = Provider(
        name="p", kind=ProviderKind.OPENAI_CHAT, models=("m",), priority=0, base_url=url, key=None, capabilities={}
    )
    return Endpoint(provider=provider, model="m", wire=openai_chat.WIRE)


def _large() -> Request:
    """A conversation of 4 bytes for each of its tokens, in calls and results as an agent makes them."""
    messages = [Message(role=Role.USER, text="Begin.")]
    for number in range(_TOKENS * 4 // 2400):
        call = Call(id=f"call_{number}", name="read", arguments=json.dumps({"path": f"src/{number}.py"}))
        messages.append(Message(role=Role.ASSISTANT, text="I look at the next file.", calls=(call,)))
        messages.append(Message(role=Role.TOOL, text="line of source\n" * 148, call_id=call.id))
    return Request(
        model="m",
        instructions="Be brief.",
        messages=tuple(messages),
        tools=(),
        max_tokens=4096,
        temperature=None,
        situation=_SITUATION,
    )


def _answer() -> bytes:
    def chunk(delta: dict[str, object], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return f"data: {json.dumps({'id': 'c', 'choices': [choice]})}\n\n".encode()

    pieces = b"".join(chunk({"content": "a few words "}) for _ in range(_EVENTS))
    body = pieces + chunk({}, "stop") + b"data: [DONE]\n\n"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _timed(work: Callable[[], object]) -> float:
    took: list[float] = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return median(took) * 1000


async def _awaited(work: Callable[[], Awaitable[None]]) -> float:
    took: list[float] = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        await work()
        took.append(time.perf_counter() - began)
    return median(took) * 1000
