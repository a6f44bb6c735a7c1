"""A run says when the folder has uncommitted changes; git runs contained."""

import subprocess
from pathlib import Path

import pytest

from workstead.runs import uncommitted
from workstead.workspace import folders
from workstead.workspace.launcher import Launcher
from workstead.workspace.spec import Level


@pytest.fixture
def launcher(tmp_path: Path) -> Launcher:
    return Launcher(floor=Level.NAMESPACES, closed_ports=(), data_folder=tmp_path / "data")


def repository(folder: Path) -> Path:
    folder.mkdir()
    folders.prepare(folder)
    git(folder, "init", "-q")
    (folder / "kept.txt").write_text("kept\n")
    git(folder, "add", "kept.txt")
    git(folder, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "first")
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


async def test_a_folder_without_a_repository_needs_no_word(tmp_path: Path, launcher: Launcher) -> None:
    """First-hour decisions, "Real folder"."""
    folder = tmp_path / "plain"
    folder.mkdir()
    folders.prepare(folder)
    assert await uncommitted.notice(launcher, folder) is None


@pytest.mark.covers("W09")
async def test_a_clean_repository_needs_no_word_and_a_changed_one_gets_a_sentence(
    tmp_path: Path, launcher: Launcher
) -> None:
    """First-hour decisions, "Real folder": it says so and goes on."""
    folder = repository(tmp_path / "mine")
    assert await uncommitted.notice(launcher, folder) is None
    (folder / "kept.txt").write_text("changed\n")
    (folder / "new.txt").write_text("new\n")
    said = await uncommitted.notice(launcher, folder)
    assert said == "The folder has 2 files that are not committed; the run goes on and works on top of them."


@pytest.mark.covers("K19")
async def test_a_hostile_repository_runs_its_program_inside_only(tmp_path: Path, launcher: Launcher) -> None:
    """S1: git on a project's folder is contained like any command."""
    folder = repository(tmp_path / "hostile")
    outside = tmp_path / "outside.txt"
    git(folder, "config", "core.fsmonitor", f"touch {outside}; touch ran-inside; false")
    await uncommitted.notice(launcher, folder)
    assert not outside.exists()
    assert (folder / "ran-inside").exists()
