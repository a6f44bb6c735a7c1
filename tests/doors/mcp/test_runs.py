"""An assistant that may run starts, watches and stops work for its owner, over the real door."""

from pathlib import Path

import pytest

from support import door, server


@pytest.mark.covers("D02", "W09")
def test_an_assistant_that_may_run_runs_for_its_owner(tmp_path: Path) -> None:
    """S6: running is a permission of its own; the agents borrow the rights of the person behind."""
    folder = tmp_path / "garden"
    folder.mkdir()
    with server.running(tmp_path / "data") as live:
        with live.control() as control:
            given = {"folder": str(folder), "name": "garden", "title": "The garden", "objective": "Grow."}
            control.procedure("initialise", given)
        token = door.token_of(live, "runner", "projects:control", "projects:run", "runs:read", projects=["garden"])
        controls = door.token_of(live, "controller", "projects:control", projects=["garden"])
        assert door.refused(door.call(live, controls, "start_run", project="garden")) == "permission_missing"
        started = door.call(live, token, "start_run", project="garden", request_id="r")["structuredContent"]
        assert door.call(live, token, "start_run", project="garden", request_id="r")["structuredContent"] == started
        found = door.call(live, token, "get_run", project="garden")["structuredContent"]
        with live.control() as control:
            owner = control.operation("get_me", {})["name"]
            facts = control.operation("list_evidence", {"project": "garden"})["facts"]
        assert (found["id"], found["person"]) == (started["id"], owner)
        assert "assistant:runner" in {one["actor"] for one in facts if one["event"] == "runs:run:started"}
        assert door.call(live, token, "list_runs", project="garden")["structuredContent"]["runs"]
