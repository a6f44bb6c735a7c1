"""The plugin, in sessions of its own: markers, report, slices and skips."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from plugin import table
from plugin.capabilities import slice_of


def session(folder: Path, body: str, *options: str, ci: str = "") -> subprocess.CompletedProcess[str]:
    """Run pytest on one test module with the plugin loaded."""
    (folder / "test_it.py").write_text(f"import pytest\n{body}", encoding="utf-8")
    # Without the plugins that are merely installed a session starts four times as fast.
    environ = {
        **os.environ,
        "CI": ci,
        "PYTHONPATH": str(table.ROOT / "tests"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        os.devnull,
        "--rootdir",
        ".",
        "-p",
        "plugin.capabilities",
    ]
    return subprocess.run(
        [*command, *options, "test_it.py"],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_unknown_capability_fails_the_collection(tmp_path: Path) -> None:
    """quality.md, tests: the table is checked both ways."""
    done = session(tmp_path, "@pytest.mark.covers('K01', 'K99')\ndef test_a(): pass\n")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_a covers K99: not in docs/capabilities.md" in done.stderr


BODY = """
@pytest.mark.covers("K01", "W02")
def test_passes(): pass
@pytest.mark.covers("K01")
def test_fails(): assert False
@pytest.mark.covers("W02")
def test_skips(): pytest.skip("no PostgreSQL here")
@pytest.fixture
def broken():
    yield
    raise RuntimeError
def test_fails_afterwards(broken): pass
"""


def test_the_report_holds_every_test_with_its_worst_outcome(tmp_path: Path) -> None:
    """quality.md, commands."""
    done = session(tmp_path, BODY, "--report", "out/report.json")
    tests = json.loads((tmp_path / "out/report.json").read_text())["tests"]
    assert {(test["id"].split("::")[1], test["outcome"], *test["covers"]) for test in tests} == {
        ("test_passes", "passed", "K01", "W02"),
        ("test_fails", "failed", "K01"),
        ("test_skips", "skipped", "W02"),
        ("test_fails_afterwards", "failed"),
    }
    assert "time: unit" in done.stdout
    assert "2 failed" in done.stdout.splitlines()[-1] or "1 failed" in done.stdout.splitlines()[-1]


def test_a_session_that_broke_off_leaves_the_last_report(tmp_path: Path) -> None:
    """The table speaks of the last full run."""
    (tmp_path / "report.json").write_text("kept")
    done = session(tmp_path, "def test_a(): raise KeyboardInterrupt\n", "--report", "report.json")
    assert done.returncode == pytest.ExitCode.INTERRUPTED
    assert (tmp_path / "report.json").read_text() == "kept"


@pytest.mark.parametrize(
    "body",
    [
        "def test_a(): pytest.skip('no browser')\n",
        "pytest.skip('no browser', allow_module_level=True)\n",
        "@pytest.mark.skipif(True, reason='no browser')\ndef test_a(): pass\n",
    ],
)
def test_in_ci_a_skipped_test_fails_with_its_reason(tmp_path: Path, body: str) -> None:
    """quality.md, commands: what cannot run is reported as skipped, and fails when CI=true."""
    assert "no browser" in (elsewhere := session(tmp_path, body, "-rs")).stdout
    assert elsewhere.returncode in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
    in_ci = session(tmp_path, body, ci="true")
    assert in_ci.returncode not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
    assert "no browser" in in_ci.stdout


def test_an_expected_failure_is_no_skip(tmp_path: Path) -> None:
    """Xfail names a known fault; CI must not turn it red."""
    done = session(tmp_path, "@pytest.mark.xfail\ndef test_a(): assert False\n", ci="true")
    assert done.returncode == pytest.ExitCode.OK


@pytest.mark.parametrize(
    ("nodeid", "name"),
    [
        ("tests/faults/test_kill.py::test_a", "faults"),
        ("tests/faults/test_kill.py::test_a[postgresql-done]", "faults"),
        ("tests/kernel/test_store.py::test_a[postgresql]", "postgresql"),
        ("tests/browser/test_first.py::test_a[x/y]", "browser"),
        ("tests/kernel/test_store.py::test_a", "unit"),
        ("tests/test_rules.py::test_a", "unit"),
    ],
)
def test_a_test_belongs_to_the_slice_of_its_folder(nodeid: str, name: str) -> None:
    """quality.md, tests: `./dev test` prints the time of each slice."""
    assert slice_of(nodeid) == name


def test_beside_workers_the_leading_session_reports_for_all(tmp_path: Path) -> None:
    """A worker sees the tests and their markers; the report must not lose either."""
    report = tmp_path / "report.json"
    done = session(tmp_path, BODY, "-p", "xdist.plugin", "-n", "1", f"--report={report}")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    covers = {test["id"].rpartition(":")[2]: test["covers"] for test in json.loads(report.read_text())["tests"]}
    assert covers["test_passes"] == ["K01", "W02"]
    assert covers["test_skips"] == ["W02"]
