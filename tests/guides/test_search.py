"""Search finds the passage a reader means, by words (D09)."""

import pytest

from workstead.guides import search

pytestmark = pytest.mark.covers("D09")


@pytest.mark.parametrize(
    ("query", "document", "heading"),
    [
        ("what does pause do", "runs", "What each control does"),
        ("good card brief", "planning", "A good card"),
        ("error code -32022", "refusals", "Errors of the protocol"),
        ("base_revision", "getting-started", "Changing things"),
        ("STATUSES of a card", "concepts", "Card"),
    ],
)
def test_the_passage_that_is_meant_comes_first(query: str, document: str, heading: str) -> None:
    """Issue: documentation search, lexical over the packaged documents."""
    best = [(each.document, each.heading) for each in search.find(query)[:3]]
    assert any(name == document and heading in found for name, found in best), best


def test_words_that_stand_nowhere_find_nothing() -> None:
    """Rather nothing than something that does not fit."""
    assert search.find("xylophone zither") == ()
    assert search.find("?!") == ()


def test_an_excerpt_is_short_and_holds_a_word_that_was_looked_for() -> None:
    """A table of two hundred rows is not an answer."""
    found = [each for each in search.find("project_selection_required") if len(each.text) > search.EXCERPT_CHARS]
    assert found
    shown = search.excerpt(found[0], "project_selection_required")
    assert len(shown) <= search.EXCERPT_CHARS
    assert "project_selection_required" in shown
