"""The demo as a stranger runs it: one command, the real server, real commands, a real folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import invariants
from support.postgresql import Server
from workstead import demo

_LIMIT_S = 90


def run(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("WORKSTEAD_")} | settings
    environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    return subprocess.run(
        [sys.executable, "-m", "workstead.demo", *words],
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        env=environ,
        check=False,
    )


def acceptance(folder: Path) -> int:
    command = [sys.executable, "-m", "unittest", "-q", "acceptance"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


@pytest.mark.covers("X01", "W05", "W06", "W08", "W09", "W17")
def test_the_demo_turns_an_objective_into_accepted_work(tmp_path: Path) -> None:
    """quality.md, "Commands": it exits 0 only if the work was really done."""
    assert acceptance(demo._example()) != 0
    folder = tmp_path / "copy"
    done = run("--headless", "--folder", str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    assert acceptance(folder) == 0
    said = done.stdout
    for part in (
        "Isolation of commands: namespaces",
        "Keep due dates in the ledger: done",
        "review by agent:reviewer: revision_required",
        "review by agent:reviewer: approved",
        "assess-completion by agent:planner: complete_reviewed",
        "python3 -B -m unittest -q acceptance -> exit 1",
        "python3 -B -m unittest -q acceptance -> exit 0",
        "changed  ledger/cli.py",
    ):
        assert part in said
    assert "Traceback" not in said + done.stderr


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """Nothing a person has is overwritten."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "kept.txt").write_text("kept")
    done = run("--headless", "--folder", str(folder))
    assert done.returncode == 1
    assert "is there already" in done.stdout
    assert [entry.name for entry in folder.iterdir()] == ["kept.txt"]


def test_a_demo_whose_work_is_not_done_does_not_say_so() -> None:
    """The verdict is the acceptance test's, not the agents'."""
    before = demo._Seen(passes=False, last_line="FAILED", files={})
    assert demo._verdict(before) == "fails (FAILED)"
    assert not demo.really_done(before=before, after=before, ending="done")
    after = demo._Seen(passes=True, last_line="OK", files={})
    assert not demo.really_done(before=after, after=after, ending="done")
    assert not demo.really_done(before=before, after=after, ending="blocked")
    assert demo.really_done(before=before, after=after, ending="done")


@pytest.mark.covers("K13", "X01")
def test_the_demo_runs_on_postgresql_and_only_in_an_empty_database(tmp_path: Path, postgresql_server: Server) -> None:
    """The same job on the second database; a person's own work is not mixed with an example's."""
    address = postgresql_server.create()
    done = run("--headless", "--folder", str(tmp_path / "copy"), WORKSTEAD_DATABASE_URL=address)
    assert done.returncode == 0, done.stdout + done.stderr
    assert acceptance(tmp_path / "copy") == 0
    assert "Keep due dates in the ledger: done" in done.stdout
    assert (done.stderr, address in done.stdout) == ("", False)
    path = tmp_path / "database"
    path.write_text(address)
    assert invariants.check_at_rest(path) == []
    again = run("--headless", "--folder", str(tmp_path / "again"), WORKSTEAD_DATABASE_URL=address)
    assert (again.returncode, again.stdout.count("needs an empty one")) == (1, 1)
    postgresql_server.drop(address)
