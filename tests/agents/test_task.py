"""A node task: whose lock its writes take, and how it can end."""

from pathlib import Path

import pytest

from agents import desk
from workstead.agents import task
from workstead.kernel import scopes

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]


@pytest.mark.covers("W06")
async def test_a_task_writes_in_its_projects_scope_and_numbers_what_it_hands_in(tmp_path: Path) -> None:
    """Architecture, "Lock scopes"; the host judges a call by the id of its row."""
    with desk.opened(tmp_path) as place:
        end = await place.turns(desk.Model(answers=[desk.ends()])).run()
        (call,) = place.finished
        (row,) = [row for row in place.rows() if row.call_id == call.row_id and row.kind.value == "tool_call"]
        turns = place.turns(desk.Model(answers=[]))
        assert turns._task.scope == scopes.project(place.project_id) == place.scope
    assert isinstance(end, task.Accepted)
    assert (call.call_id, call.arguments) == ("call-0", "{}")
    assert isinstance(row.content, dict)
    assert row.content["id"] == call.call_id
