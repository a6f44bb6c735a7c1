"""An agent's step: commits, bytes and time in a short and in a long conversation (quality, "agent step")."""

import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import anyio

from agents import desk
from bench.figures import Figure
from support import instance, wal
from workstead.agents import conversations
from workstead.agents.genesis import Genesis, How, Strategy

SIZES = (100, 50_000)
_SENT_ROWS = 650  # of 600 bytes: what of a long past is still sent, about 100 000 tokens
STEPS = 60

_FILL = """
WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < :last)
INSERT INTO conversation_row SELECT conversation_id, i, segment, CASE i % 50 WHEN 1 THEN kind ELSE 'text' END, role, at,
    activation_id, NULL, NULL, NULL, '{"text":"' || hex(zeroblob(300)) || '"}' FROM n, conversation_row WHERE number = 1
"""


@dataclass(frozen=True, kw_only=True)
class _Cost:
    """Of one step: a model turn with one tool call. first_ms: until the first call of the model, with its history."""

    commits: float
    size_bytes: float
    taken_ms: float
    first_ms: float


def run() -> Iterator[Figure]:
    """A real turn loop with a model in this process."""
    short, long = (anyio.run(_steps, rows) for rows in SIZES)
    beside = f"the same at {SIZES[0]} rows"
    yield Figure(
        what="agent step (a model turn with one call), commits",
        ours=long.commits,
        other=5,
        unit="commits",
        beside="the budget of 3 a turn and 2 a call",
        target="at most 1 x",
    )
    for what, ours, other, unit, target in (
        ("bytes written", long.size_bytes / 1024, short.size_bytes / 1024, "KB", "flat"),
        ("time with a full window of history", long.taken_ms, short.taken_ms, "ms", ""),
        ("time to the first call at a node", long.first_ms, short.first_ms, "ms", ""),
    ):
        told = f"agent step at {SIZES[1]} rows, {what}"
        yield Figure(what=told, ours=ours, other=other, unit=unit, beside=beside, target=target)


async def _steps(rows: int) -> _Cost:
    with tempfile.TemporaryDirectory() as name, desk.opened(Path(name)) as place:
        path = place.instance.path
        with closing(sqlite3.connect(path)) as raw:
            raw.execute(_FILL, {"last": rows})
            raw.execute("UPDATE conversation SET rows = ?", (rows,))
            raw.commit()
        if rows > _SENT_ROWS:
            _shorten(place, covered=rows - _SENT_ROWS)
        began_s = time.perf_counter()
        await place.turns(desk.Model(answers=[desk.ends()])).run()
        first_ms = (time.perf_counter() - began_s) * 1000
        asked_s: list[float] = []

        async def asked() -> None:
            asked_s.append(time.perf_counter())

        model = desk.Model(answers=[*[desk.calls("a")] * STEPS, desk.ends()], before=asked)
        with wal.kept(path):
            before = wal.written(path)
            await place.turns(model, desk.tool("a")).run()
            cost = wal.written(path).since(before)
        return _Cost(
            commits=cost.commits / (STEPS + 1),
            size_bytes=cost.size_bytes / (STEPS + 1),
            taken_ms=median(later - earlier for earlier, later in pairwise(asked_s)) * 1000,
            first_ms=first_ms,
        )


def _shorten(place: desk.Desk, *, covered: int) -> None:
    """A past of this length has been shortened."""
    begins = Genesis(
        source=1, covered_through=covered, strategy=Strategy.AHEAD, how=How.SUMMARY, summary="What the rows came to."
    )
    with instance.transaction(place.instance.path) as tx:
        conversations.begin_segment(tx, place.conversation, begins.new_row(), segment=1, activation_id=desk.ACTIVATION)
