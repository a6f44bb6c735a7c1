"""Writes of cards through the one write path (W02, W11)."""

from pathlib import Path

import pytest

from work import office
from workstead.work.workflow.lifecycle import Status


@pytest.mark.covers("W02")
async def test_a_person_creates_a_card_below_the_root(tmp_path: Path) -> None:
    """W02: a backlog card with its brief accepted as version 1."""
    async with office.open_office(tmp_path) as shed:
        made = await shed.run(
            "create_card", parent="project", type="task", title="Saw boards", bootstrap_content="Six of them."
        )
    assert (made.card_id, made.status, made.revision) == ("card-a", Status.BACKLOG, 1)
