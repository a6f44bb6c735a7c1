"""Differences as rows of two columns."""

import pytest

from workstead.doors.web import side_by_side


@pytest.mark.covers("W03", "W04")
def test_what_was_removed_stands_beside_what_came_in_its_place() -> None:
    """A reader compares lines, not signs."""
    found = side_by_side.paired([" a", "-b", "-c", "+d", " e", "+f"], before=4, after=7)
    assert [(row.kind, row.before_number, row.before, row.after_number, row.after) for row in found] == [
        ("same", 4, "a", 7, "a"),
        ("changed", 5, "b", 8, "d"),
        ("removed", 6, "c", None, ""),
        ("same", 7, "e", 9, "e"),
        ("added", None, "", 10, "f"),
    ]


def test_a_removal_after_an_addition_begins_a_new_row() -> None:
    """The order of a difference is kept: what came first is not paired with what went later."""
    found = side_by_side.paired(["+new", "-old"])
    assert [(row.kind, row.before, row.after) for row in found] == [("added", "", "new"), ("removed", "old", "")]


def test_each_hunk_is_a_block_with_its_own_numbers() -> None:
    """Hunks name the lines they begin at."""
    found = side_by_side.blocks([{"before_line": 10, "after_line": 12, "lines": [" x"]}])
    assert (found[0].pairs[0].before_number, found[0].pairs[0].after_number) == (10, 12)
