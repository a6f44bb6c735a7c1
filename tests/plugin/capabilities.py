"""Pytest plugin: checks `covers` markers, writes the report, times slices, allows no skips in CI."""

import json
import os
import re
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from plugin import table

# Folders of tests that are a slice of their own; everything else is a unit test.
SLICES = ("browser", "conformance", "faults", "migrations", "rules")


class Recorder:
    """Collects how each test ended; beside several workers that is the session that leads them.

    What a test covers travels with its reports, because only a worker sees the tests themselves.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._path: Path | None = config.getoption("--report")
        self._covers: dict[str, list[str]] = {}
        self._outcome: dict[str, str] = {}
        self._duration_s: dict[str, float] = defaultdict(float)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Refuse a marker that names no capability; send the others along."""
        known = table.meanings(table.DOCUMENT.read_text(encoding="utf-8"))
        for item in items:
            named = [identity for marker in item.iter_markers("covers") for identity in marker.args]
            unknown = sorted(set(named) - known.keys())
            if unknown:
                raise pytest.UsageError(f"{item.nodeid} covers {', '.join(unknown)}: not in docs/capabilities.md")
            item.user_properties.append(("covers", named))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst outcome of set-up, call and tear-down."""
        before = self._outcome.get(report.nodeid, "passed")
        worse = "failed" in {before, report.outcome}
        self._outcome[report.nodeid] = "failed" if worse else _worse(before, report.outcome)
        self._duration_s[report.nodeid] += report.duration
        for name, value in report.user_properties:
            if name == "covers":
                self._covers[report.nodeid] = list(cast("list[str]", value))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the time of each slice above pytest's closing line."""
        if self._path is None:
            return
        slices: dict[str, float] = defaultdict(float)
        for nodeid, duration_s in self._duration_s.items():
            slices[slice_of(nodeid)] += duration_s
        told = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in sorted(slices.items()))
        terminalreporter.write_line(f"time: {told}")

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the report of a run that came to its end."""
        if self._path is None or exitstatus not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
            return
        tests = [
            table.Test(
                id=nodeid,
                outcome=outcome,
                duration_s=round(self._duration_s[nodeid], 4),
                covers=self._covers.get(nodeid, []),
            )
            for nodeid, outcome in self._outcome.items()
        ]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        written = self._path.with_suffix(".tmp")
        written.write_text(json.dumps({"tests": tests}), encoding="utf-8")
        written.replace(self._path)


def slice_of(nodeid: str) -> str:
    """The slice a test belongs to, by its folder."""
    parts = nodeid.split("::", maxsplit=1)[0].split("/")
    if re.search(r"\[.*\bpostgresql\b", nodeid) and parts[1] not in SLICES:
        return "postgresql"
    return parts[1] if len(parts) > 2 and parts[1] in SLICES else "unit"


def _worse(before: str, outcome: str) -> str:
    return "skipped" if "skipped" in {before, outcome} else "passed"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where `./dev test` keeps its report."""
    parser.addoption("--report", type=Path, default=None, help="write the report for ./dev capabilities here")


def pytest_configure(config: pytest.Config) -> None:
    """One recorder per session; a worker sends its reports to the session that leads it and writes none."""
    if hasattr(config, "workerinput"):
        config.option.report = None
    config.pluginmanager.register(Recorder(config), "capability-recorder")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a test that cannot run has failed; an expected failure stays one."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and _in_ci():
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI=true does not allow: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself as a whole."""
    report = yield
    if report.outcome == "skipped" and _in_ci():
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI=true does not allow: {report.longrepr}"
    return report


def _in_ci() -> bool:
    return os.environ.get("CI") == "true"
