"""The doctor says what stands in the way for whoever asks, and what to do; it changes nothing."""

from pathlib import Path
from typing import Any

import pytest

from support import door
from support.server import Running

COVERS_MODULES = ("runs/doctor.py",)

pytestmark = pytest.mark.covers("D02")


def consult(live: Running, token: str, **given: str) -> dict[str, dict[str, Any]]:
    """The findings by name."""
    result = door.call(live, token, "doctor", **given)
    assert not result["isError"], result
    found = result["structuredContent"]
    assert found["well"] == all(each["standing"] != "bad" for each in found["findings"])
    return {each["name"]: each for each in found["findings"]}


@pytest.fixture(scope="module")
def patient(live: Running) -> Path:
    """A project of its own, whose configuration may be broken."""
    folder = live.data.parent / "patient"
    folder.mkdir()
    with live.control() as control:
        given = {"folder": str(folder), "name": "patient", "title": "The patient", "objective": "Get well."}
        control.procedure("initialise", given)
    return folder


def test_a_credential_learns_what_it_is(live: Running) -> None:
    """Issue: what is wrong with this instance and project for this credential."""
    token = door.token_of(live, "patient one", "projects:read", projects=["garden"], operations=["doctor"], days=1)
    found = consult(live, token)
    assert (
        "patient one may use projects:read, narrowed to doctor, in 1 chosen projects" in found["credential"]["message"]
    )
    assert found["credential"]["standing"] == "look"
    assert "garden" in found["projects"]["message"]
    assert found["isolation"]["standing"] in {"good", "look"}


def test_one_without_a_project_is_told_whom_to_ask(live: Running) -> None:
    """Advice is something one can do."""
    found = consult(live, door.token_of(live, "patient two", "catalog:read", projects=[]))
    assert found["projects"]["standing"] == "bad"
    assert "Ask the person" in found["projects"]["advice"]


def test_a_project_is_looked_through(live: Running, token: str, patient: Path) -> None:
    """Folder, configuration, run, cards; a mistake is named with its place."""
    found = consult(live, token, project="patient")
    assert {name: each["standing"] for name, each in found.items() if name != "isolation"} == {
        "credential": "good",
        "folder": "good",
        "configuration": "good",
        "run": "good",
        "cards": "good",
    }
    file = patient / ".workstead" / "workstead.yaml"
    kept = file.read_text()
    file.write_text(kept.replace("format: 1", "formatt: 1"))
    try:
        sick = consult(live, token, project="patient")["configuration"]
        assert sick["standing"] == "bad"
        assert "formatt" in sick["message"]
    finally:
        file.write_text(kept)
    away = patient.with_name("away")
    patient.rename(away)
    try:
        found = consult(live, token, project="patient")
        assert (found["folder"]["standing"], found["configuration"]["standing"]) == ("bad", "bad")
    finally:
        away.rename(patient)


@pytest.mark.covers("K06")
def test_nothing_is_said_about_a_project_one_may_not_see(live: Running, patient: Path) -> None:
    """Missing and forbidden look the same."""
    token = door.token_of(live, "patient three", "projects:read", projects=["garden"])
    for project in ("patient", "nothing"):
        assert door.refused(door.call(live, token, "doctor", project=project)) == "project_not_found"
    blind = door.token_of(live, "patient four", "projects:write", projects=["patient"])
    assert door.refused(door.call(live, blind, "doctor", project="patient")) == "permission_missing"
