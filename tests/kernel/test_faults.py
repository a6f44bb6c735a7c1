"""Crash points (design: what done means, tests/faults)."""

import os
import signal
import subprocess
import sys

import pytest

from workstead import errors
from workstead.kernel import faults

PROGRAM = """
from workstead.kernel import faults
for name in ("receipt.written", "commit.done", "receipt.written", "commit.done"):
    faults.point(name)
    print(name, flush=True)
"""


def run(setting: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "WORKSTEAD_CRASH_AT"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    if setting is not None:
        environment["WORKSTEAD_CRASH_AT"] = setting
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.covers("K15")
def test_the_named_point_kills_the_process_before_it_goes_on() -> None:
    """A crash test needs a death nothing can catch, exactly at the point."""
    ended = run("commit.done")
    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout.split() == ["receipt.written"]


@pytest.mark.covers("K15")
def test_a_count_kills_at_that_time_and_not_before() -> None:
    """`name:N` means the N-th time the point is reached."""
    ended = run("commit.done:2")
    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout.split() == ["receipt.written", "commit.done", "receipt.written"]


@pytest.mark.parametrize("setting", [None, "", "migration.half"])
def test_points_that_were_not_named_do_nothing(setting: str | None) -> None:
    """Ordinary life has no crash points."""
    ended = run(setting)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(ended.stdout.split()) == 4


@pytest.mark.parametrize(
    "setting", ["commit", "commit.done:", "commit.done:0", "commit.done:-1", "commit.done:x", ":2"]
)
def test_a_setting_that_names_no_point_stops_the_start(setting: str) -> None:
    """A crash test with a typing mistake would otherwise prove nothing."""
    with pytest.raises(errors.Refusal) as refused:
        faults.armed(setting)
    assert refused.value.code == "crash_point_unknown"
    assert run(setting).returncode == 1


def test_the_module_documents_every_point() -> None:
    """The table in the docstring is what a person reads."""
    assert faults.__doc__ is not None
    for name in faults.POINTS:
        assert f"\n| {name} | " in faults.__doc__
