"""A refusal says what it is, what to do, and nothing that was not meant for the caller."""

import pytest

from workstead import errors
from workstead.errors import Advice, Kind

MADE = [
    (errors.invalid("title_empty", "Give the card a title."), Kind.INVALID, "title_empty", Advice.CORRECT),
    (errors.denied("not_yours", "You may not."), Kind.DENIED, "not_yours", Advice.FINAL),
    (errors.not_found("card", "a-1"), Kind.NOT_FOUND, "card_not_found", Advice.CORRECT),
    (errors.conflict("run_live", "A run is live."), Kind.CONFLICT, "run_live", Advice.CORRECT),
    (errors.stale("app draft", base=1, current=3), Kind.STALE, "app_draft_stale", Advice.CORRECT),
    (errors.unauthenticated(), Kind.UNAUTHENTICATED, "unauthenticated", Advice.PERSON),
    (errors.busy("queue_full", "Wait.", retry_after_s=2.5), Kind.BUSY, "queue_full", Advice.LATER),
    (errors.unavailable("model_away", "No answer."), Kind.UNAVAILABLE, "model_away", Advice.LATER),
]


@pytest.mark.parametrize(("made", "kind", "code", "advice"), MADE)
def test_each_constructor_makes_its_kind_with_a_stable_code_and_advice(
    made: errors.Refusal, kind: Kind, code: str, advice: Advice
) -> None:
    """House style, lines 24 and 31."""
    assert (made.kind, made.code, made.advice) == (kind, code, advice)


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_advice(kind: Kind) -> None:
    """House style, line 31: an agent is always told which it is."""
    assert errors.Refusal(kind=kind, code="any", message="Any.").advice in Advice


def test_a_refusal_reads_as_its_sentence() -> None:
    """What a log or a terminal shows is the sentence alone."""
    assert str(errors.invalid("x", "Give the card a title.", title="secret")) == "Give the card a title."


def test_a_stale_refusal_says_what_is_current() -> None:
    """K04."""
    made = errors.stale("card", base=1, current=3)
    assert made.details == {"base_revision": 1, "current_revision": 3}
    assert "revision 3" in made.message


def test_issues_and_details_are_kept() -> None:
    """quality.md, bad input: issue paths."""
    issue = errors.Issue(path="cards[2].title", message="is empty")
    made = errors.invalid("config_invalid", "Correct it.", issues=[issue], file="workstead.yaml")
    assert (made.issues, made.details) == ((issue,), {"file": "workstead.yaml"})


def test_busy_says_when_to_try_again() -> None:
    """K16."""
    assert errors.busy("queue_full", "Wait.", retry_after_s=2.5).details == {"retry_after_s": 2.5}


def test_a_refusal_can_be_raised_chained_and_raised_again() -> None:
    """The interpreter sets traceback and cause on the very object; a frozen one would break here."""
    made = errors.conflict("run_live", "A run is live.")
    with pytest.raises(errors.Refusal) as first:
        raise made from ValueError("inner")
    with pytest.raises(errors.Refusal) as second:
        raise first.value
    assert second.value is made
    assert isinstance(made.__cause__, ValueError)


def test_two_equal_refusals_are_still_two() -> None:
    """Identity, not content: exceptions are kept in sets by the interpreter and by task groups."""
    assert len({errors.unauthenticated(), errors.unauthenticated()}) == 2
