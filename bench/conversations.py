"""A conversation of 2000 turns over a real wire: what its last steps cost beside its first."""

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import anyio
from structlog.testing import capture_logs

from agents import desk
from agents.test_long_conversations import WINDOW_TOKENS, Gardener, protected, walk
from bench.figures import Figure
from support import wal
from support.model_server import Asked, Reply
from workstead.agents.conversations import RowKind

TURNS = 2000
_WINDOW = 200  # turns that are compared


@dataclass(kw_only=True)
class _Watched:
    """The gardener with what was written and what time it was at each of its turns."""

    path: Path
    gardener: Gardener
    written: list[int] = field(default_factory=list)
    at_s: list[float] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Reply:
        """Note, then answer."""
        before = self.gardener.said
        reply = self.gardener(asked)
        if self.gardener.said > before:
            self.at_s.append(time.perf_counter())
            if before % _WINDOW == 0:
                self.written.append(wal.written(self.path).size_bytes)
        return reply


def run() -> Iterator[Figure]:
    """Every figure of conversations."""
    yield from anyio.run(_walked)


async def _walked() -> list[Figure]:
    gardener = Gardener(turns=TURNS)
    with tempfile.TemporaryDirectory() as name, desk.opened(Path(name), window_tokens=WINDOW_TOKENS) as place:
        protected(place)
        watched = _Watched(path=place.instance.path, gardener=gardener)
        with wal.kept(place.instance.path), capture_logs():
            await walk(place, watched, "messages")
        segments = sum(row.kind is RowKind.SEGMENT for row in place.rows())
    if gardener.wrong:
        raise AssertionError(gardener.wrong[:3])
    steps = [later - earlier for earlier, later in zip(watched.at_s, watched.at_s[1:], strict=False)]
    grown = [later - earlier for earlier, later in zip(watched.written, watched.written[1:], strict=False)]
    beside = f"the same in turns 1 to {_WINDOW}"
    about = f"turns {TURNS - _WINDOW} to {TURNS}, {segments} segments"
    return [
        Figure(
            what=f"{about}: bytes written per turn",
            ours=grown[-1] / _WINDOW / 1024,
            other=grown[0] / _WINDOW / 1024,
            unit="KB",
            beside=beside,
            target="flat",
        ),
        Figure(
            what=f"{about}: largest request",
            ours=max(gardener.sizes[-_WINDOW:]) / 1024,
            other=max(gardener.sizes[:_WINDOW]) / 1024,
            unit="KB",
            beside=beside,
            target="flat",
        ),
        Figure(
            what=f"{about}: time per turn",
            ours=median(steps[-_WINDOW:]) * 1000,
            other=median(steps[:_WINDOW]) * 1000,
            unit="ms",
            beside=beside,
            target="flat",
        ),
    ]
