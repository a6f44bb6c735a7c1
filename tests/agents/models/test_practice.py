"""Practice chooses its turn by where the work stands, and needs no memory to go on."""

from dataclasses import replace
from typing import cast

import anyio
import pytest

from workstead.agents.models.practice import Practice
from workstead.agents.models.practice_script import compile_script
from workstead.agents.models.shape import (
    Answer,
    Call,
    Child,
    Finish,
    Message,
    NoTurn,
    Request,
    Role,
    Situation,
    ToolSchema,
)
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

SCRIPT = compile_script(b"""
- name: later
  when: {agent: planner, card: Due dates, node: plan, if: {child: Fix, status: [done]}}
  turns:
    - calls: [{emit_result: {outcome: later}}]
- name: first
  when: {agent: planner, card: Due dates, node: plan}
  turns:
    - say: I make a card.
      calls:
        - list_cards: {}
        - create_card: {type: code, title: Fix, bootstrap_content: "For ${card.id}, ${card.title}, not ${HOME}"}
          as: fix
          unless: {child: Fix}
    - calls:
        - activate_card: {card_id: "${fix.card_id}", instructions: go, list: ["${fix.card_id}", 7, true]}
          unless: {child: Fix, status: [done]}
    - calls: [{emit_result: {outcome: admit_review}}]
- when: {agent: planner, card: Due dates, node: recover}
  turns: {same_as: first}
- when: {agent: executor, node: execute, entry: STOPPED}
  turns: [{calls: [{read: {path: stopped}}], delay_ms: 1}]
- when: {agent: executor, node: execute}
  turns: [{calls: [{read: {path: "${fix.card_id}"}}]}]
- when: {agent: reviewer, node: review, if: [{child_missing: A}, {child: B}]}
  turns: [{calls: [{read: {path: first}}, {read: {path: second}}]}]
""")
PLAN = Situation(
    agent="planner", card_id="project", card_title="Due dates", node="plan", entry="BACKLOG", turns=0, children={}
)
FIX = {"Fix": Child(card_id="project/code-9", status="backlog")}
DONE = {"Fix": Child(card_id="project/code-9", status="done")}


def request(situation: Situation, *messages: Message, tools: tuple[ToolSchema, ...] = ()) -> Request:
    return Request(
        model="practice",
        instructions="",
        messages=messages,
        tools=tools,
        max_tokens=1,
        temperature=0,
        situation=situation,
    )


async def asked(situation: Situation, *messages: Message) -> Answer:
    return await Practice(SCRIPT).complete(request(situation, *messages))


def made(call: Call) -> tuple[str, Json]:
    return call.name, canonical.parse(call.arguments)


def answered(answer: Answer) -> Message:
    return Message(role=Role.ASSISTANT, text=answer.text, calls=answer.calls)


def result(call: Call, data: Json) -> Message:
    return Message(role=Role.TOOL, text=canonical.text({"success": True, "data": data}), call_id=call.id)


async def test_a_turn_is_text_and_calls() -> None:
    """The same shape as any model's answer."""
    answer = await asked(PLAN)
    assert (answer.text, answer.finish) == ("I make a card.", Finish.CALLS)
    assert [call.id for call in answer.calls] == ["practice-1-0-0", "practice-1-0-1"]
    assert made(answer.calls[0]) == ("list_cards", {})
    text = "For project, Due dates, not ${HOME}"
    assert made(answer.calls[1]) == ("create_card", {"type": "code", "title": "Fix", "bootstrap_content": text})


async def test_a_reference_is_what_the_named_call_came_to() -> None:
    """first-hour.md, Practice: `as` and `${name.card_id}`."""
    first = await asked(PLAN)
    older = result(first.calls[1], {"card_id": "project/code-1"})
    newer = result(first.calls[1], {"card_id": "project/code-2"})
    answer = await asked(replace(PLAN, turns=1, children=FIX), older, answered(first), newer)
    arguments = {"card_id": "project/code-2", "instructions": "go", "list": ["project/code-2", 7, True]}
    assert made(answer.calls[0]) == ("activate_card", arguments)


@pytest.mark.parametrize("text", ["not JSON", '{"success":false,"error":"no"}', '{"success":true,"data":[1]}'])
async def test_a_reference_falls_back_on_the_child_of_that_title(text: str) -> None:
    """After a restart the card is there and the call is not."""
    first = await asked(replace(PLAN, children=FIX))
    failed = Message(role=Role.TOOL, text=text, call_id="practice-1-0-1")
    answer = await asked(replace(PLAN, turns=1, children=FIX), answered(first), failed)
    assert cast("dict[str, Json]", made(answer.calls[0])[1])["card_id"] == "project/code-9"


async def test_a_reference_that_leads_nowhere_blocks_with_a_sentence() -> None:
    """Nothing is made up."""
    sentence = r"practice cannot tell what \$\{fix.card_id\} is for planner on Due dates at plan, turn 2"
    with pytest.raises(NoTurn, match=sentence):
        await asked(replace(PLAN, turns=1))


async def test_a_call_that_is_not_needed_becomes_a_look() -> None:
    """A restart must not create a card twice, and the turns must still be counted alike."""
    answer = await asked(replace(PLAN, children=FIX))
    assert made(answer.calls[1]) == ("get_card", {"card_id": "project/code-9", "section": "summary"})


async def test_a_call_needed_for_other_statuses_is_made() -> None:
    """`unless` with a status holds for that status only."""
    first = await asked(PLAN)
    names = []
    for status in ("stopped", "done"):
        children = {"Fix": Child(card_id="project/code-9", status=status)}
        answer = await asked(replace(PLAN, turns=1, children=children), answered(first))
        names.append(answer.calls[0].name)
    assert names == ["activate_card", "get_card"]


async def test_a_look_says_only_what_the_offered_tool_takes() -> None:
    """An unknown argument would be refused before the look."""
    tool = ToolSchema(name="get_card", description="", parameters={"properties": {"card_id": {"type": "string"}}})
    answer = await Practice(SCRIPT).complete(request(replace(PLAN, children=FIX), tools=(tool,)))
    assert made(answer.calls[1]) == ("get_card", {"card_id": "project/code-9"})


async def test_a_step_stays_with_the_scene_it_began_with() -> None:
    """What the step itself changes must not turn it into another one."""
    began = await asked(PLAN)
    going_on = await asked(replace(PLAN, turns=1, children=DONE), answered(began))
    assert going_on.calls[0].id == "practice-1-1-0"
    assert made((await asked(replace(PLAN, turns=2, children=DONE), answered(going_on))).calls[0]) == (
        "emit_result",
        {"outcome": "admit_review"},
    )


async def test_a_step_that_begins_chooses_afresh() -> None:
    """The answers of an earlier step say nothing about this one."""
    earlier = await asked(PLAN)
    answer = await asked(replace(PLAN, children=DONE), answered(earlier))
    assert made(answer.calls[0]) == ("emit_result", {"outcome": "later"})


async def test_a_restart_at_the_recovery_node_plays_the_plan_with_its_own_results() -> None:
    """first-hour.md, Practice: a `recover` node may reuse `plan`'s turns."""
    recover = replace(PLAN, node="recover", entry="STOPPED")
    first = await asked(recover)
    assert first.calls[1].id == "practice-2-0-1"
    answer = await asked(
        replace(recover, turns=1), answered(first), result(first.calls[1], {"card_id": "project/code-5"})
    )
    assert cast("dict[str, Json]", made(answer.calls[0])[1])["card_id"] == "project/code-5"


async def test_the_entry_and_every_condition_must_fit() -> None:
    """The first scene that fits is played."""
    execute = Situation(
        agent="executor", card_id="c", card_title="Any", node="execute", entry="STOPPED", turns=0, children=FIX
    )
    assert made((await asked(execute)).calls[0]) == ("read", {"path": "stopped"})
    assert made((await asked(replace(execute, entry="BACKLOG"))).calls[0]) == ("read", {"path": "project/code-9"})
    review = replace(execute, agent="reviewer", node="review", children={"B": FIX["Fix"]})
    assert len((await asked(review)).calls) == 2
    with pytest.raises(NoTurn):
        await asked(replace(review, children={"A": FIX["Fix"], "B": FIX["Fix"]}))
    with pytest.raises(NoTurn):
        await asked(replace(review, children={}))


@pytest.mark.parametrize(
    ("situation", "sentence"),
    [
        (replace(PLAN, turns=3), "practice has no turn for planner on Due dates at plan, turn 4"),
        (replace(PLAN, agent="reviewer"), "practice has no turn for reviewer on Due dates at plan, turn 1"),
        (replace(PLAN, card_title="Other"), "practice has no turn for planner on Other at plan, turn 1"),
        (replace(PLAN, node="review"), "practice has no turn for planner on Due dates at review, turn 1"),
    ],
)
async def test_without_a_turn_practice_says_where(situation: Situation, sentence: str) -> None:
    """first-hour.md, Practice: no matching turn blocks the card with that sentence."""
    with pytest.raises(NoTurn) as nothing:
        await asked(situation)
    assert str(nothing.value) == sentence


async def test_a_turn_takes_its_time_when_somebody_watches() -> None:
    """A turn's own `delay_ms` stands above the pace; a wait can be cancelled."""
    slow = Practice(SCRIPT, pace_ms=3_600_000)
    own = replace(PLAN, agent="executor", node="execute", entry="STOPPED")
    with anyio.fail_after(5):
        assert (await slow.complete(request(own))).calls
        with anyio.move_on_after(0.01) as scope:
            await slow.complete(request(PLAN))
    assert scope.cancelled_caught
