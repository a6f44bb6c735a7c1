"""Differences of two texts: applying the hunks gives the later one; no text takes long (W04)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workstead.work import text_diff
from workstead.work.text_diff import Hunk

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=40).map("\n".join)


def applied(before: str, hunks: tuple[Hunk, ...]) -> str:
    """The later text, from the earlier one and the hunks alone."""
    old = before.split("\n")
    new: list[str] = []
    at = 0
    for hunk in hunks:
        new += old[at : hunk.before_line - 1]
        at = hunk.before_line - 1 + hunk.before_lines
        kept = [line[1:] for line in hunk.lines if line[0] in " -"]
        assert kept == old[hunk.before_line - 1 : at]
        assert len(new) == hunk.after_line - 1
        new += [line[1:] for line in hunk.lines if line[0] in " +"]
    return "\n".join(new + old[at:])


@given(before=LINES, after=LINES)
@pytest.mark.covers("W04")
def test_the_hunks_of_two_texts_make_the_later_of_the_earlier(before: str, after: str) -> None:
    """A difference that cannot be applied says something false."""
    found = text_diff.hunks(before, after)
    assert applied(before, found) == after
    assert (found == ()) is (before == after)


def test_a_change_is_shown_with_three_lines_around_it() -> None:
    """As `diff -u` shows it."""
    before = "\n".join(str(number) for number in range(20))
    (hunk,) = text_diff.hunks(before, before.replace("\n10\n", "\nten\n"))
    assert hunk.lines == (" 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13")
    assert (hunk.before_line, hunk.before_lines, hunk.after_line, hunk.after_lines) == (8, 7, 8, 7)


def test_far_changes_are_two_hunks() -> None:
    """Nothing unchanged between them is shown."""
    before = "\n".join(str(number) for number in range(40))
    after = before.replace("\n5\n", "\nfive\n").replace("\n30\n", "\nthirty\n")
    assert len(text_diff.hunks(before, after)) == 2


def test_two_large_strange_texts_take_no_time() -> None:
    """Our decision: past a bound the search gives up and shows the stretch as replaced."""
    before = "\n".join(f"a{number % 7}" for number in range(250_000))
    after = "\n".join(f"b{number % 5}" for number in range(250_000))
    started = time.perf_counter()
    found = text_diff.hunks(before, after)
    assert time.perf_counter() - started < 5
    assert applied(before, found) == after
