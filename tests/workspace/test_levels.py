"""The level is what the test of a folder found, never what was asked for (S1)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workspace.conftest import names, reached
from workstead import errors
from workstead.workspace import levels, view
from workstead.workspace.launcher import Launcher
from workstead.workspace.spec import Level

pytestmark = pytest.mark.covers("K19")


async def test_the_strongest_level_is_reached_without_a_leak(launcher: Launcher, project: Path) -> None:
    """The probe tries to get out and finds nothing."""
    report = await launcher.probe(project)
    assert (report.level, report.leaks, report.refused) == (Level.NAMESPACES, (), {})
    assert report.took_ms < 5000
    assert names(project) == [".workstead"]
    assert names(project / ".workstead/work") == [".gitignore"]


async def test_a_folder_is_tested_once(launcher: Launcher, project: Path) -> None:
    """A test costs as much as two commands."""
    assert await launcher.probe(project) is await launcher.probe(project)


@pytest.mark.parametrize("level", [Level.LANDLOCK, Level.NONE])
async def test_a_weaker_level_says_what_it_leaves_open(
    launcher_at: Callable[[Level], Launcher], project: Path, level: Level
) -> None:
    """S1: pages show it, so the report must hold it."""
    launcher = await reached(launcher_at(level), project)
    report = await launcher.probe(project)
    assert report.level is level
    assert any(what in report.missing for what in ("protection of .workstead/", "every separation"))


async def test_the_probe_finds_the_ways_out_where_they_are_open(project: Path) -> None:
    """A probe that reports nothing at the level `none` would report nothing anywhere."""
    trial = await levels.trial(
        Level.NONE, folder=project, surroundings=view.Surroundings(), script=levels.SCRIPTS[Level.NAMESPACES]
    )
    assert {"other-files", "signals", "uid", "processes", "same pid namespace"} <= set(trial.leaks)


async def test_below_the_floor_nothing_is_started_and_the_refusal_says_what_to_do(
    project: Path, data_folder: Path
) -> None:
    """S1: it falls only as far as the setting allows; `user` cannot be had where there is one user only."""
    launcher = Launcher(floor=Level.USER, ceiling=Level.USER, closed_ports=(), data_folder=data_folder)
    with pytest.raises(errors.Refusal) as refused:
        await launcher.probe(project)
    assert refused.value.code == "isolation_unavailable"
    assert "root" in refused.value.message
    assert "user namespaces" in refused.value.message


async def test_a_level_that_is_missing_is_passed_over_and_named(project: Path, data_folder: Path) -> None:
    """S1: the operator learns why the stronger one was not reached."""
    launcher = Launcher(floor=Level.NONE, ceiling=Level.USER, closed_ports=(), data_folder=data_folder)
    report = await launcher.probe(project)
    assert report.level is Level.NONE
    assert "root" in report.refused[Level.USER]
    assert launcher.doctor().level is Level.NONE


async def test_the_doctor_tells_kernel_and_floor_before_any_test(data_folder: Path) -> None:
    """`workstead doctor` must answer on a machine where nothing was started yet."""
    doctor = Launcher(floor=Level.LANDLOCK, closed_ports=(), data_folder=data_folder).doctor()
    assert (doctor.level, doctor.floor, doctor.kernel) == (None, Level.LANDLOCK, os.uname().release)
