"""The rule behind the `edit` tool."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from workstead import errors
from workstead.agents.tools import edits

texts = st.text("ab\n ", max_size=30)


def refused(text: str, *, old: str, new: str, replace_all: bool = False) -> errors.Refusal:
    with pytest.raises(errors.Refusal) as caught:
        edits.replace(text, old=old, new=new, replace_all=replace_all)
    assert caught.value.kind is errors.Kind.INVALID
    return caught.value


@given(before=texts, old=st.just("OLD"), new=texts, after=texts)
def test_one_occurrence_is_replaced_and_the_rest_stays(before: str, old: str, new: str, after: str) -> None:
    """An edit touches exactly what was named."""
    assert edits.replace(before + old + after, old=old, new=new) == before + new + after


@given(text=texts, old=st.text("ab\n ", min_size=1, max_size=2), new=texts)
def test_an_edit_replaces_all_or_says_why_not(text: str, old: str, new: str) -> None:
    """Never a silent half."""
    assume(old != new)
    if old in text:
        assert edits.replace(text, old=old, new=new, replace_all=True) == text.replace(old, new)
    else:
        assert refused(text, old=old, new=new, replace_all=True).code == "edit_old_missing"


def test_several_occurrences_are_refused_with_their_lines() -> None:
    """The caller must say which one."""
    refusal = refused("x = 1\ny = 1\nz = 1\n", old="= 1", new="= 2")
    assert refusal.code == "edit_old_ambiguous"
    assert "3 times (lines 1, 2, 3)" in refusal.message
    assert "..." in refused("a\n" * 50, old="a", new="b").message


def test_an_edit_that_changes_nothing_is_refused() -> None:
    """It is always a mistake of the caller."""
    assert refused("a", old="a", new="a").code == "edit_unchanged"


def test_an_empty_old_text_is_refused() -> None:
    """It would stand everywhere."""
    assert refused("a", old="", new="b").code == "edit_old_empty"


def test_a_missing_text_says_what_differs() -> None:
    """The next call can be right."""
    assert "white space" in refused("if x:\n    y()\n", old="if x:\n\ty()", new="z").message
    assert "CRLF" in refused("a\r\nb\r\n", old="a\nb", new="z").message
    assert "read it again" in refused("abc", old="xyz", new="z").message


def test_an_edit_may_leave_an_empty_text() -> None:
    """Deleting all text is not deleting the file."""
    assert edits.replace("all", old="all", new="") == ""
