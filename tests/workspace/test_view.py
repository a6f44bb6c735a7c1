"""What a command is shown is a list of what is allowed (S1)."""

from pathlib import Path

import pytest

from workstead.workspace import view
from workstead.workspace.spec import Command, Level, Limits

pytestmark = pytest.mark.covers("K19")


def test_only_the_folder_and_its_work_may_be_written(project: Path) -> None:
    """`.workstead/` is read-only except its `work/`."""
    spec = view.spec_for(
        Command(folder=project, argv=("true",)), level=Level.NAMESPACES, surroundings=view.Surroundings()
    )
    writable = [target for _, target, flags, is_folder, _ in spec["binds"] if is_folder and not flags & 1]
    assert writable == [str(project), f"{project}/.workstead/work"]


def test_no_file_that_may_hold_credentials_is_bound(project: Path) -> None:
    """Not even read-only."""
    spec = view.spec_for(
        Command(folder=project, argv=("true",)), level=Level.NAMESPACES, surroundings=view.Surroundings()
    )
    targets = {target for _, target, _, _, _ in spec["binds"]}
    assert not targets & {"/etc", "/etc/shadow", "/etc/pip.conf", "/etc/npmrc", "/etc/gitconfig", "/home", "/root"}


def test_package_tools_are_told_that_they_are_offline_only_then(project: Path) -> None:
    """Npm would try for minutes under `network: none`."""
    for network, told in (("none", True), ("full", False)):
        command = Command(folder=project, argv=("true",), network=network)  # type: ignore[arg-type]
        spec = view.spec_for(command, level=Level.NAMESPACES, surroundings=view.Surroundings())
        assert ("PIP_NO_INDEX" in spec["environment"]) is told


def test_the_command_s_own_environment_lies_over_the_operator_s_and_that_over_ours(project: Path) -> None:
    """Three layers, the nearest wins."""
    surroundings = view.Surroundings(environment={"LANG": "de_DE.UTF-8", "TERM": "xterm"})
    command = Command(folder=project, argv=("true",), environment={"TERM": "vt100"})
    seen = view.spec_for(command, level=Level.NAMESPACES, surroundings=surroundings)["environment"]
    assert (seen["LANG"], seen["TERM"], seen["CI"]) == ("de_DE.UTF-8", "vt100", "1")


def test_memory_is_at_most_half_of_the_machine(project: Path) -> None:
    """A limit above what there is would never be met."""
    command = Command(folder=project, argv=("true",), limits=Limits(memory_bytes=1 << 60))
    spec = view.spec_for(command, level=Level.NAMESPACES, surroundings=view.Surroundings())
    assert 0 < spec["memory_bytes"] < 1 << 50
