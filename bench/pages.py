"""The pages of a large project, its hints, and its server's memory through all of it (quality, "Performance")."""

import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench.figures import Figure
from support import bulk, server
from support.server import Running
from workstead import instance

REPEATS = 5
HINTS = 100
WAIT_S = 60.0
LIMIT_PAGE_S, LIMIT_MEMORY_MB, LIMIT_HINT_MS = 1.0, 400.0, 50.0
SLUG = "large"
PROJECT = f"/projects/{SLUG}"
CARD = f"{PROJECT}/cards/{bulk.WIDE}"
PAGES = {
    "tree with 5 000 cards": PROJECT,
    "conversation of 50 000 rows": f"{CARD}/conversations/{bulk.AGENT}",
    "history of 100 000 versions": f"{CARD}/history",
    "card with 100 000 processes": f"{CARD}/processes",
}


def run() -> Iterator[Figure]:
    """One server over one large project."""
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data"
        yield from _seeded(data, Path(name) / SLUG)
        with server.running(data) as place:
            place.sign_in()
            yield from _card(place)
            for what, path in PAGES.items():
                taken_s = _page(place, path)
                yield _limit(f"page: {what}", taken_s, LIMIT_PAGE_S, unit="s")
            yield from _hints(place)
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
    """The page beside what it asks, over the control socket: the same operations, nothing rendered."""
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
    with place.control() as control:

        def ask() -> None:
            for name, given in asked:
                control.operation(name, given)

        floor_s = _taken_s(ask)
    yield Figure(
        what="page of a card with 200 children",
        ours=_page(place, CARD),
        other=floor_s,
        unit="s",
        beside="what it asks, nothing rendered",
        target="at most 4 x",
    )


def _page(place: Running, path: str) -> float:
    def get() -> None:
        with closing(HTTPConnection("127.0.0.1", place.port, timeout=WAIT_S)) as connection:
            connection.request("GET", path, headers={"Cookie": place.cookie})
            answer = connection.getresponse()
            answer.read()
            if answer.status != HTTPStatus.OK:
                raise RuntimeError(f"{path}: {answer.status}")

    return _taken_s(get)


def _taken_s(work: Callable[[], None]) -> float:
    taken: list[float] = []
    for _ in range(REPEATS):
        began_s = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began_s)
    return median(taken)


def _hints(place: Running) -> Iterator[Figure]:
    """From the answer to a change until a browser's stream tells of it; 0 when the hint came first."""
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
    with place.control() as control:
        for number in range(HINTS):
            told.clear()
            given = {"project": SLUG, "card_id": bulk.WIDE, "title": f"Title {number}"}
            control.operation("edit_card", given)
            committed_s = time.perf_counter()
            if not seen.acquire(timeout=5):
                raise RuntimeError("no hint came")
            late_ms.append(max((told[0] - committed_s) * 1000, 0.0))
            while seen.acquire(timeout=0.02):
                pass
    yield _limit("commit to page hint, p99, quiet", quantiles(late_ms, n=100)[98], LIMIT_HINT_MS, unit="ms")


def _highest_mb(place: Running) -> float:
    status = Path(f"/proc/{place.process.pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+)", status)
    assert found is not None
    return int(found[1]) / 1024
