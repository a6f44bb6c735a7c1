"""Context: what an agent is given at a node is what is there, bounded, with what is left out declared."""

from pathlib import Path

import pytest

from support import workplace
from support.workplace import call, result, write
from workstead.agents.conversations import RowKind
from workstead.runs import context
from workstead.runs.runs import Ending
from workstead.work import records
from workstead.work.workflow.graph import EntrySpec
from workstead.work.workflow.lifecycle import Entry

pytestmark = pytest.mark.both_databases


@pytest.mark.covers("W06")
async def test_a_brief_is_shown_whole_however_long_it_is(tmp_path: Path) -> None:
    """Spec, "Preparation": the full accepted body is mandatory; what does not fit is refused, never cut."""
    brief = "START " + "x" * 100_000 + " END"
    stuck = [write("status.md", "S"), result("stuck")]
    async with workplace.opened(tmp_path, lines={"steer": [stuck]}) as shed:
        await shed.ask("write_record", card_id="project", name="brief.md", content=brief)
        await shed.run()
        shown = shed.voice.asked[0].messages[0].text
        assert brief in shown


@pytest.mark.covers("W08")
async def test_a_reviewer_is_shown_every_card_below_with_the_selected_records(tmp_path: Path) -> None:
    """Spec, reviewer context: exact cards and records, in order; a record nobody wrote is said to be missing."""
    lines: workplace.Lines = {
        "steer": [[write("status.md", "S"), result("ready")], [write("status.md", "T"), result("stuck")]],
        "check": [[write("review.md", "R"), result("redo")]],
    }
    async with workplace.opened(tmp_path, lines=lines) as shed:
        saw = await shed.add_card("Saw")
        await shed.add_card("Nail")
        long = "é" * (context.RECORD_LIMIT_BYTES // 2) + "end"
        await shed.change(lambda tx: records.write_draft(tx, shed.card(saw), "status.md", text=long))
        assert (await shed.run()).ending is Ending.BLOCKED
        shown = shed.texts("judge", RowKind.CONTEXT)[0]
        assert shown.startswith("Records of the cards below, as they are now:\n\n## card-a (task, backlog): Saw\n")
        left_out = context.RECORD_LIMIT_BYTES + 3 - 2 * context.RECORD_END_BYTES
        assert f"é\n[... {left_out + 1} bytes are left out here; read the record ...]\né" in shown
        assert "## card-b (task, backlog): Nail\n### status.md <record:///status.md?card=card-b>" in shown
        assert shown.endswith("(nothing was written)")


@pytest.mark.covers("W06")
async def test_children_are_listed_with_what_they_wait_for(tmp_path: Path) -> None:
    """The prepared block is read anew before every call."""
    made = call("create_card", type="task", title="Saw", bootstrap_content="Saw.")
    then = call("create_card", type="task", title="Nail", bootstrap_content="Nail.", depends_on=["card-a"])
    lines: workplace.Lines = {"steer": [[made, then], [write("status.md", "S"), result("stuck")]]}
    async with workplace.opened(tmp_path, lines=lines) as shed:
        await shed.run()
        before, after = (one.messages[0].text for one in shed.voice.asked)
        assert "It has no child cards." in before
        assert "- card-a (task, backlog): Saw\n- card-b (task, backlog, after card-a): Nail" in after


def test_only_the_stopped_entry_says_something_of_its_own() -> None:
    """Spec: promptless BACKLOG, CHANGED and BLOCKED entries contribute no transition message."""
    spec = EntrySpec(node="steer", prompt=None)
    texts = {entry: context.by_entry(entry, spec).text for entry in Entry}
    assert [entry for entry, text in texts.items() if text is not None] == [Entry.STOPPED]
