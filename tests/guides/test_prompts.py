"""Prompts take what a person adds as text, never as instructions of their own form (D09)."""

import pytest

from workstead import errors
from workstead.guides import prompts

pytestmark = pytest.mark.covers("D09")

GIVEN = {"project": "garden", "card_id": "card-a", "objective": "Use {project} and {objective}, {x} twice."}


@pytest.mark.parametrize("prompt", prompts.PROMPTS, ids=lambda each: each.name)
def test_every_prompt_is_filled_with_all_that_was_given(prompt: prompts.Prompt) -> None:
    """No place stays open, and braces in what was given stay as they are."""
    given = {each.name: GIVEN[each.name] for each in prompt.arguments}
    text = prompts.text(prompt, given)
    assert all(value in text for value in given.values())
    for value in given.values():
        text = text.replace(value, "")
    assert "{" not in text


def test_what_may_be_left_out_leaves_a_whole_sentence() -> None:
    """An optional argument must not leave a gap."""
    debug = next(each for each in prompts.PROMPTS if each.name == "debug_run")
    assert "ended as it did.\n" in prompts.text(debug, {"project": "garden"})


@pytest.mark.parametrize(
    "given",
    [{}, {"project": " "}, {"project": "garden", "card": "x"}, {"project": "x" * (prompts.ARGUMENT_LIMIT_CHARS + 1)}],
)
def test_arguments_that_are_missing_unknown_or_too_long_are_named(given: dict[str, str]) -> None:
    """A prompt with a hole would make an assistant guess."""
    catch_up = next(each for each in prompts.PROMPTS if each.name == "catch_up")
    with pytest.raises(errors.Refusal) as refused:
        prompts.text(catch_up, given)
    assert refused.value.issues
