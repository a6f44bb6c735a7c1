"""The server as a process: its start, its memory, its start after a kill, and the demo (quality, "Performance")."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.figures import Figure
from workstead import instance
from workstead.doors import control_client

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "ledger"
STARTS = 3
VERSIONS = 100_000
LIMIT_START_S, LIMIT_MEMORY_MB = 2.5, 90.0
WAIT_S = 60.0

_BARE = """
import socket, sys, uvicorn
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})
listening = socket.create_server(("127.0.0.1", 0))
print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off")).run(sockets=[listening])
"""
_FILL = """
WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < :last)
INSERT INTO version SELECT document || '-' || (i % 500), i, i, at, author, change, changed, change_id, i - 1, sha256,
    body FROM n, (SELECT * FROM version WHERE number = 1 LIMIT 1)
"""


@dataclass(frozen=True, kw_only=True)
class Started:
    """A server that has answered its first page."""

    process: subprocess.Popen[str]
    first_page_s: float

    @property
    def resident_mb(self) -> float:
        """Memory it holds now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+)", status)
        assert found is not None
        return int(found[1]) / 1024


def start() -> Iterator[Figure]:
    """Start to first page, and memory at rest, beside an empty uvicorn app and the limits.

    The very first start makes the database, and what it needs for that stays in memory until the next one.
    """
    bare_s, bare_mb, _ = _measured([sys.executable, "-c", _BARE], path="/")
    ours_s, first_mb, later_mb = _measured([sys.executable, "-m", "workstead.app"], path="/sign-in")
    beside = "a bare uvicorn app"
    yield Figure(what="start to first page", ours=ours_s, other=bare_s, unit="s", beside=beside)
    yield _limit("start to first page", ours_s, LIMIT_START_S, unit="s")
    yield Figure(what="memory at rest", ours=later_mb, other=bare_mb, unit="MB", beside=beside)
    yield _limit("memory at rest", later_mb, LIMIT_MEMORY_MB, unit="MB")
    yield _limit("memory at rest, on the day of the first start", first_mb, LIMIT_MEMORY_MB, unit="MB")


def recovery() -> Iterator[Figure]:
    """The start after a kill in the middle of a run, beside the start of the same data at rest."""
    with tempfile.TemporaryDirectory() as name:
        data, folder = Path(name) / "data", Path(name) / "ledger"
        shutil.copytree(EXAMPLE, folder)
        _kill_in_the_middle(data, folder)
        with closing(sqlite3.connect(data / instance.DATABASE)) as raw:
            raw.execute(_FILL, {"last": VERSIONS})
            raw.commit()
        kept = Path(name) / "kept"
        shutil.copytree(data, kept, ignore=shutil.ignore_patterns(instance.CONTROL))
        killed: list[float] = []
        rested: list[float] = []
        for _ in range(STARTS):
            shutil.rmtree(data)
            shutil.copytree(kept, data)
            for taken in (killed, rested):
                with served(data) as server:
                    taken.append(server.first_page_s)
            _require_recovered(data)
    yield Figure(
        what=f"start after a kill, {VERSIONS} versions",
        ours=median(killed),
        other=median(rested),
        unit="s",
        beside="the start of the same data at rest",
    )
    yield _limit("what the recovery adds", max(median(killed) - median(rested), 0.0), 1.0, unit="s")


def demo() -> Iterator[Figure]:
    """The demo to its end, with the commands it runs; memory is the largest of its processes."""
    began_s = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "workstead.demo", "--headless"], stdout=subprocess.DEVNULL, env=_environment()
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"the demo ended with {process.returncode}")
    yield _limit("demo, start to end", time.perf_counter() - began_s, 60.0, unit="s", target="")
    yield _limit("demo, memory at its highest", used.ru_maxrss / 1024, LIMIT_MEMORY_MB, unit="MB", target="")


@contextmanager
def served(data: Path, **environment: str) -> Iterator[Started]:
    """Our server on a data folder; ended at the end, unless it was killed."""
    with _answering([sys.executable, "-m", "workstead.app"], path="/sign-in", data=data, more=environment) as one:
        yield one


def _limit(what: str, ours: float, limit: float, *, unit: str, target: str = "at most 1 x") -> Figure:
    beside = "the limit" if target else "a minute" if unit == "s" else "the server's limit at rest"
    return Figure(what=what, ours=ours, other=limit, unit=unit, beside=beside, target=target)


def _measured(command: list[str], *, path: str) -> tuple[float, float, float]:
    """Seconds to the first page of a first start; megabytes at rest after it, and after a second one."""
    seconds: list[float] = []
    first: list[float] = []
    later: list[float] = []
    for _ in range(STARTS):
        with tempfile.TemporaryDirectory() as data:
            for megabytes in (first, later):
                with _answering(command, path=path, data=Path(data), more={}) as one:
                    if megabytes is first:
                        seconds.append(one.first_page_s)
                    time.sleep(1)  # at rest: after the isolation's self-test
                    megabytes.append(one.resident_mb)
    return median(seconds), median(first), median(later)


@contextmanager
def _answering(command: list[str], *, path: str, data: Path, more: Mapping[str, str]) -> Iterator[Started]:
    began_s = time.perf_counter()
    environment = {**_environment(), "WORKSTEAD_DATA": str(data), "WORKSTEAD_PORT": "0", **more}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            address = re.search(r"http://[^\s/]+", process.stdout.readline())
            if address is None:
                raise RuntimeError("the server did not start")
            with urllib.request.urlopen(address[0] + path, timeout=WAIT_S) as page:
                page.read()
            yield Started(process=process, first_page_s=time.perf_counter() - began_s)
        finally:
            process.terminate()


def _kill_in_the_middle(data: Path, folder: Path) -> None:
    """Run the example slowly and kill the server once an agent is at work on a child card."""
    with served(data, WORKSTEAD_PRACTICE_PACE_MS="300") as server:
        with control_client.connect(data) as control:
            given = {"folder": str(folder), "name": "ledger", "title": "Due dates", "template": "classic"}
            objective = (folder / "OBJECTIVE.md").read_text(encoding="utf-8")
            slug = control.procedure("initialise", {**given, "objective": objective})["slug"]
            found = control.operation("get_configuration", {"project": slug})
            if not found["trusted"]:
                control.operation("trust_configuration", {"project": slug, "digest": found["digest"]})
            control.operation("start_run", {"project": slug})
        _until(data, "SELECT count(*) > 1 FROM card WHERE status = 'running'")
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()


def _until(data: Path, question: str) -> None:
    ends_s = time.monotonic() + WAIT_S
    with closing(sqlite3.connect(data / instance.DATABASE)) as raw:
        while not raw.execute(question).fetchone()[0]:
            if time.monotonic() > ends_s:
                raise RuntimeError(f"never came true: {question}")
            time.sleep(0.05)


def _require_recovered(data: Path) -> None:
    with closing(sqlite3.connect(data / instance.DATABASE)) as raw:
        (left,) = raw.execute("SELECT count(*) FROM card WHERE status = 'running'").fetchone()
        ended = {ending for (ending,) in raw.execute("SELECT ending FROM run")}
    if left or ended != {"interrupted"}:
        raise RuntimeError(f"not recovered: {left} cards run, {ended}")


def _environment() -> dict[str, str]:
    # Started servers keep their byte code, as every start of an installed program but its first has it.
    left_out = ("WORKSTEAD_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return {**kept, "PYTHONPATH": str(ROOT / "src")}
