"""The pages of a large project, its hints, and its server's memory through all of it (quality, "Performance")."""

import os
import re
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench.figures import Figure
from support import bulk, server
from support.server import Running
from workstead import catalogue, instance
from workstead.accounts import authority
from workstead.clock import SystemClock
from workstead.kernel import operations
from workstead.kernel.access import ControlProof
from workstead.kernel.store import Connection
from workstead.kernel.transaction import Tx

REPEATS = 5
HINTS = 100
AGENTS, PACE_MS = 8, 150
WAIT_S = 60.0
LIMIT_PAGE_S, LIMIT_MEMORY_MB, LIMIT_HINT_MS = 1.0, 400.0, 50.0
LIMIT_BUSY_HINT_MS, LIMIT_MIXED_MS, LIMIT_LAG_MS = 200.0, 50.0, 20.0
PAGE_EACH_S, PROBE_EACH_S = 1.0, 0.01
EXAMPLE = Path(__file__).parent.parent / "examples" / "ledger"
SLUG = "large"
PROJECT = f"/projects/{SLUG}"
CARD = f"{PROJECT}/cards/{bulk.WIDE}"
PAGES = {
    "tree with 5 000 cards": PROJECT,
    "conversation of 50 000 rows": f"{CARD}/conversations/{bulk.AGENT}",
    "history of 100 000 versions": f"{CARD}/history",
    "commands of a card with a hundred": f"{CARD}-a/processes",
}


def run() -> Iterator[Figure]:
    """One server over one large project."""
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data"
        yield from _seeded(data, Path(name) / SLUG)
        with server.running(data, WORKSTEAD_PRACTICE_PACE_MS=str(PACE_MS)) as place:
            place.sign_in()
            yield from _card(place)
            for what, path in PAGES.items():
                taken_s = _page(place, path)
                yield _limit(f"page: {what}", taken_s, LIMIT_PAGE_S, unit="s")
            yield from _hints(place)
            yield from _mixed(place, Path(name))
            yield _limit("memory at its highest, through all of it", _highest_mb(place), LIMIT_MEMORY_MB, unit="MB")


def _limit(what: str, ours: float, limit: float, *, unit: str) -> Figure:
    return Figure(what=what, ours=ours, other=limit, unit=unit, beside="the limit", target="at most 1 x")


def _seeded(data: Path, folder: Path) -> Iterator[Figure]:
    folder.mkdir()
    with server.running(data) as place:
        with place.control() as control:
            given = {"folder": str(folder), "name": SLUG, "title": SLUG, "template": "classic", "objective": "Much."}
            control.procedure("initialise", given)
            card = {"parent": "project", "type": "goal", "title": "Wide", "bootstrap_content": "Do."}
            control.operation("create_card", {"project": SLUG, **card})
        place.stop()
    began_s = time.perf_counter()
    bulk.fill(data / instance.DATABASE, bulk.Size())
    yield _limit("seeding the large project", time.perf_counter() - began_s, 60.0, unit="s")


def _card(place: Running) -> Iterator[Figure]:
    """The page beside what it asks: over the control socket, and on a bare connection in this process."""
    of = {"project": SLUG, "card_id": bulk.WIDE}
    asked: tuple[tuple[str, dict[str, Any]], ...] = (
        ("get_card", of),
        ("get_project", {"project": SLUG}),
        ("list_records", of),
        ("read_record", {**of, "name": "brief.md"}),
        ("list_conversations", of),
        ("get_card", {**of, "section": "dependencies"}),
        ("get_card", {**of, "section": "children"}),
        ("list_processes", of),
        ("list_activations", of),
        ("list_timeline", of),
    )
    page_s = _page(place, CARD)
    with place.control() as control:

        def ask() -> None:
            for name, given in asked:
                control.operation(name, given)

        yield _beside(page_s, _taken_s(ask), beside="what it asks, over the control socket")
    table = {one.name: one for one in catalogue.operations_table(data_folder=place.data)}
    with closing(sqlite3.connect(place.data / instance.DATABASE, isolation_level=None)) as raw:

        def read() -> None:
            raw.execute("BEGIN")
            tx = Tx(Connection(raw), clock=SystemClock())
            for name, given in asked:
                one = table[name]
                args = operations.checked(one.input, given)
                one.handler(tx, authority.read(tx, ControlProof(uid=os.geteuid()), one.lock(tx, args)), args)
            raw.execute("COMMIT")

        yield _beside(page_s, _taken_s(read), beside="the same queries on a bare connection")


def _beside(page_s: float, floor_s: float, *, beside: str) -> Figure:
    what, target = "page of a card with 200 children", "at most 4 x"
    return Figure(what=what, ours=page_s, other=floor_s, unit="s", beside=beside, target=target)


def _page(place: Running, path: str, *, repeats: int = REPEATS) -> float:
    def get() -> None:
        with closing(HTTPConnection("127.0.0.1", place.port, timeout=WAIT_S)) as connection:
            connection.request("GET", path, headers={"Cookie": place.cookie})
            answer = connection.getresponse()
            answer.read()
            if answer.status != HTTPStatus.OK:
                raise RuntimeError(f"{path}: {answer.status}")

    return _taken_s(get, repeats=repeats)


def _taken_s(work: Callable[[], None], *, repeats: int = REPEATS) -> float:
    taken: list[float] = []
    for _ in range(repeats):
        began_s = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began_s)
    return median(taken)


def _hints(place: Running) -> Iterator[Figure]:
    found = _watched(place)
    yield _limit("commit to page hint, p99, quiet", _p99(found.hints_ms), LIMIT_HINT_MS, unit="ms")
    yield from found.figures("no agents")


def _mixed(place: Running, base: Path) -> Iterator[Figure]:
    """The same while eight practice agents work in projects of their own and somebody opens the large one's page."""
    with place.control() as control:
        for number in range(AGENTS):
            name = f"ledger{number}"
            shutil.copytree(EXAMPLE, base / name)
            objective = (EXAMPLE / "OBJECTIVE.md").read_text(encoding="utf-8")
            given = {"folder": str(base / name), "name": name, "title": "Due dates", "template": "classic"}
            control.procedure("initialise", {**given, "objective": objective})
            control.operation("start_run", {"project": name})
    found = _watched(place)
    with place.control() as control:
        live = sum(
            control.operation("get_run", {"project": f"ledger{number}"})["ended_at"] is None for number in range(AGENTS)
        )
    if live < AGENTS:
        raise RuntimeError(f"only {live} of {AGENTS} runs still lived at the end")
    yield _limit("commit to page hint, p99, eight agents", _p99(found.hints_ms), LIMIT_BUSY_HINT_MS, unit="ms")
    yield from found.figures("eight agents")


@dataclass(frozen=True, kw_only=True)
class _Watched:
    """What a while of edits, pages and probes showed, in milliseconds each; seconds of processor time in it.

    lags_ms: of an answer from memory, which waits for the loop alone. waited_s: how long the server's loop thread was
    ready and had no core, which is the machine's doing and not the server's.
    """

    hints_ms: list[float]
    writes_ms: list[float]
    reads_ms: list[float]
    lags_ms: list[float]
    wall_s: float
    loop_s: float
    waited_s: float
    server_s: float
    commands_s: float

    def figures(self, when: str) -> Iterator[Figure]:
        """Beside the targets of a mixed load."""
        for what, taken, limit in (
            ("an edit over the control socket", self.writes_ms, LIMIT_MIXED_MS),
            ("the large project's page", self.reads_ms, LIMIT_MIXED_MS),
            ("an answer from memory", self.lags_ms, LIMIT_LAG_MS),
        ):
            yield _limit(f"{what}, p50, {when}", median(taken), limit, unit="ms")
            yield _limit(f"{what}, p99, {when}", _p99(taken), limit, unit="ms")
        yield self._share(f"the loop thread without a core, {when}", self.waited_s)
        yield self._share(f"the loop thread at work, {when}", self.loop_s)
        yield self._share(f"the server's processor time, {when}", self.server_s)
        yield self._share(f"the ended commands' processor time, {when}", self.commands_s)
        yield self._share(f"load of the machine in the last minute, {when}", os.getloadavg()[0] * self.wall_s)

    def _share(self, what: str, taken_s: float) -> Figure:
        return Figure(what=what, ours=taken_s, other=self.wall_s, unit="s", beside="one core in that time")


def _watched(place: Running) -> _Watched:
    """Edits one after the other, beside whoever opens the large project's page and whoever probes the loop."""
    reads_ms: list[float] = []
    lags_ms: list[float] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.wait(PAGE_EACH_S):
            reads_ms.append(_page(place, PROJECT, repeats=1) * 1000)

    def probe() -> None:
        while not ended.wait(PROBE_EACH_S):
            lags_ms.append(_page(place, "/health", repeats=1) * 1000)

    watchers = [threading.Thread(target=each, daemon=True) for each in (read, probe)]
    began_s, before = time.perf_counter(), _times_s(place)
    for watcher in watchers:
        watcher.start()
    hints_ms, writes_ms = _edits(place, HINTS)
    while len(reads_ms) < 2:  # a quiet machine is done with the edits before two pages were due
        time.sleep(PROBE_EACH_S)
    ended.set()
    for watcher in watchers:
        watcher.join()
    loop_s, waited_s, server_s, commands_s = (now - then for now, then in zip(_times_s(place), before, strict=True))
    return _Watched(
        hints_ms=hints_ms,
        writes_ms=writes_ms,
        reads_ms=reads_ms,
        lags_ms=lags_ms,
        wall_s=time.perf_counter() - began_s,
        loop_s=loop_s,
        waited_s=waited_s,
        server_s=server_s,
        commands_s=commands_s,
    )


def _times_s(place: Running) -> tuple[float, float, float, float]:
    """So far: the loop thread on a core, and ready without one; the server's time, and its ended children's."""
    own = Path(f"/proc/{place.process.pid}")
    at_work, waited = (int(part) / 1e9 for part in (own / "schedstat").read_text(encoding="ascii").split()[:2])
    fields = (own / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    ticks = [int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15]]
    return at_work, waited, ticks[0] + ticks[1], ticks[2] + ticks[3]


def _p99(taken: list[float]) -> float:
    return quantiles(taken, n=100, method="inclusive")[98]  # pages are few: never beyond the longest


def _edits(place: Running, count: int) -> tuple[list[float], list[float]]:
    """Milliseconds from an edit's answer until a stream tells of it (0 when that came first), and of the edits."""
    seen = threading.Semaphore(0)
    connection = HTTPConnection("127.0.0.1", place.port, timeout=WAIT_S)
    connection.request("GET", f"/live?topic=projects/{SLUG}", headers={"Cookie": place.cookie})
    stream = connection.getresponse()
    told: list[float] = []

    def follow() -> None:
        for line in stream:
            if line.startswith(b"event: changed"):
                told.append(time.perf_counter())
                seen.release()

    threading.Thread(target=follow, daemon=True).start()
    late_ms: list[float] = []
    writes_ms: list[float] = []
    with place.control() as control:
        for _number in range(count):
            told.clear()
            began_s = time.perf_counter()
            given = {"project": SLUG, "card_id": bulk.WIDE, "title": f"Title {time.monotonic_ns()}"}
            control.operation("edit_card", given)
            committed_s = time.perf_counter()
            writes_ms.append((committed_s - began_s) * 1000)
            if not seen.acquire(timeout=5):
                raise RuntimeError("no hint came")
            late_ms.append(max((told[0] - committed_s) * 1000, 0.0))
            while seen.acquire(timeout=0.02):
                pass
    return late_ms, writes_ms


def _highest_mb(place: Running) -> float:
    status = Path(f"/proc/{place.process.pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+)", status)
    assert found is not None
    return int(found[1]) / 1024
