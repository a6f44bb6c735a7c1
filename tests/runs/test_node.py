"""A node: what its agent is told, how it ends, and how many corrections it gets."""

from pathlib import Path

import pytest

from runs import checks
from support import workplace
from support.workplace import result, write
from workstead.runs.runs import Ending
from workstead.work.workflow.lifecycle import Status

EXHAUSTED = "emit_result was not accepted: the node corrective budget is exhausted."
STUCK = [[write("status.md", "Stuck."), result("stuck", "No wood.")]]


@pytest.mark.covers("W06", "W09")
async def test_a_run_goes_from_its_entry_to_a_terminal(tmp_path: Path) -> None:
    """Spec, workflow engine: entry, two nodes, promotion, exports; the run ends as its root card does."""
    lines = {
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
