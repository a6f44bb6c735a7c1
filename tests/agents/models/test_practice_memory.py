"""Practice when its conversation is shortened: it writes down what it still needs and goes on from that."""

from dataclasses import replace

import pytest

from agents.models import test_practice as practising
from workstead.agents.models.practice import Practice
from workstead.agents.models.practice_script import compile_script
from workstead.agents.models.shape import Message, Purpose, Request, Role

SOURCE = """\
<source row="4" kind="tool_result" from="tool" at="t" tool="list_cards" call="practice-1-0-0" bytes="0-9" of="9">
{"data":{"cards":[]},"success":true}
</source>
<source row="5" kind="tool_result" from="tool" at="t" tool="create_card" call="practice-1-0-1" bytes="0-9" of="9">
{"data":{"card_id":"project/code-9","title":"Fix"},"success":true}
</source>
"""


def asking(text: str) -> Request:
    told = practising.request(practising.PLAN, Message(role=Role.USER, text=text))
    return replace(told, purpose=Purpose.SUMMARY)


@pytest.mark.covers("W14")
async def test_practice_goes_on_from_its_own_summary(practice: Practice) -> None:
    """Its calls are gone from the history; which scene is on and what was created stand in the summary."""
    summary = (await practice.complete(asking(SOURCE))).text
    assert summary.splitlines() == [
        "Practice went through 2 results of its own calls here, in 0 activations.",
        'practice-1-0-1 came to {"data":{"card_id":"project/code-9","title":"Fix"}}',
    ]
    again = (await practice.complete(asking(f"<summary_so_far>\n{summary}\n</summary_so_far>"))).text
    assert again.splitlines()[1:] == summary.splitlines()[1:]
    told = Message(role=Role.USER, text=f"[Rows 1 to 5 are not repeated.]\n{again}")
    there = replace(practising.PLAN, turns=1, children=practising.FIX)
    (call,) = (await practice.complete(practising.request(there, told))).calls
    assert call.id == "practice-1-1-0"
    assert '"card_id":"project/code-9"' in call.arguments


@pytest.mark.covers("W14")
async def test_a_script_says_what_the_summary_is() -> None:
    """docs/practice.md: `summary` instead of turns."""
    script = compile_script(b"""
- when: {agent: planner, card: Due dates}
  summary: The planner made one card.
- when: {agent: planner, node: plan}
  turns: [{calls: [{emit_result: {outcome: done}}]}]
""")
    practice = Practice(script)
    assert (await practice.complete(asking("nothing"))).text == "The planner made one card."
    (call,) = (await practice.complete(practising.request(practising.PLAN))).calls
    assert call.name == "emit_result"


@pytest.fixture
def practice() -> Practice:
    return Practice(practising.SCRIPT)
