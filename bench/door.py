"""The MCP door: calls a second beside the SDK's own endpoint and the floors, and what a write through it costs."""

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import anyio
import orjson
from anyio.abc import SocketAttribute, SocketStream

from bench import documents, door_servers
from bench.figures import Figure
from bench.kernel import opened
from workstead.kernel.operations import Door

ERAS = ("2025-11-25", "2026-07-28")
TOOLS = (5, 60, 500)
TARGETS = {("2025-11-25", 60): "at least 3 x", ("2026-07-28", 60): "at least 1.2 x"}
_CONCURRENT, _ROUNDS, _ROUND_S = 8, 5, 0.8
_WRITES = 200
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A server that lives."""

    kind: str
    process: subprocess.Popen[str]
    port: int
    token: str

    def cpu_s(self) -> float:
        """Processor time it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What a server did. cpu_us: its processor time for one call."""

    rate: float
    cpu_us: float


def run() -> Iterator[Figure]:
    """Every figure of the door."""
    for tools in TOOLS:
        yield from _beside_the_sdk(tools)
    yield from _floors()
    yield _write()


def _beside_the_sdk(tools: int) -> Iterator[Figure]:
    with _serving("ours", tools) as ours, _serving("stock", tools) as stock:
        for era in ERAS:
            mine, other = _by_turns((ours, stock), era)
            what = f"read through the door, {tools} tools, {era}"
            beside = "the SDK's endpoint"
            target = TARGETS.get((era, tools), "")
            yield Figure(what=what, ours=mine.rate, other=other.rate, unit="/s", beside=beside, target=target)
            yield Figure(what=f"{what}, CPU", ours=mine.cpu_us, other=other.cpu_us, unit="us", beside=beside)


def _floors() -> Iterator[Figure]:
    kinds = ("ours", "rest", "starlette", "floor")
    with ExitStack() as living:
        peers = tuple(living.enter_context(_serving(kind, 60)) for kind in kinds)
        mine, *others = _by_turns(peers, ERAS[0])
    for beside, other in zip(("our API", "a bare Starlette handler", "bare ASGI"), others, strict=True):
        what = "read through the door, 60 tools"
        target = "at least 0.7 x" if beside == "our API" else ""
        yield Figure(what=what, ours=mine.rate, other=other.rate, unit="/s", beside=beside, target=target)
        yield Figure(what=f"{what}, CPU", ours=mine.cpu_us, other=other.cpu_us, unit="us", beside=beside)


def _write() -> Figure:
    """Writes one after the other, beside the same write in its process and a read through the door."""
    with _serving("ours", 60) as peer:
        through_ms = anyio.run(_latency_ms, peer, _edits())
        read_ms = anyio.run(_latency_ms, peer, itertools.repeat(_call(ERAS[0], peer)))
    with tempfile.TemporaryDirectory() as folder:
        kernel_ms = anyio.run(_kernel_write_ms, Path(folder) / "kernel.sqlite3")
    return Figure(
        what="write through the door",
        ours=through_ms,
        other=kernel_ms + read_ms,
        unit="ms",
        beside="kernel write with its hop + read through the door",
        target="at most 1.2 x",
    )


def _edits() -> Iterator[Callable[[Peer], bytes]]:
    for number in itertools.count():
        yield lambda peer, number=number: _message(  # type: ignore[misc]
            peer, ERAS[0], door_servers.WRITE, {"document": "d", "text": f"{number} {'x' * 2000}"}
        )


async def _kernel_write_ms(path: Path) -> float:
    proof = documents.seed(path)
    taken: list[float] = []
    with opened(path) as (store, operations):
        for number in range(_WRITES):
            given = {"document": "d", "text": f"{number} {'x' * 2000}"}
            began_s = time.perf_counter()
            await operations.run(proof, "edit_document", given, door=Door.REST)
            taken.append((time.perf_counter() - began_s) * 1000)
        store.close()
    return median(taken)


def _by_turns(peers: tuple[Peer, ...], era: str) -> tuple[Taken, ...]:
    """Every server in every round, so that what else the machine does falls on all of them."""
    rounds: list[list[Taken]] = [[] for _ in peers]
    for peer in peers:
        _loaded(peer, era, 0.3)
    for _ in range(_ROUNDS):
        for peer, kept in zip(peers, rounds, strict=True):
            kept.append(_loaded(peer, era, _ROUND_S))
    return tuple(
        Taken(rate=median(each.rate for each in kept), cpu_us=median(each.cpu_us for each in kept)) for kept in rounds
    )


def _loaded(peer: Peer, era: str, lasts_s: float) -> Taken:
    return anyio.run(_load, peer, era, lasts_s, backend_options={"use_uvloop": True})


async def _load(peer: Peer, era: str, lasts_s: float) -> Taken:
    sent = 0
    message = _asked(peer) if peer.kind == "rest" else _read(peer, era)
    used_s, began_s = peer.cpu_s(), time.perf_counter()
    ends_s = began_s + lasts_s

    async def client() -> None:
        nonlocal sent
        async with await anyio.connect_tcp("127.0.0.1", peer.port) as stream:
            while time.perf_counter() < ends_s:
                await _exchange(stream, message)
                sent += 1

    async with anyio.create_task_group() as group:
        for _ in range(_CONCURRENT):
            group.start_soon(client)
    took_s = time.perf_counter() - began_s
    return Taken(rate=sent / took_s, cpu_us=(peer.cpu_s() - used_s) * 1e6 / sent)


async def _latency_ms(peer: Peer, messages: Iterator[Callable[[Peer], bytes]]) -> float:
    taken: list[float] = []
    async with await anyio.connect_tcp("127.0.0.1", peer.port) as stream:
        for make in itertools.islice(messages, _WRITES):
            message = make(peer)
            began_s = time.perf_counter()
            await _exchange(stream, message)
            taken.append((time.perf_counter() - began_s) * 1000)
    return median(taken)


async def _exchange(stream: SocketStream, message: bytes) -> None:
    """One request and its whole answer; an answer that is no result ends the benchmark."""
    raw = stream.extra(SocketAttribute.raw_socket)
    assert raw is not None
    await stream.send(message)
    got = await stream.receive()
    while True:
        head, found, body = got.partition(b"\r\n\r\n")
        if found:
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            if len(body) >= length:
                break
        got += await stream.receive()
    if not head.startswith(b"HTTP/1.1 200") or b'"revision"' not in body or b'"isError":true' in body:
        raise RuntimeError(f"not a result: {got[:500]!r}")


def _call(era: str, peer: Peer) -> Callable[[Peer], bytes]:
    message = _read(peer, era)
    return lambda _: message


def _asked(peer: Peer) -> bytes:
    """The read as a request to the API."""
    return (
        f"GET /api/documents/{door_servers.DOCUMENT}/{door_servers.READ} HTTP/1.1\r\nHost: 127.0.0.1:{peer.port}\r\n"
        f"Authorization: Bearer {peer.token}\r\nAccept: application/json\r\n\r\n"
    ).encode()


def _read(peer: Peer, era: str) -> bytes:
    return _message(peer, era, door_servers.READ, {"document": door_servers.DOCUMENT})


def _message(peer: Peer, era: str, tool: str, arguments: dict[str, object]) -> bytes:
    params: dict[str, object] = {"name": tool, "arguments": arguments}
    more = ""
    if era == ERAS[1]:
        meta = {"protocolVersion": era, "clientCapabilities": {}}
        params["_meta"] = {f"io.modelcontextprotocol/{key}": value for key, value in meta.items()}
        more = f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{peer.port}\r\nAuthorization: Bearer {peer.token}\r\n"
        f"MCP-Protocol-Version: {era}\r\n{more}Content-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@contextmanager
def _serving(kind: str, tools: int) -> Iterator[Peer]:
    command = [sys.executable, "-m", "bench.door_servers", kind, str(tools)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            address, _, token = process.stdout.readline().strip().partition(" ")
            if not address:
                raise RuntimeError(f"the server {kind!r} did not start")
            port = urlsplit(address).port
            assert port is not None
            yield Peer(kind=kind, process=process, port=port, token=token)
        finally:
            process.terminate()
