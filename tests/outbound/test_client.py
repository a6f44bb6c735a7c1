"""The client against a real server: nothing followed, nothing repeated, every limit kept, every failure named."""

import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from workstead.outbound.calls import Head, Limits, Outgoing, Progress
from workstead.outbound.client import Client
from workstead.outbound.failures import FailureKind, OutboundError

COVERS_MODULES = ("outbound/calls.py", "outbound/failures.py", "outbound/sending.py")
pytestmark = pytest.mark.covers("K19", "W15")
QUICK = Limits(connect_s=1, inactivity_s=0.2, silence_s=0.5, deadline_s=1, answer_bytes=1000)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
OPEN = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Collected:
    """A receiver that keeps everything. says: what it thinks of each piece."""

    def __init__(self, says: Callable[[bytes], Progress] = lambda _: Progress.MEANINGFUL) -> None:
        self.head: Head | None = None
        self.body = b""
        self._says = says

    def begin(self, head: Head) -> None:
        self.head = head

    def take(self, chunk: bytes) -> Progress:
        self.body += chunk
        return self._says(chunk)


class Spoken:
    """A server that says the given pieces to each request. requests: what came. drip: repeated afterwards."""

    def __init__(self, *pieces: bytes, drip: bytes = b"", then_close: bool = False) -> None:
        self.pieces, self.drip, self.then_close = pieces, drip, then_close
        self.requests: list[bytes] = []
        self.connections = 0
        self.url = ""

    async def answer(self, stream: SocketStream) -> None:
        self.connections += 1
        try:
            async with stream:
                while True:
                    self.requests.append(await _request(stream))
                    for piece in self.pieces:
                        await stream.send(piece)
                    if self.then_close:
                        return
                    while self.drip:
                        await stream.send(self.drip)
                        await anyio.sleep(0.05)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return


async def _request(stream: SocketStream) -> bytes:
    got = b""
    while not got.endswith(b"body"):
        got += await stream.receive()
    return got


@asynccontextmanager
async def talking(server: Spoken) -> AsyncIterator[Spoken]:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    server.url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/v1"
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, server.answer)
        yield server
        group.cancel_scope.cancel()


@asynccontextmanager
async def client() -> AsyncIterator[Client]:
    made = Client()
    try:
        yield made
    finally:
        await made.aclose()


def call(url: str, limits: Limits = QUICK) -> Outgoing:
    return Outgoing(url=url, headers={"x-mine": "1"}, body=b"body", local=True, limits=limits)


async def failure(server: Spoken, receiver: Collected | None = None) -> OutboundError:
    async with talking(server), client() as made:
        with pytest.raises(OutboundError) as failed:
            await made.post(call(server.url), receiver or Collected())
    return failed.value


async def test_exact_bytes_go_out_and_the_connection_is_kept() -> None:
    """quality.md: never a client per call."""
    received = Collected()
    async with talking(Spoken(OK)) as server, client() as made:
        for _ in range(3):
            await made.post(call(server.url), received)
    assert (received.body, received.head) == (b"hello" * 3, Head(status=200, headers={"content-length": "5"}))
    assert (len(server.requests), server.connections) == (3, 1)
    head = server.requests[0].lower()
    assert head.startswith(b"post /v1 http/1.1\r\n")
    assert b"accept-encoding: identity" in head
    assert b"cookie" not in head


async def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    """A key must not follow wherever an answer points."""
    received = Collected()
    moved = b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    async with talking(Spoken(moved)) as server, client() as made:
        await made.post(call(server.url), received)
    assert received.head is not None
    assert (received.head.status, len(server.requests)) == (307, 1)


@pytest.mark.parametrize(
    ("server", "kind"),
    [
        (Spoken(), FailureKind.INACTIVITY),
        (Spoken(OPEN, b"5\r\nhello\r\n"), FailureKind.INACTIVITY),
        (Spoken(OPEN, b"5\r\nhel", then_close=True), FailureKind.CUT),
        (Spoken(then_close=True), FailureKind.CUT),
        (Spoken(b"what is this\r\n\r\n", then_close=True), FailureKind.CUT),
        (Spoken(OPEN, drip=b"5\r\nhello\r\n"), FailureKind.DEADLINE),
        (Spoken(OPEN, b"7d0\r\n" + b"x" * 2000 + b"\r\n"), FailureKind.TOO_LARGE),
        (Spoken(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx"), FailureKind.PROTOCOL),
    ],
    ids=["no head", "stall", "cut", "no answer", "no http", "endless", "large", "compressed"],
)
async def test_an_answer_that_does_not_end_well_has_a_named_failure(server: Spoken, kind: FailureKind) -> None:
    """facts/agent-clis.md 5: exactly the cases that libraries leave to us, each once."""
    found = await failure(server)
    assert found.kind is kind
    assert len(server.requests) == 1


async def test_signs_of_life_alone_do_not_keep_a_call() -> None:
    """Pings are bytes and no progress."""
    quiet = Collected(lambda _: Progress.IDLE)
    found = await failure(Spoken(OPEN, drip=b"5\r\n: hi\n\r\n"), quiet)
    assert (found.kind, "meaningful" in found.message) == (FailureKind.INACTIVITY, True)


async def test_nobody_at_the_address_is_no_sent_call() -> None:
    """So that it is known that nothing arrived."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with client() as made:
        with pytest.raises(OutboundError) as failed:
            await made.post(call(f"http://127.0.0.1:{port}"), Collected())
    assert (failed.value.kind, failed.value.sent) == (FailureKind.CONNECT, False)


async def test_a_receiver_that_has_enough_ends_the_call_while_the_server_goes_on() -> None:
    """The end mark ends an answer, not the connection."""
    async with talking(Spoken(OPEN, drip=b"5\r\nhello\r\n")) as server, client() as made:
        received = Collected(lambda _: Progress.ENOUGH)
        await made.post(call(server.url), received)
    assert received.body == b"hello"


async def test_a_cancelled_call_lets_go_of_its_connection() -> None:
    """Stop ends active requests."""
    async with talking(Spoken(OPEN, drip=b"5\r\nhello\r\n")) as server, client() as made:
        with anyio.move_on_after(0.1) as scope:
            await made.post(call(server.url), Collected())
        assert scope.cancelled_caught
        server.drip, server.pieces = b"", (OK,)
        await made.post(call(server.url), Collected())
    assert server.connections == 2


def test_the_library_is_loaded_by_the_first_call_and_not_before() -> None:
    """quality.md, "memory idle": an instance that asks no model does not pay for the library."""
    code = "import sys, workstead.app; print('httpx2' in sys.modules, 'psycopg' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["False", "False"]
