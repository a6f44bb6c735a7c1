"""Rows of processes: birth, end, and what a recovery looks for."""

from pathlib import Path

import pytest

from support import instance
from workstead.agents import process_rows
from workstead.kernel import scopes
from workstead.workspace.child import Birth, Ending
from workstead.workspace.processes import Ended

pytestmark = pytest.mark.both_databases

BIRTH = Birth(pid=12, start_ticks=34, boot_id="boot")


@pytest.mark.covers("W17", "K19")
def test_a_process_without_an_end_is_found_until_its_end_is_written(tmp_path: Path) -> None:
    """Architecture: what was started and not ended is settled by a recovery."""
    found = instance.founded(tmp_path / "workstead.sqlite3")
    project_id, scope = found.project.id, scopes.project(found.project.id)
    with instance.transaction(found.path) as tx:
        for number in (1, 2):
            started = process_rows.Started(
                id=f"proc-{number}",
                scope=scope,
                project_id=project_id,
                card_id="card-a",
                activation_id="activation-1",
                command="make",
                cwd="src",
                birth=BIRTH,
            )
            process_rows.add(tx, started)
        ended = Ended(ending=Ending(kind="signalled", signal=9), stdout_bytes=5, stdout_complete=False)
        process_rows.end(tx, scope=scope, card_id="card-a", process_id="proc-1", ended=ended)
        (left,) = process_rows.unended(tx, project_id)
        assert (left.id, left.birth, left.command, left.cwd, left.end) == ("proc-2", BIRTH, "make", "src", None)
        first = process_rows.read(tx, "proc-1")
        assert first is not None
        assert first.end is not None
        assert (first.end.kind, first.end.code, first.end.signal) == ("signalled", None, 9)
        assert (first.end.stdout_bytes, first.end.stdout_complete, first.end.stderr_complete) == (5, False, True)
        assert [one.id for one in process_rows.of_card(tx, project_id, "card-a")] == ["proc-1", "proc-2"]
        assert process_rows.of_card(tx, project_id, "card-b") == ()
        assert process_rows.read(tx, "proc-3") is None
