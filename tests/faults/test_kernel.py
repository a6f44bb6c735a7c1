"""kill -9 at the kernel's points and under load; afterwards everything is read (K15; quality, "Tests")."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support import database, instance, invariants

pytestmark = pytest.mark.both_databases

PATIENCE_S = 30


def command(path: Path, job: str, argument: str) -> list[str]:
    return [sys.executable, "-m", "faults.kernel_program", str(path), job, argument]


def environment(crash_at: str | None = None) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "WORKSTEAD_CRASH_AT"}
    kept["PYTHONPATH"] = os.pathsep.join(sys.path)
    return kept if crash_at is None else {**kept, "WORKSTEAD_CRASH_AT": crash_at}


def start(path: Path, job: str, argument: str = "", *, crash_at: str | None = None) -> tuple[int, list[object]]:
    """Run one job in its own process; its end and the lines it said."""
    ended = subprocess.run(
        command(path, job, argument),
        env=environment(crash_at),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode in {0, -signal.SIGKILL}, ended.stderr
    return ended.returncode, [json.loads(line) for line in ended.stdout.splitlines()]


def found(path: Path, query: str) -> list[object]:
    return database.first_of(database.rows(path, query))


@pytest.mark.covers("K05", "K15")
@pytest.mark.parametrize(
    ("point", "written"), [("receipt.written", []), ("commit.done", ["r"]), ("announce.done", ["r"])]
)
def test_a_write_that_dies_at_a_point_is_whole_or_absent_and_its_repeat_is_one_change(
    tmp_path: Path, point: str, written: list[str]
) -> None:
    """Nothing acknowledged is lost, nothing is half there, and the client's retry is safe."""
    path = instance.founded(tmp_path / "db").path
    assert start(path, "write", "r", crash_at=point) == (-signal.SIGKILL, [])
    assert invariants.check(path) == []
    assert found(path, "SELECT request_id FROM receipt") == written
    assert found(path, "SELECT count(*) FROM version") == [len(written)]
    assert start(path, "write", "r") == (0, [["r", 1]])
    assert start(path, "write", "r") == (0, [["r", 1]])
    assert invariants.check(path) == []
    assert found(path, "SELECT request_id FROM receipt") == ["r"]
    assert found(path, "SELECT count(*) FROM version") == [1]
    assert found(path, "SELECT topic FROM feed WHERE scope LIKE 'project:%'") == ["notes/r"]


@pytest.mark.covers("K15")
@pytest.mark.parametrize("acknowledged_count", [1, 37, 200])
def test_what_was_acknowledged_under_load_survives_a_kill(tmp_path: Path, acknowledged_count: int) -> None:
    """Eight writers at once, killed in the middle of whatever they do."""
    path = instance.founded(tmp_path / "db").path
    server = subprocess.Popen(command(path, "load", "load"), env=environment(), stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    with server:
        acknowledged = [json.loads(server.stdout.readline())[0] for _ in range(acknowledged_count)]
        server.kill()
        acknowledged += [json.loads(line)[0] for line in server.stdout if line.endswith("\n")]
    assert invariants.check(path) == []
    written = found(path, "SELECT request_id FROM receipt")
    assert set(acknowledged) <= set(written)
    assert len(written) == found(path, "SELECT count(*) FROM version")[0]


@pytest.mark.covers("K15")
@pytest.mark.parametrize(("job", "crash_at", "acted_times"), [("act", "call.written", 0), ("act-and-die", None, 1)])
def test_an_effect_that_dies_before_its_end_is_unknown_once_and_never_repeated(
    tmp_path: Path, job: str, crash_at: str | None, acted_times: int
) -> None:
    """Twice restarted: one unknown, and the act is not run by any start."""
    path = instance.founded(tmp_path / "db").path
    assert start(path, job, str(tmp_path), crash_at=crash_at)[0] == -signal.SIGKILL
    (effect_id,) = found(path, "SELECT id FROM effect")
    assert start(path, "recover") == (0, [[effect_id]])
    assert start(path, "recover") == (0, [[]])
    assert found(path, "SELECT outcome FROM effect_end") == ["unknown"]
    log = tmp_path / "acted"
    assert (log.read_text().split() if log.exists() else []) == [effect_id] * acted_times
    assert invariants.check(path) == []


@pytest.mark.covers("K15")
def test_a_start_that_dies_after_it_recovered_has_recovered(tmp_path: Path) -> None:
    """Recovery is one transaction: what it found out is not found out again."""
    path = instance.founded(tmp_path / "db").path
    assert start(path, "act", str(tmp_path), crash_at="call.written")[0] == -signal.SIGKILL
    assert start(path, "recover", crash_at="commit.done") == (-signal.SIGKILL, [])
    assert found(path, "SELECT outcome FROM effect_end") == ["unknown"]
    assert start(path, "recover") == (0, [[]])
    assert invariants.check(path) == []
