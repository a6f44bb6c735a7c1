"""Streaming: from the first word that a provider sends until a page that watches the conversation has it."""

import json
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles

from bench.figures import Figure
from support import server, talking
from support.server import Running
from support.talking import NAME

ANSWERS = 120
LIMIT_MS = 50.0
WAIT_S = 60.0
PLACE = "project/planner"


def run() -> Iterator[Figure]:
    """The first word of each of many answers."""
    with tempfile.TemporaryDirectory() as name, _provider() as provider, server.running(Path(name) / "data") as place:
        place.sign_in()
        _begin(place, Path(name) / NAME, url=f"http://127.0.0.1:{provider.server_port}/v1")
        late_ms = _watched(place, provider)
        with place.control() as control:
            control.operation("stop_run", {"project": NAME})
    for what, taken in (("median", median(late_ms)), ("p99", quantiles(late_ms, n=100)[98])):
        yield Figure(
            what=f"first streamed words relayed to a page, {what} of {len(late_ms)}",
            ours=taken,
            other=LIMIT_MS,
            unit="ms",
            beside="the limit",
            target="at most 1 x",
        )


def _watched(place: Running, provider: "_Provider") -> list[float]:
    """Milliseconds from a word's sending to its arrival, for each answer that was seen."""
    connection = HTTPConnection("127.0.0.1", place.port, timeout=WAIT_S)
    connection.request("GET", f"/live?topic=projects/{NAME}&writing={PLACE}", headers={"Cookie": place.cookie})
    provider.watched.set()
    seen: dict[str, float] = {}
    late_ms: list[float] = []
    for line in connection.getresponse():
        if not line.startswith(b"data: ") or b'"text"' not in line:
            continue
        at = time.perf_counter()
        text = json.loads(line[6:])["text"]
        number = text.partition(".")[0].rpartition(" ")[2]
        if number in provider.sent and number not in seen:
            seen[number] = at
            late_ms.append((at - provider.sent[number]) * 1000)
        if len(late_ms) == ANSWERS:
            return late_ms
    raise RuntimeError("the stream ended before the answers")


def _begin(place: Running, folder: Path, *, url: str) -> None:
    talking.configure(folder, talking.chosen(url))
    talking.found(place, folder)
    with place.control() as control:
        control.operation("start_run", {"project": NAME})


class _Provider(ThreadingHTTPServer):
    """Answers each request with a few words and a call; knows when the words of each were sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.watched = threading.Event()
        self.sent: dict[str, float] = {}

    def handle_error(self, request: object, client_address: object) -> None:
        """A server that was told to stop is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Provider

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Nothing."""

    def do_POST(self) -> None:
        """Words, a pause in which a page shows them, a call."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.watched.wait(WAIT_S)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        number = str(len(self.server.sent))
        time.sleep(0.05)
        self.server.sent[number] = time.perf_counter()
        self._say({"content": f"This is answer {number}. More of it follows in a moment, "})
        time.sleep(0.15)
        call = {"index": 0, "id": f"c{number}", "function": {"name": "glob", "arguments": '{"pattern": "*"}'}}
        self._say({"tool_calls": [call]})
        self._say({}, finish="tool_calls")
        self._write(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _say(self, delta: dict[str, object], *, finish: str | None = None) -> None:
        chunk = {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        self._write(f"data: {json.dumps(chunk)}\n\n".encode())

    def _write(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


@contextmanager
def _provider() -> Iterator[_Provider]:
    made = _Provider()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.watched.set()
        made.shutdown()
        made.server_close()
