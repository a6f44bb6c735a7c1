"""Shown records: what the server knows of the versions that stood before an agent (W13)."""

from dataclasses import replace
from pathlib import Path

import pytest

from agents import desk
from agents.test_shortening import WINDOW, Summaries, reads, segments, text_of
from workstead.agents import shown
from workstead.agents.conversations import RowKind
from workstead.agents.shown import Shown

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]

BRIEF = Shown(card_id="project", record="brief.md", version=1, digest="d1", exposure="whole")
NEWER = replace(BRIEF, version=2, digest="d2")


@pytest.mark.covers("W13", "W14")
async def test_which_version_an_agent_was_shown_is_written_when_it_changes(tmp_path: Path) -> None:
    """Spec, "instruction evidence": what was put before the agent, once, not with every call; no model is sent it."""
    with desk.opened(tmp_path) as place:
        place.records = (BRIEF,)
        model = desk.Model(answers=[desk.calls("a"), desk.calls("a"), desk.ends()])
        await place.turns(model, desk.tool("a")).run()
        place.records = (NEWER,)
        await place.turns(desk.Model(answers=[desk.ends()])).run()
        rows = place.rows()
    assert [shown.of_row(row) for row in rows if row.kind is RowKind.SHOWN] == [(BRIEF,), (NEWER,)]
    assert not any("brief.md" in text_of(request) for request in model.asked)


@pytest.mark.covers("W13", "W14")
async def test_a_segment_knows_which_versions_were_shown_before_it(tmp_path: Path) -> None:
    """Spec, "latestRecordObservations": the newest of each record, inherited without the rows."""
    with desk.opened(tmp_path, window_tokens=WINDOW, summarizer=Summaries(replies=["Short."])) as place:
        place.records = (BRIEF,)
        model = desk.Model(answers=reads(24))
        await place.turns(model, desk.tool("a")).run()
        assert len([row for row in place.rows() if row.kind is RowKind.SHOWN]) == 1
        assert [each.facts.shown for each in segments(place)[-1:]] == [(BRIEF,)]
    assert "- brief.md of project, accepted version 1, whole" in text_of(model.asked[-1])


def test_the_newest_of_each_record_counts() -> None:
    """The order is that of the last time each was shown."""
    other = replace(BRIEF, record="status.md")
    assert shown.newest([BRIEF, other, NEWER]) == (other, NEWER)
