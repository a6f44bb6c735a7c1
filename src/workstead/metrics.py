"""Metrics: what a process counts of itself, and the text that monitoring systems read (Prometheus, version 0.0.4)."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Literal, TypeVar

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Kind = Literal["counter", "gauge", "histogram"]
Labels = Mapping[str, str]
K = TypeVar("K", bound=tuple[str, ...])


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One number. end: what its name has after the family's (`_sum`)."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()
    end: str = ""


@dataclass(frozen=True, kw_only=True)
class Family:
    """One metric with everything that is known of it."""

    name: str
    kind: Kind
    help: str
    samples: tuple[Sample, ...]


class Histogram:
    """How often something took how long; any thread may add and look."""

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self._sum = 0.0
        self._adding = Lock()

    def add(self, value: float) -> None:
        """Count one."""
        with self._adding:
            self._counts[bisect_left(self._bounds, value)] += 1
            self._sum += value

    def samples(self, labels: Labels | None = None) -> tuple[Sample, ...]:
        """Its buckets, each with all that are smaller, its sum and its count."""
        own = tuple((labels or {}).items())
        found, total = [], 0
        for bound, count in zip((*map(_number, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            found.append(Sample(value=total, labels=(*own, ("le", bound)), end="_bucket"))
        return (*found, Sample(value=self._sum, labels=own, end="_sum"), Sample(value=total, labels=own, end="_count"))


def counted(counts: Mapping[K, int], names: Sequence[str]) -> tuple[Sample, ...]:
    """A sample for each key of a table of counts; its parts are the values of these labels."""
    return tuple(
        Sample(value=value, labels=tuple(zip(names, key, strict=True))) for key, value in sorted(counts.items())
    )


def text(families: Iterable[Family]) -> str:
    """Every family as lines."""
    lines: list[str] = []
    for one in families:
        lines += (f"# HELP {one.name} {_help(one.help)}", f"# TYPE {one.name} {one.kind}")
        lines += (f"{one.name}{each.end}{_labels(each.labels)} {_number(each.value)}" for each in one.samples)
    return "\n".join(lines) + "\n"


def _labels(labels: Sequence[tuple[str, str]]) -> str:
    if not labels:
        return ""
    shown = (f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{','.join(shown)}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _help(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
