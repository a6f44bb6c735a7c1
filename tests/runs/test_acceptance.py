"""Acceptance: what must hold before a result counts, in the order of the spec, and what follows in one commit."""

from pathlib import Path

import pytest

from runs import checks
from support import workplace
from support.workplace import Line, Lines, Said, activate, call, result, write
from work import folder
from workstead.agents.conversations import RowKind
from workstead.agents.models.shape import Request
from workstead.agents.task import EXHAUSTED
from workstead.kernel.transaction import Tx
from workstead.runs.runs import Ending
from workstead.work import cards, notifications, records
from workstead.work.workflow.graph import MAX_CORRECTIONS
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases

MADE = call("create_card", type="task", title="Saw", bootstrap_content="Saw the planks.")
CHILD: list[Line] = [[write("status.md", "Sawn."), result("done", "Sawn.")]]
MISSING = "This step needs status.md, and it has no written text; write record:///status.md?card=project."
STALE_STATUS = "This step needs status.md brought up to date; write record:///status.md?card=project."


def needs(rule: str) -> str:
    """The small configuration with another requirement of `steer`."""
    place = "          prompt: {reference: steer}\n          correction_prompt: {reference: fix}\n          records:\n"
    old = f"{place}            status.md: {{mode: continue, gate: updated}}"
    return folder.changed(old, f"{place}            status.md: {rule}", source=workplace.SOURCE)


@pytest.mark.covers("W04", "W06")
@pytest.mark.parametrize(
    ("mode", "gate", "second"),
    [
        ("continue", "exists", None),
        ("continue", "updated", STALE_STATUS),
        ("clean", "exists", MISSING),
        ("clean", "updated", MISSING),
    ],
)
async def test_a_requirement_asks_for_what_its_mode_and_gate_say(
    tmp_path: Path, mode: str, gate: str, second: str | None
) -> None:
    """Spec, records: nothing written never passes; an earlier text passes `continue` with `exists` only."""
    first: list[Line] = [[result("ready")], [write("status.md", "One"), result("ready")]]
    again: list[Line] = [[result("stuck")], [write("status.md", "Two"), result("stuck")]]
    lines: Lines = {"steer": [*first, *again], "check": [[write("review.md", "No"), result("redo")]]}
    async with workplace.opened(tmp_path, lines=lines, source=needs(f"{{mode: {mode}, gate: {gate}}}")) as shed:
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        wrong = [one["error"] for one in shed.results("lead") if not one["success"]]
        assert wrong == [MISSING] + ([second] if second else [])
        assert shed.accepted("status.md") == ("Two" if second else "One")
        assert checks.check(shed.database) == []


@pytest.mark.covers("W04")
async def test_a_starter_is_no_written_text(tmp_path: Path) -> None:
    """Spec, records: an initialised baseline satisfies neither gate, and a free read changes nothing."""
    lines: Lines = {
        "steer": [[MADE], activate("Saw"), *[[write("status.md", "S"), result("stuck")]]],
        "do": [[call("read", path="record:///status.md"), result("done")], *CHILD],
    }
    async with workplace.opened(tmp_path, lines=lines) as shed:
        await shed.run()
        read, refused = shed.results("lead", "card-a")[:2]
        assert read["success"]
        assert "# Saw" in str(read["data"])
        assert refused["error"] == (
            "This step needs status.md, and it has no written text; write record:///status.md?card=card-a."
        )
        assert shed.accepted("status.md", "card-a") == "Sawn."
        assert checks.check(shed.database) == []


@pytest.mark.covers("W04")
async def test_drafts_close_in_order_requirements_first_then_by_name(tmp_path: Path) -> None:
    """Spec, records: declaration order, then other written records by name; nobody else's are touched."""
    writes_all = "record_writes: [status.md, a-notes.md, z-notes.md]"
    source = folder.changed("record_writes: [status.md]", writes_all, source=workplace.SOURCE)
    source = source.replace(
        "      status.md: {schema: status.v1}\n      review.md",
        "      status.md: {schema: status.v1}\n      a-notes.md: {schema: notes.v1}\n"
        "      z-notes.md: {schema: notes.v1}\n      review.md",
    )
    writes = [write("z-notes.md", "Z"), write("a-notes.md", "A"), write("status.md", "S"), result("stuck")]
    async with workplace.opened(tmp_path, lines={"steer": [writes]}, source=source) as shed:
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        query = "SELECT topic FROM feed WHERE event = 'work:record:changed' ORDER BY seq DESC LIMIT 3"
        names = [topic.rpartition("/")[2] for topic in shed.sql(query)]
        assert names[::-1] == ["status.md", "a-notes.md", "z-notes.md"]
        found = [shed.accepted(name) for name in names]
        assert found == ["Z", "A", "S"]


@pytest.mark.covers("W04")
async def test_what_a_failed_step_wrote_is_dropped(tmp_path: Path) -> None:
    """Spec, records: a graceful settlement that is not accepted discards what the activation wrote."""
    async with workplace.opened(tmp_path, lines={"steer": [[write("status.md", "Half")]]}) as shed:
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        one = shed.record("status.md")
        assert one is not None
        assert (one.draft, one.accepted, one.baseline) == (None, 0, None)
        assert checks.check(shed.database) == []


@pytest.mark.covers("W04", "W10")
async def test_a_draft_that_a_stopped_step_left_is_closed_by_the_next_writer(tmp_path: Path) -> None:
    """A past bug: the draft kept the time of the dead activation and could never be closed."""
    source = needs("{mode: continue, gate: exists}")
    lines: Lines = {"steer": [[write("status.md", "Half")], [call("run_command", command="sleep 60")]]}
    async with workplace.opened(tmp_path, lines=lines, source=source) as shed:
        await shed.start()
        await shed.until(lambda: "run_command" in shed.called("lead"))
        await shed.stop()
        one = shed.record("status.md")
        assert one is not None
        assert one.draft is not None
        shed.voice.add("steer", [write("status.md", "Whole"), result("stuck")])
        assert (await shed.run()).ending is Ending.BLOCKED
        assert shed.accepted("status.md") == "Whole"


@pytest.mark.covers("W08")
async def test_a_verdict_on_what_has_changed_is_refused_and_the_reviewer_sees_it_anew(tmp_path: Path) -> None:
    """Spec, reviewer arbitration: discard the open review, show the new context, ask again; unchanged then passes."""
    async with workplace.opened(tmp_path) as shed:
        child = await shed.add_card("Saw")

        async def change(_request: Request) -> Said:
            def job(tx: Tx) -> None:
                card = shed.card(child)
                records.write_draft(tx, card, "status.md", text="Changed meanwhile.")

            await shed.change(job)
            return [write("review.md", "Good"), result("redo")]

        shed.voice.add("steer", [write("status.md", "S"), result("ready")], [write("status.md", "T"), result("stuck")])
        shed.voice.add("check", change, [result("redo")], [write("review.md", "Better"), result("redo")])
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        errors = [one["error"] for one in shed.results("judge") if not one["success"]]
        changed = "Something below this card changed since you read it; your open review was discarded."
        assert errors == [
            f"{changed} Judge it as it is now.",
            "This step needs review.md, and it has no written text; write record:///review.md?card=project.",
        ]
        shown = [text for text in shed.texts("judge", RowKind.CONTEXT) if "Records of the cards below" in text]
        assert "(nothing was written)" in shown[0]
        assert "Changed meanwhile." in shown[1]
        assert shed.accepted("review.md") == "Better"


@pytest.mark.covers("W06")
async def test_done_waits_for_the_cards_below_and_blocked_does_not(tmp_path: Path) -> None:
    """Spec, completion gate: a card ends DONE only when its children have ended."""
    lines: Lines = {
        "steer": [[MADE], [write("status.md", "S"), result("ready")], [write("status.md", "T"), result("stuck")]],
        "check": [[write("review.md", "Good"), result("good")], [result("redo")]],
    }
    async with workplace.opened(tmp_path, lines=lines) as shed:
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        refused = [one["error"] for one in shed.results("judge") if not one["success"]]
        assert refused == ["A card ends DONE only when its children have ended; still open: card-a."]


@pytest.mark.covers("W06")
async def test_promotion_and_exports_need_what_they_name(tmp_path: Path) -> None:
    """Spec, compiled graph: a promoted node must have a result in this activation; a record that is handed up, text."""
    entries = "        BLOCKED: {node: steer}\n        STOPPED: {node: steer, prompt"
    blocked = entries.replace("BLOCKED: {node: steer}", "BLOCKED: {node: check}")
    source = folder.changed(entries, blocked, source=workplace.SOURCE)
    lines: Lines = {
        "steer": [[write("status.md", "S"), result("stuck")], [write("status.md", "T"), result("stuck", "Still.")]],
        "check": [[write("review.md", "Good"), result("good")], [result("redo")]],
    }
    async with workplace.opened(tmp_path, lines=lines, source=source) as shed:
        await shed.run()
        ended = await shed.run()
        assert ended.reason == "Still."
        refused = [one["error"] for one in shed.results("judge") if not one["success"]]
        assert refused == ["good needs an accepted result of the step `steer` in this activation."]
        card = shed.card()
        assert card.result is not None
        assert [(one.name, one.version) for one in card.result.exports] == [("status.md", 2)]


@pytest.mark.covers("W12")
async def test_a_notice_defeats_the_recipients_result_once(tmp_path: Path) -> None:
    """Spec, arbitration: paired failure, exactly these notices in order, then removal; nothing is claimed."""
    async with workplace.opened(tmp_path) as shed:

        async def told(_request: Request) -> Said:
            await shed.notify("First.")
            await shed.notify("Second.")
            return [write("status.md", "S"), result("stuck", "Before.")]

        shed.voice.add("steer", told, [result("stuck", "After.")])
        ended = await shed.run()
        assert ended.reason == "After."
        refused = [one for one in shed.results("lead") if not one["success"]]
        assert refused == [
            {
                "success": False,
                "error": "New notices arrived before emit_result was accepted; read them and decide again.",
                "data": {"reason": "pending_notifications"},
            }
        ]
        notices = shed.texts("lead", RowKind.NOTIFICATION)
        assert [text.rpartition(": ")[2] for text in notices] == ["First.", "Second."]
        assert shed.look(lambda tx: notifications.pending(tx, shed.project_id, "project")) == ()


@pytest.mark.covers("W12")
async def test_a_notice_takes_another_agents_done_to_the_recipient(tmp_path: Path) -> None:
    """Spec, arbitration: the conditional edge keeps the accepted result; the recipient is told at its entry."""
    async with workplace.opened(tmp_path) as shed:

        async def told(_request: Request) -> Said:
            await shed.notify("Paint it red.")
            return [write("review.md", "Good"), result("good", "Fine.")]

        shed.voice.add("steer", [write("status.md", "S"), result("ready")], [write("status.md", "T"), result("stuck")])
        shed.voice.add("check", told)
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        assert shed.accepted("review.md") == "Good"
        assert shed.results("judge")[-1] == {"success": True, "data": {"accepted": True}}
        assert [text.rpartition(": ")[2] for text in shed.texts("lead", RowKind.NOTIFICATION)] == ["Paint it red."]
        assert shed.texts("judge", RowKind.NOTIFICATION) == []
        assert "The step `check` ended with `good`: Fine." in "\n".join(shed.texts("lead", RowKind.CONTEXT))


@pytest.mark.covers("W12")
async def test_an_end_clears_the_queue_of_a_card(tmp_path: Path) -> None:
    """Spec, arbitration: a runtime failure may clear admitted notices without delivery."""
    async with workplace.opened(tmp_path) as shed:

        async def told(_request: Request) -> Said:
            await shed.notify("Too late.")
            return OSError("gone")

        shed.voice.add("steer", told)
        assert (await shed.run()).ending is Ending.FAILED
        assert shed.look(lambda tx: notifications.pending(tx, shed.project_id, "project")) == ()
        assert shed.texts("lead", RowKind.NOTIFICATION) == []
        assert shed.card().status is Status.FAILED


@pytest.mark.covers("W06", "W08")
async def test_gates_are_asked_in_the_order_of_the_spec(tmp_path: Path) -> None:
    """Spec, acceptance: records, freshness, completion, promotion; the first that fails speaks alone."""
    good = result("good")
    entries = "        BACKLOG: {node: steer}\n        CHANGED: {node: steer}\n        BLOCKED: {node: steer}"
    first = entries.replace("BACKLOG: {node: steer}", "BACKLOG: {node: check}")
    async with workplace.opened(tmp_path, source=folder.changed(entries, first, source=workplace.SOURCE)) as shed:
        child = await shed.add_card("Saw")

        async def touch(_request: Request) -> Said:
            await shed.change(lambda tx: records.write_draft(tx, shed.card(child), "status.md", text="Changed."))
            return [good]

        async def touch_and_write(request: Request) -> Said:
            await shed.change(lambda tx: records.write_draft(tx, shed.card(child), "status.md", text="Again."))
            return [write("review.md", "One"), good]

        async def cancel(_request: Request) -> Said:
            await shed.change(lambda tx: cards.set_status(tx, shed.card(child), Status.CANCELLED))
            return [good]

        written: Said = [write("review.md", "Two"), good]
        shed.voice.add("check", touch, touch_and_write, written, cancel, [write("review.md", "Three"), good])
        await shed.run()
        refused = [one["error"] for one in shed.results("judge") if not one["success"]]
        assert [_gate(error) for error in refused] == ["record", "fresh", "complete", "fresh", "promotion"]


def _gate(error: str) -> str:
    starts = {
        "This step needs": "record",
        "Something below": "fresh",
        "A card ends DONE only": "complete",
        "good needs an accepted result": "promotion",
    }
    return next(name for start, name in starts.items() if error.startswith(start))


@pytest.mark.covers("W12")
async def test_a_notice_reaches_the_recipient_before_its_next_turn(tmp_path: Path) -> None:
    """Spec, arbitration: entry and continuation deliver, append before remove, in order."""
    async with workplace.opened(tmp_path) as shed:
        await shed.notify("At entry.")

        async def told(_request: Request) -> Said:
            await shed.notify("While you worked.")
            return [call("get_card", card_id="project")]

        shed.voice.add("steer", told, [write("status.md", "S"), result("stuck")])
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        first, second = ("\n".join(message.text for message in one.messages) for one in shed.voice.asked)
        assert ("At entry." in first, "While you worked." in first) == (True, False)
        assert "While you worked." in second
        assert all(one["success"] for one in shed.results("lead"))


@pytest.mark.covers("W06", "W12")
async def test_a_spent_budget_delivers_no_notice(tmp_path: Path) -> None:
    """Spec, exact node corrective budget: exhausted before the selected batch is delivered or removed."""
    async with workplace.opened(tmp_path) as shed:

        async def told(_request: Request) -> Said:
            await shed.notify("Too late.")
            return [write("status.md", "S"), result("stuck")]

        shed.voice.add("steer", *[[result("nothing")]] * MAX_CORRECTIONS, told)
        ended = await shed.run()
        assert (ended.ending, ended.reason) == (Ending.FAILED, EXHAUSTED)
        assert shed.texts("lead", RowKind.NOTIFICATION) == []
        assert shed.accepted("status.md") is None
