"""Marks: instruction evidence, segments and refusals as a person reads them, with a way to what they are about."""

import pytest

from workstead.doors.web import conversation_marks
from workstead.doors.web.conversation_marks import Mark

ROOT = "/projects/garden"
ADDRESS = f"{ROOT}/cards/project/conversations/planner"


def mark(kind: str, **known: object) -> Mark:
    return conversation_marks.mark(kind, known, root=ROOT, address=ADDRESS)


@pytest.mark.covers("W13")
def test_an_activation_says_under_which_configuration_and_with_which_tools() -> None:
    """Instruction evidence: which instructions, which configuration."""
    found = mark("activation", node="plan", entry="BACKLOG", role_text="Role.", configuration="ab" * 32, tools=["read"])
    assert found.text == "Enters plan from backlog. Configuration abababababab."
    assert found.more == "Role.\n\nTools: `read`."


@pytest.mark.covers("W13", "W14")
def test_a_segment_says_what_it_stands_for_and_links_to_the_first_row_that_is_still_sent() -> None:
    """Rows are never deleted: the reader pages everything, and is told from where a model reads."""
    found = mark(
        "segment",
        covered_through=120,
        how="summary",
        strategy="ahead",
        before_tokens=10_000,
        after_tokens=4000,
        summary="The bed was dug.",
        kept=[{"row": 3, "text": "No tulips."}],
    )
    assert found.text == (
        "From here on rows 1 to 120 are summarised, because it had grown to its limit; "
        "about 10,000 tokens became 4,000."
    )
    assert found.more == "The bed was dug.\n\nStays word for word, from row 3:\n\nNo tulips."
    assert [(link.label, link.href) for link in found.links] == [
        ("Row 121, the first still sent", f"{ADDRESS}?after=120")
    ]


@pytest.mark.covers("W13")
def test_shown_records_link_to_the_version_that_was_shown() -> None:
    """Instruction evidence: which records, in which version, how much of them."""
    found = mark(
        "shown",
        records=[
            {"card_id": "project", "record": "brief.md", "version": 3, "digest": "d", "exposure": "whole"},
            {"card_id": "card-a", "record": "status.md", "version": 0, "digest": "d", "exposure": "ends"},
        ],
    )
    assert [(link.label, link.href) for link in found.links] == [
        ("brief.md of project, version 3", f"{ROOT}/cards/project/records/brief.md?version=3"),
        ("status.md of card-a, not accepted, only its two ends", f"{ROOT}/cards/card-a/records/status.md"),
    ]


@pytest.mark.covers("W16")
def test_a_refusal_names_who_refused_and_both_exchanges() -> None:
    """An inspectable marker."""
    found = mark("refusal", text="It refused twice.", provider="p", model="m", first="e1", second="e2")
    assert found.text == "It refused twice."
    assert found.more == "- provider: `p`\n- model: `m`\n- first: `e1`\n- second: `e2`"
