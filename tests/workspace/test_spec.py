"""Levels have an order, strongest first."""

import marshal
from pathlib import Path

import pytest

from workstead.workspace import view
from workstead.workspace.spec import Command, Level

pytestmark = pytest.mark.covers("K19")


def test_levels_are_ordered_from_strong_to_weak() -> None:
    """The floor is compared by strength (S1)."""
    assert sorted(Level, key=lambda level: -level.strength) == [
        Level.NAMESPACES,
        Level.LANDLOCK,
        Level.USER,
        Level.NONE,
    ]


def test_a_spec_survives_the_way_to_the_launcher_program(project: Path) -> None:
    """It is read by a program without site packages, so it holds plain values only."""
    command = Command(folder=project, argv=("a", "b"), environment={"X": "é"})
    spec = view.spec_for(command, level=Level.NAMESPACES, surroundings=view.Surroundings())
    assert marshal.loads(marshal.dumps(dict(spec), 2)) == spec
