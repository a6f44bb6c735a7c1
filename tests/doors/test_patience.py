"""Slow and endless clients: nobody holds the server up, and each is let go in time (quality.md, "Bad input")."""

import asyncio
import resource
import socket
import time
from asyncio import Transport
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import anyio.lowlevel
import pytest

from support import door, server
from support.server import Running
from workstead.doors import patience
from workstead.doors.patience import Joined

CLIENTS = 1_000
GROWTH_MOST_BYTES = 96 << 20
ANSWER_MOST_S = 2.0


@pytest.fixture
def calm(tmp_path: Path) -> Iterator[Running]:
    """A server of its own, whose memory can be looked at."""
    with server.running(tmp_path / "data") as live:
        yield live


def memory_bytes(live: Running) -> int:
    """Resident memory of the server."""
    pages = int(Path(f"/proc/{live.process.pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def connected(live: Running) -> socket.socket:
    """A bare connection."""
    made = socket.create_connection(("127.0.0.1", live.port), timeout=5)
    made.settimeout(0)
    return made


def drip(clients: list[tuple[socket.socket, bytes]], turn: int) -> int:
    """Send each client's next byte; how many connections still take one."""
    open_still = 0
    for one, text in clients:
        try:
            one.send(text[turn % len(text) :][:1] or b"a")
            open_still += 1
        except OSError:
            continue
    return open_still


@pytest.mark.covers("D01", "K16")
def test_a_thousand_clients_that_drip_bytes_hold_nobody_up_and_are_let_go(calm: Running) -> None:
    """Issue: slow clients; the others are answered, memory is bounded, and the slow ones end after ten seconds."""
    patience.make_room()  # this process has a thousand connections too
    token = door.token_of(calm, "steady")
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{calm.port}\r\nX-Slow: "
    whole = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{calm.port}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    )
    assert door.ask(calm, token, "tools/list").status == 200
    before = memory_bytes(calm)
    with ExitStack() as stack:
        clients: list[tuple[socket.socket, bytes]] = []
        for number in range(CLIENTS):
            one = stack.enter_context(connected(calm))
            begin, goes_on = (head, b"a") if number % 3 else (whole, b" ")
            one.send(begin.encode())
            clients.append((one, goes_on))
        began_s = time.monotonic()
        slowest_s = 0.0
        turn = 0
        while drip(clients, turn) and time.monotonic() - began_s < 25:
            turn += 1
            at_s = time.monotonic()
            assert door.ask(calm, token, "ping").status == 200
            slowest_s = max(slowest_s, time.monotonic() - at_s)
            assert memory_bytes(calm) - before < GROWTH_MOST_BYTES
            time.sleep(0.2)
        lasted_s = time.monotonic() - began_s
        told = clients[0][0].recv(1000)
    assert told.startswith(b"HTTP/1.1 408 ")
    assert b"did not come within 10 s" in told
    assert slowest_s < ANSWER_MOST_S
    assert 5 < lasted_s < 23
    assert door.ask(calm, token, "ping").status == 200


class Way:
    """Where a connection's bytes go out; keeps what each write brought."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.ended = ""

    def write(self, data: bytes) -> None:
        """Keep it."""
        self.written.append(data)

    def close(self) -> None:
        """Remember that it was closed."""
        self.ended = "closed"

    def abort(self) -> None:
        """Remember that it was cut."""
        self.ended = "aborted"


@pytest.mark.anyio
async def test_what_is_written_in_one_turn_leaves_in_one_piece() -> None:
    """A head and its body; the next turn's text goes by itself, and a long text does not wait for the turn's end."""
    way = Way()
    joined = Joined(cast("Transport", way), asyncio.get_running_loop())
    joined.write(b"head ")
    joined.write(b"body")
    assert way.written == []
    await anyio.lowlevel.checkpoint()
    assert way.written == [b"head body"]
    joined.write(b"event")
    await anyio.lowlevel.checkpoint()
    assert way.written == [b"head body", b"event"]
    joined.write(b"x" * 20_000)
    assert way.written[2:] == [b"x" * 20_000]
    joined.write(b"last")
    joined.close()
    assert (way.written[3:], way.ended) == ([b"last"], "closed")


@pytest.mark.anyio
async def test_what_is_held_is_not_written_after_a_connection_was_cut() -> None:
    """The way out is gone."""
    way = Way()
    joined = Joined(cast("Transport", way), asyncio.get_running_loop())
    joined.write(b"lost")
    joined.abort()
    await anyio.lowlevel.checkpoint()
    assert (way.written, way.ended) == ([], "aborted")


@pytest.mark.covers("D01")
def test_a_head_without_end_is_cut_off(live: Running) -> None:
    """Header lines are kept until the last has come; so many are not."""
    with socket.create_connection(("127.0.0.1", live.port), timeout=5) as one:
        one.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{live.port}\r\n".encode())
        answer = b""
        try:
            for number in range(200):
                one.sendall(f"X-{number}: {'a' * 1000}\r\n".encode())
        except OSError:
            pass
        try:
            answer = one.recv(1000)
        except ConnectionResetError:
            return  # what was sent past the limit makes the answer unreadable
    assert answer.startswith(b"HTTP/1.1 431 ")


def test_a_connection_may_be_used_again_and_again(live: Running, browser: Running) -> None:
    """What is counted for one request is not held against the next."""
    del browser
    text = f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{live.port}\r\nAccept: text/html\r\nX-Long: {'a' * 30_000}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", live.port), timeout=5) as one:
        for _ in range(4):
            one.sendall(text.encode())
            assert one.recv(12) == b"HTTP/1.1 200"
            rest = b""
            while b"</html>" not in rest:
                rest += one.recv(65536)
