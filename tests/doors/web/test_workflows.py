"""The workflow of a card type as a page."""

import re

import pytest

from support.server import Running
from workstead.doors.web import workflow_views

COVERS_MODULES = ("doors/web/pages/workflows.py", "doors/web/workflow_views.py", "work/workflow_reads.py")
GRAPH = {
    "entries": [{"entry": "BACKLOG", "node": "plan"}],
    "nodes": [
        {"name": "plan", "kind": "agent", "executor": "planner"},
        {"name": "t", "kind": "action", "executor": "x"},
    ],
    "edges": [
        {"node": "plan", "outcome": "go", "target": "t", "ends": False},
        {"node": "t", "outcome": "again", "target": "plan", "ends": False},
        {"node": "t", "outcome": "failed", "target": "FAILED", "ends": True},
    ],
}


@pytest.mark.covers("W28")
def test_a_card_types_graph_is_drawn_and_told_as_a_list(finished: Running) -> None:
    """It is seen, item 1: the workflow graph as SVG; who cannot see it reads the same."""
    page = finished.get("/projects/ledger/workflows/project").text
    assert "<svg viewBox=" in page
    assert '<g class="graph-box" data-kind="agent"' in page
    assert re.search(r"<strong>review</strong>.*?revision required.*?→ plan", page, re.DOTALL)
    assert finished.get("/projects/ledger/workflows/nothing").status == 409


@pytest.mark.covers("W28")
def test_the_step_where_work_goes_on_is_marked_with_its_card() -> None:
    """It is seen, item 1: the live node."""
    drawn = workflow_views.drawing(GRAPH, live={"plan": ["card-a"]})
    assert [(box.name, box.cards) for box in drawn.boxes if box.cards] == [("plan", ("card-a",))]


def test_a_line_says_its_outcome_unless_the_end_says_it_already() -> None:
    """Words that say nothing make a graph unreadable."""
    lines = {line.words: line for line in workflow_views.drawing(GRAPH, live={}).lines}
    assert lines["again"].back
    assert not lines["go"].back
    assert any(line.quiet for line in lines.values())
    assert "failed" not in lines


def test_everything_drawn_stands_inside_the_view() -> None:
    """A picture cut at its edge is a wrong picture."""
    drawn = workflow_views.drawing(GRAPH, live={})
    left, top, width, height = map(float, drawn.view.split())
    for box in drawn.boxes:
        assert left <= box.x <= left + width - workflow_views.BOX_WIDTH
        assert top <= box.y <= top + height - workflow_views.BOX_HEIGHT
