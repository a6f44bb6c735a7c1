"""A node: what its agent is told, how it ends, and how many corrections it gets."""

from pathlib import Path

import pytest
from sqlalchemy import text

from runs import checks
from support import database, workplace
from support.workplace import Line, Lines, call, result, write
from workstead.agents.conversations import RowKind
from workstead.agents.models.shape import Call
from workstead.kernel.store import prepared
from workstead.runs.runs import Ending
from workstead.work.workflow.graph import MAX_CORRECTIONS
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases

EXHAUSTED = "emit_result was not accepted: the node corrective budget is exhausted."
STUCK = [[write("status.md", "Stuck."), result("stuck", "No wood.")]]


@pytest.mark.covers("W06", "W09")
async def test_a_run_goes_from_its_entry_to_a_terminal(tmp_path: Path) -> None:
    """Spec, workflow engine: entry, two nodes, promotion, exports; the run ends as its root card does."""
    lines: Lines = {
        "steer": [[write("status.md", "# Wanted")], [result("ready", "Planned.")]],
        "check": [[write("review.md", "# Good"), result("good", "Looks right.")]],
    }
    async with workplace.opened(tmp_path, lines=lines) as shed:
        ended = await shed.run()
        assert (ended.ending, ended.reason, ended.running) == (Ending.DONE, "Planned.", ())
        card = shed.card()
        assert card.status is Status.DONE
        assert card.result is not None
        assert (card.result.executor, card.result.node, card.result.outcome) == ("agent:lead", "steer", "ready")
        assert [(one.name, one.version) for one in card.result.exports] == [("review.md", 1)]
        assert checks.check(shed.database) == []


@pytest.mark.covers("W06")
async def test_the_seventeenth_wrong_result_fails_the_card_and_costs_no_further_exchange(tmp_path: Path) -> None:
    """Spec, exact node corrective budget: sixteen corrections, the exact sentence, no data."""
    wrong = [[result("finished")]] * MAX_CORRECTIONS
    async with workplace.opened(tmp_path, lines={"steer": [*wrong, [result("finished")], [result("stuck")]]}) as shed:
        ended = await shed.run()
        assert (ended.ending, ended.reason) == (Ending.FAILED, EXHAUSTED)
        assert shed.card().status is Status.FAILED
        assert len(shed.voice.asked) == MAX_CORRECTIONS + 1
        results = shed.results("lead")
        assert len(results) == MAX_CORRECTIONS + 1
        assert results[0] == {"success": False, "error": "outcome is one of ready, stuck."}
        assert results[-1] == {"success": False, "error": EXHAUSTED}
        assert len(shed.texts("lead", RowKind.CORRECTION)) == MAX_CORRECTIONS
        told = shed.texts("lead", RowKind.CONTEXT)
        assert told[0].endswith("15 corrective attempts remain at this step.")
        assert told[-1].endswith("0 corrective attempts remain at this step.")
        assert checks.check(shed.database) == []


@pytest.mark.covers("W06")
async def test_the_last_attempt_can_still_succeed(tmp_path: Path) -> None:
    """A past bug: after the sixteenth correction the agent was asked again and could no longer succeed."""
    wrong = [[result("finished")]] * MAX_CORRECTIONS
    async with workplace.opened(tmp_path, lines={"steer": [*wrong, *STUCK]}) as shed:
        ended = await shed.run()
        assert (ended.ending, ended.reason) == (Ending.BLOCKED, "No wood.")


@pytest.mark.covers("W06")
async def test_plain_text_is_corrected_from_the_same_budget(tmp_path: Path) -> None:
    """Spec, exact node corrective budget: counted jointly with every rejected result."""
    lines: Lines = {"steer": ["I am done.", *[[result("finished")]] * (MAX_CORRECTIONS - 1), "Really done."]}
    async with workplace.opened(tmp_path, lines=lines) as shed:
        ended = await shed.run()
        assert ended.ending is Ending.FAILED
        assert ended.reason == "The node ended without emit_result: its corrective budget is exhausted."
        assert len(shed.voice.asked) == MAX_CORRECTIONS + 1
        assert shed.texts("lead", RowKind.TEXT)[-1] == "Really done."
        assert (
            "Plain text does not end this step; call emit_result when it is done."
            in shed.texts("lead", RowKind.CONTEXT)[0]
        )


@pytest.mark.covers("W06")
async def test_a_result_that_is_not_the_last_call_is_refused_and_spends_an_attempt(tmp_path: Path) -> None:
    """A past bug: an agent could repeat it for ever. The other calls of the answer are made."""
    early = [result("stuck"), write("status.md", "Stuck.")]
    async with workplace.opened(tmp_path, lines={"steer": [early, [result("stuck", "No wood.")]]}) as shed:
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        assert shed.accepted("status.md") == "Stuck."
        refused = shed.results("lead")[0]
        last = "emit_result must be the last call of an answer; the other calls of this answer were made."
        assert refused["error"] == last
    again: list[Line] = [[result("stuck"), call("read", path="workstead.md")]] * (MAX_CORRECTIONS + 1)
    (tmp_path / "two").mkdir()
    async with workplace.opened(tmp_path / "two", lines={"steer": again}) as shed:
        ended = await shed.run()
        assert (ended.ending, ended.reason) == (Ending.FAILED, EXHAUSTED)
        assert [one["error"] for one in shed.results("lead")[-2:]] == [
            EXHAUSTED,
            "read was not called: the step had ended before it.",
        ]
        assert checks.check(shed.database) == []


@pytest.mark.covers("W06")
async def test_a_call_that_cannot_be_made_is_answered_and_the_step_goes_on(tmp_path: Path) -> None:
    """Spec, node entry and acceptance: ordinary tool failures spend no correction."""
    bad = [
        call("fly", height=3),
        Call(id="", name="write", arguments="{not json"),
        Call(id="", name="write", arguments='["a list"]'),
        call("write", path="record:///status.md", content="Hi", colour="red"),
        call("create_card", type="task", title="X", bootstrap_content="Y", project="other"),
    ]
    async with workplace.opened(tmp_path, lines={"steer": [bad, *STUCK]}) as shed:
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        found = shed.results("lead")[:5]
        assert [one["success"] for one in found] == [False] * 5
        assert found[0]["error"].startswith("There is no tool 'fly' here; there are create_card, activate_card")
        assert found[2]["error"] == "A tool's arguments are one JSON object."
        assert "colour" in found[3]["error"]
        assert found[4]["error"] == "Leave out project; it is filled in for you."
        assert shed.texts("lead", RowKind.CORRECTION) == []
        assert len(shed.voice.asked) == 2
        assert checks.check(shed.database) == []


@pytest.mark.covers("W06", "X01")
async def test_a_script_without_a_turn_blocks_the_card(tmp_path: Path) -> None:
    """First-hour decisions, practice: no matching turn is the outcome `blocked` with a sentence."""
    script = "- when: {agent: judge, node: check}\n  turns:\n    - calls: [{read: {path: x}}]\n"
    async with workplace.opened(tmp_path, script=script) as shed:
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        assert ended.reason == "practice has no turn for lead on Build a shed at steer, turn 1"
        card = shed.card()
        assert card.result is not None
        assert (card.result.executor, card.result.outcome) == ("runtime", "execution:blocked")
        assert checks.check(shed.database) == []


@pytest.mark.covers("W06")
async def test_a_model_that_fails_fails_the_card_without_its_own_words(tmp_path: Path) -> None:
    """Kernel, errors: a provider's text may hold a secret; only the class of the failure is kept."""
    async with workplace.opened(tmp_path, lines={"steer": [ConnectionError("key sk-123 refused")]}) as shed:
        ended = await shed.run()
        assert (ended.ending, ended.reason) == (Ending.FAILED, "The model call failed (ConnectionError).")
        assert checks.check(shed.database) == []


@pytest.mark.covers("W06", "W13")
async def test_an_agent_is_told_where_it_stands_and_keeps_its_conversation(tmp_path: Path) -> None:
    """Spec, node entry: marker, transition, and the node's own text before each call; one session per card."""
    lines: Lines = {
        "steer": [
            [write("status.md", "One"), result("ready", "First plan.")],
            [write("status.md", "Two"), result("ready", "Second plan.")],
        ],
        "check": [
            [write("review.md", "Not yet"), result("redo", "Once more.")],
            [write("review.md", "Good"), result("good")],
        ],
    }
    async with workplace.opened(tmp_path, lines=lines) as shed:
        ended = await shed.run()
        assert ended.ending is Ending.DONE
        first, second = (one for one in shed.voice.asked if one.situation.node == "steer")
        assert "Lead Build a shed." in first.instructions
        assert "Card project (project): Build a shed" in first.messages[0].text
        assert "A shed that stands." in first.messages[0].text
        assert first.messages[0].text.endswith("Step `steer`:\nsteer of a project")
        assert [one.name for one in first.tools][-1] == "emit_result"
        texts = [message.text for message in second.messages]
        assert any("The step `check` ended with `redo`: Once more." in text for text in texts)
        assert "Accepted record: record:///review.md?card=project&v=1" in "\n".join(texts)
        assert second.situation.turns == 0
        assert len(shed.texts("lead", RowKind.CONTEXT)) == 2
        visits = [one.node for one in (await shed.ask("list_activations", card_id="project")).activations[0].visits]
        assert visits == ["steer", "check", "steer", "check"]
        assert checks.check(shed.database) == []


_SLOW = [
    prepared(text(statement))
    for statement in (
        "CREATE TABLE slow (x INTEGER)",
        "INSERT INTO slow WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 300) SELECT x FROM c",
        "CREATE TRIGGER slowly AFTER INSERT ON card BEGIN SELECT count(*) FROM slow a, slow b, slow c; END",
    )
]


@pytest.mark.covers("W10", "K15")
@pytest.mark.only_sqlite("made by a trigger of its kind")
async def test_a_change_that_was_committed_while_the_server_went_down_has_one_result(tmp_path: Path) -> None:
    """A past bug: the interruption wrote a second result beside the one that was committed with the change."""
    made = call("create_card", type="task", title="Saw", bootstrap_content="Saw it.")
    async with workplace.opened(tmp_path, lines={"steer": [[made]]}) as shed:
        await shed.change(lambda tx: [tx.run(statement) for statement in _SLOW])
        await shed.start()
        await shed.until(lambda: shed.called("lead") == ["create_card"])
        await shed.until(lambda: _locked(shed))
        await shed.shut_down()
        assert [one["success"] for one in shed.results("lead")] == [True]
        assert shed.card("card-a").title == "Saw"
        assert checks.check(shed.database) == []


def _locked(shed: workplace.Workplace) -> bool:
    with database.locked(shed.database) as held:
        return held
