"""How a run fills prompts in, and what a node's generated contract says."""

import pytest

from work import folder
from workstead.work.workflow import graph, prompts


def _node(name: str) -> graph.AgentNode:
    node = folder.card_type("project").workflow.nodes[name]
    assert isinstance(node, graph.AgentNode)
    return node


@pytest.mark.covers("W06")
def test_an_agent_is_told_the_card_and_exactly_the_outcomes_of_its_node() -> None:
    """Duty: spec; the generated contract is the sole authority for outcomes."""
    text = prompts.render_agent_prompt(_node("check"), card_type="project", card_id="project", card_title="Clock")
    assert text.startswith("Judge project. You are at the step `check`.")
    assert "- `review.md`: start it afresh and write it in this step." in text
    assert "- `good`: the card ends DONE, handing up `review.md`." in text
    assert "- `redo`: the work goes on at `steer`." in text
    assert "you see the new text and decide again" in text
    assert "create cards" not in text
    assert "{{" not in text


def test_a_node_that_may_create_cards_says_which() -> None:
    """Duty: our decision; an agent should not have to guess the types."""
    assert "You may create cards of these types: task." in prompts.describe_contract(_node("steer"))


@pytest.mark.covers("W06")
def test_what_a_title_contains_is_never_filled_in_again() -> None:
    """Duty: our decision; a title is a person's or an agent's text, not a template."""
    title = "{{contractDescription}} {{cardId}}"
    text = prompts.render_agent_prompt(_node("steer"), card_type="project", card_id="project", card_title=title)
    assert text.startswith(f"Lead {title}. You are at the step")
    assert text.count("You are at the step") == 1


@pytest.mark.covers("W06")
def test_a_record_starter_is_filled_in_and_a_record_without_one_starts_empty() -> None:
    """Duty: W06, initial record templates."""
    records = folder.card_type("task").records
    values = {"card_type": "task", "card_id": "card-a", "card_title": "Clock", "node": "do"}
    assert prompts.render_initialization(records["status.md"], **values) == "# Clock"
    assert prompts.render_initialization(records["brief.md"], **values) == ""


def test_the_card_type_is_filled_into_process_prompts_when_compiled() -> None:
    """Duty: facts 4.11; process prompts may use only `{{cardType}}`."""
    assert _node("steer").prompt.text == "steer of a project"


@pytest.mark.parametrize(
    ("pattern", "record", "covered"),
    [
        ("status.md", "status.md", True),
        ("review-*.md", "review-security.md", True),
        ("review-*.md", "review.md", False),
        ("*.md", "anything.md", True),
        ("*-review.md", "x-review.md", True),
        ("a*a.md", "a.md", False),
    ],
)
def test_a_star_in_a_writers_pattern_stands_for_part_of_the_stem(pattern: str, record: str, covered: bool) -> None:
    """Duty: house style 48; names match exactly, a pattern looks like a pattern."""
    assert graph.pattern_covers(pattern, record) is covered
