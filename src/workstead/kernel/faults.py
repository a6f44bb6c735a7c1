"""Crash points: named places where a test makes the process die at once, as a power cut would.

`WORKSTEAD_CRASH_AT=commit.done` kills the process when it first reaches that point,
`WORKSTEAD_CRASH_AT=commit.done:3` the third time. In ordinary life nothing is set and a point costs one test.

| point | stands |
|---|---|
| receipt.written | after a write inserted its receipt, before the commit |
| commit.done | after the commit, before anything is announced |
| announce.done | after the announcement, before the reply |
| call.written | after an effect's claim, before it acts |
| budget.held | after what a model call may cost is held and committed, before anything is sent |
| process.spawned | after a process started, before its row |
| process.ended | after a process ended, before its result |
| exchange.ended | after a model's answer is complete, before the assistant's rows |
| summary.ended | after a summary is complete, before the segment it is for |
| compaction.written | after a shortened conversation's segment is committed, before its first call |
| record.accepted | after a record was accepted, before the graph moves |
| child.done | after a child card ended, before its parent's result |
| run.done | after a run ended, before its lease is let go |
| blob.staged | after bytes are safe on disk, before their row |
| recovery.half | after recovery settled a leaf, before its root |
| migration.half | inside a migration |
"""

import itertools
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args

from workstead import errors

Point = Literal[
    "announce.done",
    "blob.staged",
    "budget.held",
    "call.written",
    "child.done",
    "commit.done",
    "compaction.written",
    "exchange.ended",
    "migration.half",
    "process.ended",
    "process.spawned",
    "receipt.written",
    "record.accepted",
    "recovery.half",
    "run.done",
    "summary.ended",
]

POINTS: tuple[Point, ...] = get_args(Point)


@dataclass(frozen=True, kw_only=True)
class Armed:
    """The point that kills: its name, at which time it is reached, and the times so far."""

    name: Point
    at: int
    reached: Iterator[int] = field(default_factory=lambda: itertools.count(1))


def point(name: Point) -> None:
    """Kill this process with SIGKILL if the environment named this point; otherwise nothing."""
    if _ARMED is not None and name == _ARMED.name and next(_ARMED.reached) == _ARMED.at:
        os.kill(os.getpid(), signal.SIGKILL)


def armed(setting: str | None) -> Armed | None:
    """What `WORKSTEAD_CRASH_AT` asks for; raises `invalid` for a name or count that is not one."""
    if not setting:
        return None
    name, _, times = setting.partition(":")
    if name not in POINTS:
        raise errors.invalid(
            "crash_point_unknown",
            f"WORKSTEAD_CRASH_AT names no crash point; it may be one of {', '.join(POINTS)}.",
        )
    at = int(times) if times.isascii() and times.isdigit() and len(times) < 10 else 0
    if ":" in setting and at < 1:
        raise errors.invalid("crash_point_unknown", "WORKSTEAD_CRASH_AT counts from 1, as in commit.done:3.")
    return Armed(name=name, at=at or 1)


# Read once, so that an unset variable costs nothing; a wrong one stops the start here.
_ARMED = armed(os.environ.get("WORKSTEAD_CRASH_AT"))
