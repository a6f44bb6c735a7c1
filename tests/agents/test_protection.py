"""Protection: what stays word for word, and for how long (W14); docs/context.md."""

import pytest

from workstead.agents import protection
from workstead.agents.conversations import Row, RowKind
from workstead.agents.genesis import Kept
from workstead.agents.models.shape import Role
from workstead.kernel.canonical import Json
from workstead.work.workflow.graph import Prompt

pytestmark = pytest.mark.covers("W14")


def row(number: int, content: dict[str, Json]) -> Row:
    return Row(
        number=number,
        segment=1,
        kind=RowKind.CONTEXT,
        role=Role.USER,
        at="t",
        activation_id="a",
        input_id=None,
        call_id=None,
        tool=None,
        content=content,
    )


def prompt(number: int, text: str, *, key: str | None = None, compactable: bool = False) -> Row:
    one = Prompt(reference="p", path="p", text=text, compactable=compactable, key=key)
    return row(number, protection.of_prompt(one))


def chosen(*covered: Row, inherited: tuple[Kept, ...] = (), tail: tuple[Row, ...] = (), words: int = 100) -> list[str]:
    found = protection.choose(inherited, covered, tail, words_bytes=words)
    return [each.text for each in found.kept]


def test_a_prompt_stays_only_when_the_configuration_says_so() -> None:
    """No role, no name and no likeness protects a text."""
    assert chosen(prompt(1, "a"), prompt(2, "b", compactable=True), row(3, {"text": "c"})) == ["a"]


def test_every_occurrence_without_a_key_stays_and_of_a_key_the_newest() -> None:
    """docs/workflow.md, "compactable"."""
    assert chosen(prompt(1, "a"), prompt(2, "a"), prompt(3, "k1", key="k"), prompt(4, "k2", key="k")) == [
        "a",
        "a",
        "k2",
    ]


def test_a_newer_one_that_is_still_sent_releases_the_older() -> None:
    """Spec: whether it is covered or still in the tail."""
    old = Kept(text="k1", row=1, segment=1, key="k")
    found = protection.choose([old], [], [prompt(9, "k2", key="k")], words_bytes=100)
    assert (found.kept, found.released) == ((), (old,))


def test_what_people_said_stays_newest_first_up_to_its_bound() -> None:
    """Our decision: a card cannot be talked to death; what is older is summarised, and so is released."""
    said = [row(number, protection.of_person(f"{number}" * 10)) for number in range(1, 6)]
    assert chosen(*said, words=25) == ["4" * 10, "5" * 10]
    old = Kept(text="o" * 10, row=1, segment=1, person=True)
    found = protection.choose([old], said, [], words_bytes=25)
    assert found.released == (old,)
    # A prompt is never counted among them.
    assert chosen(prompt(1, "p" * 500), *said, words=25)[0] == "p" * 500
