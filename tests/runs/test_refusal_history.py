"""Refusal history: people find where a content policy blocked a card, and what stands there (W16)."""

from pathlib import Path

import pytest

from support import workplace
from support.database import statement
from support.workplace import result, write
from workstead.agents import refusals
from workstead.agents.conversations import RowKind
from workstead.agents.models import failures
from workstead.agents.models.shape import Sent
from workstead.runs.runs import Ending
from workstead.work.workflow.graph import Candidate

pytestmark = pytest.mark.both_databases

_EXCHANGES = statement("SELECT id FROM exchange ORDER BY id")
SENT = Sent(candidate=Candidate(provider="second", model="m2"), digest="d" * 64, size_bytes=9, attempts=1)


@pytest.mark.covers("W16")
async def test_a_card_that_a_content_policy_blocked_is_in_the_projects_history(tmp_path: Path) -> None:
    """Spec, "Historical refusal inspection": the marker by its row, who refused, both exchanges."""
    no = failures.ContentPolicyError("m2 of second: refused.", sent=SENT)
    async with workplace.opened(tmp_path, lines={"steer": [no, no]}) as shed:
        run = await shed.run()
        found = await shed.ask("list_refusals")
        (one,) = found.refusals
        marker = shed.rows("lead")[one.row - 1]
        exchanges = [str(row[0]) for row in shed.look(lambda tx: tx.all(_EXCHANGES))]
    assert (run.ending, run.reason) == (Ending.BLOCKED, refusals.blocked("lead", one.row))
    assert (one.card_id, one.agent, one.provider, one.model) == ("project", "lead", "second", "m2")
    assert list(one.exchanges) == exchanges
    assert marker.kind is RowKind.REFUSAL
    assert found.next is None


@pytest.mark.covers("W16")
async def test_one_refusal_is_no_history(tmp_path: Path) -> None:
    """The retry that was answered blocked nothing."""
    no = failures.ContentPolicyError("m2 of second: refused.", sent=SENT)
    async with workplace.opened(tmp_path, lines={"steer": [no, [write("status.md", "S"), result("stuck")]]}) as shed:
        await shed.run()
        assert (await shed.ask("list_refusals")).refusals == ()
