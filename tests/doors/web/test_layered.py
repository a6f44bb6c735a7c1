"""The layout of small graphs."""

import pytest

from workstead.doors.web import layered


@pytest.mark.covers("W28")
def test_what_follows_stands_below_and_nothing_stands_on_another() -> None:
    """It is seen, item 1: the workflow graph."""
    found = layered.layout(["a", "b", "c", "d"], [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")], gap_x=100, gap_y=50)
    rows = {name: place[1] for name, place in found.places.items()}
    assert rows == {"a": 0, "b": 50, "c": 50, "d": 100}
    assert abs(found.places["b"][0] - found.places["c"][0]) >= 100


def test_a_circle_is_laid_out_and_its_way_back_goes_up() -> None:
    """Workflows lead back: a review that asks for a revision."""
    found = layered.layout(["plan", "review"], [("plan", "review"), ("review", "plan")], gap_x=100, gap_y=50)
    assert found.paths["plan", "review"][0] == found.places["plan"]
    assert found.paths["review", "plan"][0] == found.places["review"]
    assert found.paths["review", "plan"][-1] == found.places["plan"]


def test_a_long_edge_passes_beside_the_boxes_between() -> None:
    """An edge through a box would read as leading to it."""
    found = layered.layout(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")], gap_x=100, gap_y=50)
    bend = found.paths["a", "c"][1]
    assert bend[1] == found.places["b"][1]
    assert abs(bend[0] - found.places["b"][0]) >= 50


def test_a_node_alone_and_an_edge_to_itself_are_no_trouble() -> None:
    """A step can lead to itself."""
    found = layered.layout(["a"], [("a", "a")], gap_x=100, gap_y=50)
    assert found.places == {"a": (50.0, 0)}
    assert found.paths["a", "a"][0] == found.paths["a", "a"][-1]
