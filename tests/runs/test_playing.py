"""Playing: practice gets the script beside the project's files, and nothing else."""

from pathlib import Path

import pytest

from work import folder
from workstead import errors
from workstead.agents.models import routing
from workstead.agents.models.availability import Availability
from workstead.agents.models.practice import Practice
from workstead.agents.models.shape import Transport
from workstead.outbound.client import Client
from workstead.runs import playing
from workstead.testing import SetClock

CONFIGURATION = folder.compiled().configuration
SCRIPT = "- when: {agent: lead, node: steer}\n  turns:\n    - calls: [{read: {path: x}}]\n"


def transport(place: Path) -> Transport:
    """What the first route of the configuration gets; practice answers for it."""
    clock = SetClock()
    means = routing.Means(
        client=Client(), availability=Availability(clock=clock), key_of=lambda key: key.name, clock=clock
    )
    route = next(iter(CONFIGURATION.routes.values()))
    return playing.transport_of(route, CONFIGURATION.providers, place, means=means)


def code_of(place: Path) -> str:
    with pytest.raises(errors.Refusal) as refusal:
        transport(place)
    return refusal.value.code


@pytest.mark.covers("X01")
def test_practice_plays_the_script_of_the_folder(tmp_path: Path) -> None:
    """First-hour decisions, practice: `practice.yaml` beside the project's files."""
    assert code_of(tmp_path) == "practice_script_missing"
    (tmp_path / playing.SCRIPT).write_text(SCRIPT, encoding="utf-8")
    assert isinstance(transport(tmp_path), Practice)
    (tmp_path / playing.SCRIPT).write_text("- when: 1\n", encoding="utf-8")
    assert code_of(tmp_path) == "practice_script_invalid"


@pytest.mark.covers("X01")
def test_a_script_that_is_a_way_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """S3: files are reached component by component, without following links."""
    (tmp_path / "outside.yaml").write_text(SCRIPT, encoding="utf-8")
    place = tmp_path / "inside"
    place.mkdir()
    (place / playing.SCRIPT).symlink_to(tmp_path / "outside.yaml")
    assert code_of(place) != "practice_script_invalid"
