"""A prepared project folder, and a launcher at the strongest level or a skip that says why not."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workstead import errors
from workstead.workspace import folders
from workstead.workspace.launcher import Launcher
from workstead.workspace.spec import Level


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    folders.prepare(folder)
    return folder


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "instance.key").write_text("top secret")
    return folder


@pytest.fixture
def launcher_at(data_folder: Path) -> Callable[[Level], Launcher]:
    def make(level: Level) -> Launcher:
        return Launcher(floor=level, ceiling=level, closed_ports=(), data_folder=data_folder)

    return make


@pytest.fixture
async def launcher(project: Path, launcher_at: Callable[[Level], Launcher]) -> Launcher:
    return await reached(launcher_at(Level.NAMESPACES), project)


async def reached(launcher: Launcher, folder: Path) -> Launcher:
    """The launcher, when this machine allows its level; a skip elsewhere, which CI does not accept."""
    try:
        await launcher.probe(folder)
    except errors.Refusal as refusal:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(refusal.message)
    return launcher


def names(folder: Path | str) -> list[str]:
    """What stands in a folder, sorted."""
    return sorted(path.name for path in Path(folder).iterdir())
