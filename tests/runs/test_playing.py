"""Playing: practice gets the script beside the project's files, and nothing else."""

from pathlib import Path

import pytest

from work import folder
from workstead import errors
from workstead.agents.models.practice import Practice
from workstead.runs import playing
from workstead.work.workflow.graph import Provider

PRACTICE = folder.compiled().configuration.providers["practice"]
SCRIPT = "- when: {agent: lead, node: steer}\n  turns:\n    - calls: [{read: {path: x}}]\n"


def code_of(provider: Provider, place: Path) -> str:
    with pytest.raises(errors.Refusal) as refusal:
        playing.transport_of(provider, place)
    return refusal.value.code


@pytest.mark.covers("X01")
def test_practice_plays_the_script_of_the_folder(tmp_path: Path) -> None:
    """First-hour decisions, practice: `practice.yaml` beside the project's files."""
    assert code_of(PRACTICE, tmp_path) == "practice_script_missing"
    (tmp_path / playing.SCRIPT).write_text(SCRIPT, encoding="utf-8")
    assert isinstance(playing.transport_of(PRACTICE, tmp_path), Practice)
    (tmp_path / playing.SCRIPT).write_text("- when: 1\n", encoding="utf-8")
    assert code_of(PRACTICE, tmp_path) == "practice_script_invalid"


@pytest.mark.covers("X01")
def test_a_script_that_is_a_way_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """S3: files are reached component by component, without following links."""
    (tmp_path / "outside.yaml").write_text(SCRIPT, encoding="utf-8")
    place = tmp_path / "inside"
    place.mkdir()
    (place / playing.SCRIPT).symlink_to(tmp_path / "outside.yaml")
    assert code_of(PRACTICE, place) != "practice_script_invalid"
