"""An activation: a card carried from an entry to a terminal, its children, and what breaks beside it."""

from pathlib import Path

import pytest
from sqlalchemy import text

from runs import checks
from support import workplace
from support.workplace import Line, Lines, Said, Workplace, activate, call, result, write
from workstead import errors
from workstead.agents.conversations import RowKind
from workstead.agents.models.shape import Call, Request
from workstead.kernel.store import prepared
from workstead.kernel.transaction import Tx
from workstead.runs import activation
from workstead.runs.runs import Ending
from workstead.work import records
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases

STUCK: list[Call] = [write("status.md", "S"), result("stuck")]
DONE: Line = [write("status.md", "Sawn."), result("done", "Sawn.")]


def made(title: str, **fields: object) -> Call:
    return call("create_card", type="task", title=title, bootstrap_content=f"{title} it.", **fields)


@pytest.mark.covers("W05", "W09", "W13")
async def test_a_child_runs_to_its_end_and_its_parent_reads_the_outcome(tmp_path: Path) -> None:
    """Spec, activation: admit, run, report; the parent's direction reaches the child byte for byte."""
    direction = "Mind the knots.\n\n  Twice."
    lines: Lines = {"steer": [[made("Saw")], activate("Saw", direction), STUCK], "do": [DONE]}
    async with workplace.opened(tmp_path, lines=lines) as shed:
        await shed.run()
        assert shed.results("lead")[1] == {
            "success": True,
            "data": {
                "card_id": "card-a",
                "outcome": "done",
                "summary": "Sawn.",
                "result": {
                    "node": "do",
                    "outcome": "done",
                    "records": [{"name": "status.md", "url": "record:///status.md?card=card-a&v=1"}],
                },
            },
        }
        assert direction in next(one for one in shed.voice.asked if one.situation.node == "do").messages[0].text
        found = (await shed.ask("list_activations", card_id="card-a")).activations
        assert [(one.entry, one.ending, one.direction) for one in found] == [("BACKLOG", "done", direction)]
        assert checks.check(shed.database) == []


@pytest.mark.covers("W05", "W11")
async def test_only_a_ready_immediate_child_is_activated(tmp_path: Path) -> None:
    """Spec, activation admission: dependency, kinship and status are asked before anything is written."""

    def wrong(request: Request) -> Said:
        children = request.situation.children
        targets = [children["Nail"].card_id, "project", "card-z", "card-a-a", children["Saw"].card_id]
        return [call("activate_card", card_id=one, instructions="Go.") for one in targets]

    def nail(_request: Request) -> Said:
        return [made("Nail", depends_on=["card-a"])]

    lines: Lines = {"steer": [[made("Saw")], nail, wrong, activate("Saw"), activate("Nail"), STUCK], "do": [DONE, DONE]}
    async with workplace.opened(tmp_path, lines=lines) as shed:
        await shed.run()
        results = shed.results("lead")[2:9]
        codes = [one["data"].get("code") if not one["success"] else one["data"]["outcome"] for one in results]
        assert codes[:1] + codes[4:] == ["dependency_not_done", "done", "card_not_startable", "done"]
        assert None not in codes
        assert [one["success"] for one in results] == [False, False, False, False, True, False, True]
        assert shed.statuses() == {"project": Status.BLOCKED, "card-a": Status.DONE, "card-b": Status.DONE}
        assert checks.check(shed.database) == []


@pytest.mark.covers("W05")
async def test_a_child_that_fails_or_blocks_is_an_outcome_its_parent_goes_on_from(tmp_path: Path) -> None:
    """Spec, outcomes: blocked and failed are reported, not raised; a blocked child may be started again."""
    lines: Lines = {
        "steer": [[made("Saw")], activate("Saw"), activate("Saw"), STUCK],
        "do": [OSError("no"), DONE],
    }
    async with workplace.opened(tmp_path, lines=lines) as shed:
        await shed.run()
        failed, refused = shed.results("lead")[1:3]
        assert (failed["success"], failed["data"]["outcome"], failed["data"]["result"]["outcome"]) == (
            True,
            "failed",
            "execution:failed",
        )
        assert refused["success"] is False
        assert shed.card("card-a").status is Status.FAILED
        assert checks.check(shed.database) == []


@pytest.mark.covers("W06")
async def test_a_step_that_breaks_inside_fails_its_card_under_an_id(tmp_path: Path) -> None:
    """House style 26: the trace goes to the log, one neutral sentence and its id to the agent."""
    async with workplace.opened(tmp_path) as shed:

        async def break_it(_request: Request) -> Said:
            await shed.change(lambda tx: _spoil(tx, shed))
            return [result("stuck")]

        shed.voice.add("steer", break_it)
        ended = await shed.run()
        assert ended.ending is Ending.FAILED
        assert ended.reason is not None
        opened = (await shed.ask("list_activations", card_id="project")).activations[0]
        assert ended.reason == f"The step `steer` failed inside the server (id {opened.id}:0)."
        assert "Lookup" not in str(shed.results("lead"))
        assert shed.card().status is Status.FAILED


@pytest.mark.covers("W06")
async def test_a_record_in_the_way_blocks_the_card_with_the_reason(tmp_path: Path) -> None:
    """A refusal at the entry of a step is for a person to look at, not a failure of the server."""
    script = "- when: [not a scene]\n"
    async with workplace.opened(tmp_path, script=script) as shed:
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        assert ended.reason is not None
        assert ended.reason.startswith("steer: practice.yaml cannot be played: practice.yaml:1")


def test_the_refusal_of_a_stopped_run_is_found_however_deep_it_stands() -> None:
    """A past bug: a refusal inside nested groups was raised as a group, and others beside it were swallowed."""
    stopped = errors.unauthenticated("Stopped.")
    nested = ExceptionGroup("outer", [ExceptionGroup("inner", [stopped])])
    assert activation._split(nested) == (stopped, None)
    assert activation._split(stopped) == (stopped, None)
    broken = ValueError("broken")
    assert activation._split(broken) == (None, broken)
    found, others = activation._split(ExceptionGroup("outer", [stopped, broken]))
    assert found is stopped
    assert isinstance(others, ExceptionGroup)
    assert others.exceptions == (broken,)


@pytest.mark.covers("W05", "W17")
@pytest.mark.only_sqlite("made by a trigger of its kind")
async def test_a_command_whose_end_cannot_be_told_fails_the_child_and_not_the_run(tmp_path: Path) -> None:
    """A past bug: the child stayed running below a parent that went on."""
    background = call("run_command", command="sleep 0.3", wait=False)
    async with workplace.opened(tmp_path) as shed:

        async def refuse(_request: Request) -> Said:
            await shed.change(lambda tx: tx.run(_REFUSE))
            return [call("run_command", command="sleep 30")]

        async def allow(_request: Request) -> Said:
            await shed.change(lambda tx: tx.run(_ALLOW))
            return STUCK

        shed.voice.add("steer", [made("Saw")], activate("Saw"), allow)
        shed.voice.add("do", [background], refuse)
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        outcome = shed.results("lead")[1]["data"]
        assert outcome["outcome"] == "failed"
        assert outcome["summary"].startswith("The step `do` failed inside the server (id ")
        assert shed.card("card-a").status is Status.FAILED
        assert checks.check(shed.database) == []


_REFUSE = prepared(
    text("CREATE TRIGGER broken BEFORE INSERT ON process_end BEGIN SELECT RAISE(ABORT, 'no space'); END")
)
_ALLOW = prepared(text("DROP TRIGGER broken"))
_SPOIL = prepared(
    text(
        "UPDATE record SET accepted = 7, draft = NULL, draft_version = NULL, draft_target = NULL, opened_at = NULL "
        "WHERE name = 'status.md'"
    )
)


def _spoil(tx: Tx, shed: Workplace) -> None:
    """A record whose accepted text is gone, as no commit of ours leaves it."""
    card = shed.card()
    records.write_draft(tx, card, "status.md", text="Gone.")
    tx.run(_SPOIL)


@pytest.mark.covers("W06")
async def test_entries_say_how_the_card_is_met(tmp_path: Path) -> None:
    """Spec: a promptless entry contributes nothing; STOPPED contributes the fixed notice and its prompt."""
    lines: Lines = {"steer": [[call("run_command", command="sleep 60")]]}
    async with workplace.opened(tmp_path, lines=lines) as shed:
        await shed.start()
        await shed.until(lambda: "run_command" in shed.called("lead"))
        assert shed.texts("lead", RowKind.CONTEXT) == []
        await shed.stop()
        shed.voice.add("steer", STUCK)
        await shed.run()
        told = shed.texts("lead", RowKind.CONTEXT)
        assert told[0].startswith("An earlier activation of this card was interrupted.")
        assert told[1] == "stopped of a project"
        assert shed.voice.asked[-1].situation.entry == "STOPPED"
