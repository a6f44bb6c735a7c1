"""The capability table counts what the report says, for every line and nothing else."""

import pytest

from plugin import table

TEXT = """
| id | capability |
|---|---|
| K01 | People sign in. |
| W02 | Cards form a tree. |
"""


def ended(outcome: str, *covers: str) -> table.Test:
    return table.Test(id="tests/test_x.py::test", outcome=outcome, duration_s=0.1, covers=list(covers))


def test_ids_and_meanings_are_read_in_order() -> None:
    """quality.md, commands."""
    assert table.meanings(TEXT) == {"K01": "People sign in.", "W02": "Cards form a tree."}


def test_an_id_given_twice_is_refused() -> None:
    """One line per capability."""
    with pytest.raises(ValueError, match="K01 stands twice"):
        table.meanings(TEXT + "| K01 | Again. |\n")


def test_a_test_counts_once_for_each_capability_it_covers() -> None:
    """quality.md, commands: passing, failing, skipped for every id."""
    tests = [
        ended("passed", "K01", "W02", "W02"),
        ended("failed", "W02"),
        ended("skipped", "W02"),
        ended("passed"),
    ]
    assert table.counts(["K01", "W02", "X01"], tests) == {
        "K01": {"passing": 1, "failing": 0, "skipped": 0},
        "W02": {"passing": 1, "failing": 1, "skipped": 1},
        "X01": {"passing": 0, "failing": 0, "skipped": 0},
    }


def test_a_line_with_a_failing_test_does_not_count_as_shown() -> None:
    """A capability is done when a test says so; a failing one says the opposite."""
    counted = table.counts(["K01", "W02"], [ended("passed", "K01", "W02"), ended("failed", "W02")])
    printed = list(table.lines(table.meanings(TEXT), counted))
    assert printed[1] == "K01     1    0    0  People sign in."
    assert printed[-1] == "1 of 2 capabilities have passing tests and no failing one."


def test_the_shipped_table_has_every_family() -> None:
    """capabilities.md has tables K, D, W, R, B, P and X."""
    known = table.meanings(table.DOCUMENT.read_text(encoding="utf-8"))
    assert {identity[0] for identity in known} == set("KDWRBPX")
    assert len(known) == 113
