"""Prompts: texts a person's program can start from, with the few words the person adds."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from workstead import errors

_TEXTS = Path(__file__).parent / "texts" / "prompts"
_PLACE = re.compile(r"\{([a-z_]+)\}")
ARGUMENT_LIMIT_CHARS = 20_000

Suggest = Literal["project", "card", "nothing"]


@dataclass(frozen=True, kw_only=True)
class Argument:
    """One thing the person adds. suggest: where completions come from."""

    name: str
    description: str
    required: bool = True
    suggest: Suggest = "nothing"


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One prompt. source: the name it had where it comes from."""

    name: str
    title: str
    description: str
    arguments: tuple[Argument, ...]
    source: str = ""


_PROJECT = Argument(name="project", description="The project's short name.", suggest="project")
_CARD = Argument(name="card_id", description="The card's id, as in card-a-b.", suggest="card")

PROMPTS: tuple[Prompt, ...] = (
    Prompt(
        name="catch_up",
        title="Catch up",
        description="Where a project stands, what waits and for whom. Only reads.",
        arguments=(_PROJECT,),
    ),
    Prompt(
        name="debug_run",
        title="Debug a run",
        description="Why the last run ended as it did: observations and conclusions apart. Only reads.",
        arguments=(
            _PROJECT,
            Argument(
                name="card_id", description="The card it is about, if you know it.", required=False, suggest="card"
            ),
        ),
        source="debug_stillmade",
    ),
    Prompt(
        name="plan_objective",
        title="Plan an objective",
        description="Break an objective into cards, shown to you before any is made. Starts nothing.",
        arguments=(_PROJECT, Argument(name="objective", description="What you want, in your own words.")),
    ),
    Prompt(
        name="review_card",
        title="Review a card",
        description="Judge a card's result by evidence and draft a comment. Changes nothing.",
        arguments=(_PROJECT, _CARD),
    ),
)


def text(prompt: Prompt, given: Mapping[str, str]) -> str:
    """The prompt with what the person added. Raises `invalid` for what is missing, unknown or too long."""
    known = {each.name: each for each in prompt.arguments}
    issues = [
        errors.Issue(path=name, message="this prompt has no such argument") for name in sorted(given.keys() - known)
    ]
    issues += [
        errors.Issue(path=each.name, message="this argument is required")
        for each in prompt.arguments
        if each.required and not given.get(each.name, "").strip()
    ]
    issues += [
        errors.Issue(path=name, message=f"use at most {ARGUMENT_LIMIT_CHARS} characters")
        for name, value in given.items()
        if len(value) > ARGUMENT_LIMIT_CHARS
    ]
    if issues:
        said = "; ".join(f"{each.path[:40]}: {each.message}" for each in issues)
        raise errors.invalid("prompt_arguments_invalid", f"Correct the prompt's arguments: {said}.", issues=issues)
    card_id = given.get("card_id", "")
    values = {"about": f", above all its card `{card_id}`" if card_id else "", **given}
    # In one pass, and not `format`: what a person adds may hold braces, and is never read as a place itself.
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), _body(prompt.name))


@cache
def _body(name: str) -> str:
    return (_TEXTS / f"{name}.md").read_text(encoding="utf-8")
