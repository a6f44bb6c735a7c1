"""Layered layout of a small directed graph: ranks, crossings reduced, boxes over each other in rows. Pure.

The steps are the classical ones (Sugiyama): edges that lead back are turned round, nodes are ranked by the longest
way, long edges get a place in every row they pass, rows are ordered by the middle of their neighbours, and places are
pulled towards neighbours without changing the order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_SWEEPS = 12
_PULLS = 30
_BEND_WIDTH = 40.0

Point = tuple[float, float]
Edge = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Middles of the boxes, and the points each edge passes, box middles included, in its own direction."""

    places: Mapping[str, Point]
    paths: Mapping[Edge, tuple[Point, ...]]


@dataclass(kw_only=True)
class _Rows:
    """The nodes of each row in order; bends of long edges are nodes too."""

    rows: list[list[str]]
    up: dict[str, list[str]] = field(default_factory=dict)
    down: dict[str, list[str]] = field(default_factory=dict)
    chains: dict[Edge, list[str]] = field(default_factory=dict)


def layout(nodes: Sequence[str], edges: Sequence[Edge], *, gap_x: float, gap_y: float) -> Layout:
    """Places for the nodes; edges name nodes of the list, an edge to itself is left to the drawing."""
    forward = _forward(nodes, [edge for edge in dict.fromkeys(edges) if edge[0] != edge[1]])
    rows = _rows(nodes, forward)
    _order(rows)
    x = _across(rows, gap_x=gap_x)
    y = {name: rank * gap_y for rank, row in enumerate(rows.rows) for name in row}
    paths: dict[Edge, tuple[Point, ...]] = {}
    for start, end in dict.fromkeys(edges):
        chain = rows.chains.get((start, end)) or rows.chains.get((end, start), [end, start])[::-1]
        paths[start, end] = tuple((x[name], y[name]) for name in chain)
    return Layout(places={name: (x[name], y[name]) for name in nodes}, paths=paths)


def _forward(nodes: Sequence[str], edges: Sequence[Edge]) -> list[Edge]:
    """The edges without circles: those that lead back on a walk from the first nodes are turned round."""
    out: dict[str, list[str]] = {name: [] for name in nodes}
    for start, end in edges:
        out[start].append(end)
    state: dict[str, str] = {}
    found: dict[Edge, None] = {}
    for first in nodes:
        if first in state:
            continue
        state[first] = "open"
        walk = [(first, iter(out[first]))]
        while walk:
            name, rest = walk[-1]
            following = next(rest, None)
            if following is None:
                state[name] = "left"
                walk.pop()
            elif state.get(following) == "open":
                found[following, name] = None
            else:
                found[name, following] = None
                if following not in state:
                    state[following] = "open"
                    walk.append((following, iter(out[following])))
    return list(found)


def _rows(nodes: Sequence[str], edges: Sequence[Edge]) -> _Rows:
    rank = dict.fromkeys(nodes, 0)
    for _ in nodes:
        for start, end in edges:
            rank[end] = max(rank[end], rank[start] + 1)
    found = _Rows(rows=[[] for _ in range(max(rank.values(), default=0) + 1)])
    for name in nodes:
        found.rows[rank[name]].append(name)
    for start, end in edges:
        bends = [f"{start} > {end} > {row}" for row in range(rank[start] + 1, rank[end])]
        for place, bend in enumerate(bends, start=rank[start] + 1):
            found.rows[place].append(bend)
        chain = [start, *bends, end]
        found.chains[start, end] = chain
        for above, below in pairwise(chain):
            found.down.setdefault(above, []).append(below)
            found.up.setdefault(below, []).append(above)
    return found


def _order(rows: _Rows) -> None:
    """Each row by the middle of its neighbours, down and up again; the order with the fewest crossings stays."""
    best = (_crossings(rows), [list(row) for row in rows.rows])
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        last = len(rows.rows) - 1
        for place in range(1, last + 1) if downwards else range(last - 1, -1, -1):
            beside = {name: at for at, name in enumerate(rows.rows[place - 1 if downwards else place + 1])}
            neighbours = rows.up if downwards else rows.down
            before = {name: at for at, name in enumerate(rows.rows[place])}
            wanted = {
                name: _middle([beside[other] for other in neighbours.get(name, ())], otherwise=before[name])
                for name in rows.rows[place]
            }
            # A stable sort: those that want the same place keep their order.
            rows.rows[place].sort(key=wanted.__getitem__)
        found = _crossings(rows)
        if found < best[0]:
            best = (found, [list(row) for row in rows.rows])
    rows.rows[:] = best[1]


def _crossings(rows: _Rows) -> int:
    count = 0
    for above, below in pairwise(rows.rows):
        places = {name: at for at, name in enumerate(below)}
        ends = [at for name in above for at in sorted(places[other] for other in rows.down.get(name, ()))]
        count += sum(ends[i] > ends[j] for i in range(len(ends)) for j in range(i + 1, len(ends)))
    return count


def _middle(values: Sequence[float], *, otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _across(rows: _Rows, *, gap_x: float) -> dict[str, float]:
    x: dict[str, float] = {}
    for row in rows.rows:
        at = 0.0
        for name in row:
            at += _width(name, gap_x) / 2
            x[name] = at
            at += _width(name, gap_x) / 2
    for pull in range(_PULLS):
        for row in rows.rows if pull % 2 == 0 else rows.rows[::-1]:
            _pull(row, x, rows, gap_x=gap_x)
    return x


def _pull(row: list[str], x: dict[str, float], rows: _Rows, *, gap_x: float) -> None:
    """Move a row towards its neighbours: the middle of the leftmost and the rightmost places that keep its order."""
    wanted = {
        name: _middle([x[other] for other in (*rows.up.get(name, ()), *rows.down.get(name, ()))], otherwise=x[name])
        for name in row
    }
    left = _packed(row, wanted, gap_x=gap_x)
    right = _packed(row[::-1], {name: -at for name, at in wanted.items()}, gap_x=gap_x)
    for name in row:
        x[name] = (left[name] - right[name]) / 2


def _packed(row: Sequence[str], wanted: Mapping[str, float], *, gap_x: float) -> dict[str, float]:
    found: dict[str, float] = {}
    edge: float | None = None
    for name in row:
        half = _width(name, gap_x) / 2
        found[name] = wanted[name] if edge is None else max(wanted[name], edge + half)
        edge = found[name] + half
    return found


def _width(name: str, gap_x: float) -> float:
    return _BEND_WIDTH if " > " in name else gap_x
