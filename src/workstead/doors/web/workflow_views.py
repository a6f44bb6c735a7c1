"""What a workflow's page is given: the graph of a card type as a drawing, and the same as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from workstead.doors.web import layered
from workstead.doors.web.layered import Point
from workstead.doors.web.place import Place
from workstead.doors.web.rendering import View

BOX_WIDTH = 168
BOX_HEIGHT = 46
_GAP_X = 210.0
_GAP_Y = 118.0
_MARGIN = 26.0


@dataclass(frozen=True, kw_only=True)
class Box:
    """A node drawn; x and y of its left upper corner. kind: agent, action, entry or end. cards: at work there now."""

    name: str
    kind: str
    below: str
    x: int
    y: int
    cards: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Line:
    """An edge drawn: an SVG path, and where its words stand. quiet: it only says that a card ended badly."""

    path: str
    words: str
    x: int
    y: int
    back: bool
    quiet: bool


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A graph drawn. view: the SVG view box."""

    view: str
    width: int
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True)
class WorkflowView(View):
    """The workflow of a card type. steps: node, executor, records. edges: node, outcome, where to."""

    TEMPLATE: ClassVar[str] = "workflow.html"

    place: Place
    type: str
    types: tuple[tuple[str, str], ...]
    children: tuple[str, ...]
    drawing: Drawing
    edges: tuple[tuple[str, str, str], ...]


def drawing(graph: Mapping[str, Any], *, live: Mapping[str, Sequence[str]]) -> Drawing:
    """A workflow as its operation answers it. live: the cards at work, by node."""
    entries = [f"from {line['entry'].lower()}" for line in graph["entries"]]
    ends = list(dict.fromkeys(edge["target"] for edge in graph["edges"] if edge["ends"]))
    names = entries + [node["name"] for node in graph["nodes"]] + ends
    pairs = [(entry, line["node"]) for entry, line in zip(entries, graph["entries"], strict=True)]
    pairs += [(edge["node"], edge["target"]) for edge in graph["edges"]]
    made = layered.layout(names, pairs, gap_x=_GAP_X, gap_y=_GAP_Y)
    points = [*made.places.values(), *(point for path in made.paths.values() for point in path)]
    left = min((x for x, _ in points), default=0) - BOX_WIDTH / 2 - _MARGIN
    width = max((x for x, _ in points), default=0) + BOX_WIDTH / 2 + _MARGIN * 2 - left
    height = max((y for _, y in points), default=0) + BOX_HEIGHT + _MARGIN * 2
    kinds = {node["name"]: (node["kind"], node["executor"]) for node in graph["nodes"]}
    return Drawing(
        view=f"{left:.0f} {-BOX_HEIGHT / 2 - _MARGIN:.0f} {width:.0f} {height:.0f}",
        width=round(width),
        boxes=tuple(
            _box(name, made.places[name], known=kinds.get(name, ("end" if name in ends else "entry", "")), live=live)
            for name in names
        ),
        lines=tuple(_line(pair, made.paths[pair], graph["edges"]) for pair in dict.fromkeys(pairs)),
    )


def _box(name: str, at: Point, *, known: tuple[str, str], live: Mapping[str, Sequence[str]]) -> Box:
    return Box(
        name=name,
        kind=known[0],
        below=known[1],
        x=round(at[0] - BOX_WIDTH / 2),
        y=round(at[1] - BOX_HEIGHT / 2),
        cards=tuple(live.get(name, ())) if known[0] in {"agent", "action"} else (),
    )


def _line(pair: tuple[str, str], points: tuple[Point, ...], edges: Sequence[Mapping[str, Any]]) -> Line:
    outcomes = [edge["outcome"] for edge in edges if (edge["node"], edge["target"]) == pair]
    # `failed` that leads to FAILED says nothing; without such words a graph can be read.
    words = ", ".join(outcome for outcome in outcomes if outcome != pair[1].lower())
    if pair[0] == pair[1]:
        x, y = points[0][0] + BOX_WIDTH / 2, points[0][1]
        path = f"M{x:.0f} {y - 10:.0f} c34 -16 34 36 2 20"
        return Line(path=path, words=words, x=round(x + 30), y=round(y), back=True, quiet=False)
    back = points[-1][1] < points[0][1]
    half = -BOX_HEIGHT / 2 if back else BOX_HEIGHT / 2
    # What leads back leaves and arrives beside the middle, so that it never covers what leads on.
    shift = 26 if back else 0
    passed = [(points[0][0] + shift, points[0][1] + half), *points[1:-1], (points[-1][0] + shift, points[-1][1] - half)]
    middle = passed[len(passed) // 2] if len(passed) > 2 else _towards(passed[0], passed[1])
    return Line(
        path=_curve(passed),
        words=words,
        x=round(middle[0]),
        y=round(middle[1]),
        back=back,
        quiet=bool(outcomes) and not words,
    )


def _towards(one: Point, other: Point) -> Point:
    """Nearer to where a line begins: there the words of lines that meet at one box stand apart."""
    return one[0] + (other[0] - one[0]) * 0.25, one[1] + (other[1] - one[1]) * 0.36


def _curve(points: Sequence[Point]) -> str:
    """From row to row upright at both ends, so that lines arrive at boxes straight."""
    parts = [f"M{points[0][0]:.0f} {points[0][1]:.0f}"]
    for (x0, y0), (x1, y1) in pairwise(points):
        half = (y0 + y1) / 2
        parts.append(f"C{x0:.0f} {half:.0f} {x1:.0f} {half:.0f} {x1:.0f} {y1:.0f}")
    return " ".join(parts)
