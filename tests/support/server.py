"""Builders: the real server as a process of its own, a small HTTP client, and the real command line."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from workstead import instance
from workstead.doors import control_client
from workstead.doors.control_client import Server

WAIT_S = 60.0  # for a start, or a whole run, on a busy machine; everything else is bounded by five seconds
SOURCE = Path(__file__).parents[2] / "src"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An HTTP answer. headers: names in small letters; of a repeated one the last."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


@dataclass(kw_only=True)
class Running:
    """A server that lives. link: the sign-in link it printed."""

    data: Path
    process: subprocess.Popen[str]
    link: str
    port: int
    cookie: str = ""
    said: list[str] = field(default_factory=list)

    @property
    def origin(self) -> str:
        """What its own pages send as their origin."""
        return f"http://127.0.0.1:{self.port}"

    def control(self) -> Server:
        """A conversation over the control socket."""
        return control_client.connect(self.data)

    def fresh_link(self) -> str:
        """The secret of a new sign-in link."""
        with self.control() as server:
            return secret_of(server.ask({"sign_in_link": True})["link"])

    def get(self, path: str, **headers: str) -> Answer:
        """GET a page."""
        return self.request("GET", path, headers=headers)

    def post(self, path: str, form: Mapping[str, str], **headers: str) -> Answer:
        """Send a form as one of our own pages does."""
        sent = {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"} | headers
        return self.request("POST", path, body=urllib.parse.urlencode(form).encode(), headers=sent)

    def request(self, method: str, path: str, *, body: bytes | None = None, headers: Mapping[str, str]) -> Answer:
        """One request with the cookie of this browser."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            sent.setdefault("Cookie", self.cookie)
        try:
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(status=answer.status, headers=found, body=answer.read())
        finally:
            connection.close()

    def sign_in(self) -> None:
        """Spend a fresh link and keep the cookie."""
        answer = self.post("/sign-in", {"link": self.fresh_link()})
        assert answer.status == 303, answer.text
        self.cookie = answer.headers["set-cookie"].partition(";")[0]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End the server and return its exit code."""
        self.process.send_signal(how)
        return self.process.wait(timeout=5)


def environment(data: Path, **settings: str) -> dict[str, str]:
    """The environment of a server of its own: nothing of ours is taken over."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("WORKSTEAD_")}
    fixed = {"WORKSTEAD_DATA": str(data), "WORKSTEAD_PORT": "0", "WORKSTEAD_DURABILITY": "normal"}
    return ours | fixed | {"PYTHONPATH": str(SOURCE)} | settings


@contextmanager
def running(data: Path, *, arguments: tuple[str, ...] = (), **settings: str) -> Iterator[Running]:
    """`workstead up` as a process, ready; ended when the block ends, if it still lives."""
    data.parent.mkdir(parents=True, exist_ok=True)
    log = data.with_name(f"{data.name}.log")
    with log.open("ab") as err:
        process = subprocess.Popen(
            [*COMMAND, "up", *arguments],
            env=environment(data, **settings),
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
        )
    try:
        yield _ready(data, process, log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=5)
        if process.stdout is not None:
            process.stdout.close()


COMMAND = (sys.executable, "-c", "import sys; sys.argv[0] = 'workstead'; from workstead.cli import main; main()")


def cli(
    data: Path, *arguments: str, cwd: Path | None = None, given: str | None = None, **settings: str
) -> subprocess.CompletedProcess[str]:
    """One command of the command line, to its end. given: what stands on its standard input."""
    return _run([*COMMAND, *arguments], env=environment(data, **settings), cwd=cwd, given=given or "")


def python(data: Path, script: str) -> subprocess.CompletedProcess[str]:
    """A few lines in an interpreter of their own."""
    return _run([sys.executable, "-c", script], env=environment(data), cwd=None)


def _run(
    command: list[str], *, env: dict[str, str], cwd: Path | None, given: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
        input=given,
    )


def raw_control(data: Path) -> socket.socket:
    """A bare connection to the control socket."""
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.settimeout(5)
    with instance.control_address(data) as address:
        connected.connect(address)
    return connected


def say(connected: socket.socket, line: bytes) -> dict[str, object]:
    """Send one line, and read the one that answers."""
    connected.sendall(line + b"\n")
    with connected.makefile("rb") as lines:
        value: dict[str, object] = json.loads(lines.readline())
        return value


def secret_of(link: str) -> str:
    """The secret in a sign-in link."""
    return urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["link"][0]


def _ready(data: Path, process: subprocess.Popen[str], log: Path) -> Running:
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        said.append(line)
        found = re.search(r"(http://127\.0\.0\.1:(\d+)/sign-in\?link=\S+)", line)
        if found:
            return Running(data=data, process=process, link=found[1], port=int(found[2]), said=said)
    raise AssertionError(f"the server did not start: {''.join(said)}{log.read_text(encoding='utf-8')}")
