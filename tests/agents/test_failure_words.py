"""Failure words: every failure there is has its word, and every word its sentences (W15)."""

import pytest

from workstead.agents import failure_words
from workstead.agents.budget_rows import PROJECT
from workstead.agents.budgets import SpentError, What
from workstead.agents.failure_words import EXPLAINED, Unsent
from workstead.agents.models import failures
from workstead.agents.models.failures import FailureClass, ModelError
from workstead.agents.models.shape import NoTurn


@pytest.mark.covers("W15")
def test_every_word_says_what_happened_what_is_done_and_what_can_be_done() -> None:
    """Issue: every way a provider can fail reads well in the page."""
    words = {*FailureClass, *Unsent}
    assert set(EXPLAINED) == words
    for word in words:
        found = EXPLAINED[word]
        for sentence in (found.happened, found.then, found.advice):
            assert sentence[0].isupper(), (word, sentence)
            assert sentence.endswith("."), (word, sentence)
    assert len({found.happened for found in EXPLAINED.values()}) == len(words)


@pytest.mark.covers("W15")
@pytest.mark.parametrize("found", FailureClass)
def test_an_error_keeps_the_class_of_the_failure_behind_it(found: FailureClass) -> None:
    """Several classes share an error; the exchange tells them apart."""
    assert failure_words.of(failures.ERRORS[found]("No.", found=found)) == found.value


@pytest.mark.covers("W15")
def test_what_never_failed_on_the_wire_has_a_word_too() -> None:
    """A budget, a missing key, a size that fits nowhere, a script that ends, and what nobody expected."""
    words = [
        failure_words.of(error)
        for error in (
            SpentError("No.", target=PROJECT, what=What.TOKENS),
            failures.KeyMissingError("No."),
            failures.RequestTooLargeError("No."),
            failures.RouteUnfitError("No."),
            NoTurn("No."),
            TimeoutError(),
            failures.RateLimitedError("Not for two hours."),
            ModelError("No."),
            ZeroDivisionError(),
        )
    ]
    assert words == [
        *("budget_spent", "key_missing", "request_too_large", "route_unfit", "script_ended", "deadline"),
        *("rate_limit", "internal", "internal"),
    ]
