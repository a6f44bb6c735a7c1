"""A project's pages: cards sought, runs, events, settings."""

import re

import pytest

from support.server import Running
from workstead.doors.web import views

COVERS_MODULES = (
    "doors/web/pages/events.py",
    "doors/web/pages/projects.py",
    "doors/web/pages/runs.py",
    "doors/web/pages/settings.py",
    "doors/web/project_views.py",
)


@pytest.mark.covers("W28")
def test_cards_are_sought_by_words_and_status_with_what_is_above_them(finished: Running) -> None:
    """It is seen, item 1: search and filters, as a plain form."""
    page = finished.get("/projects/ledger?q=REFUSE").text
    assert shown(page) == ["project", "card-c"]
    assert "1 of 4 match" in page
    assert shown(finished.get("/projects/ledger?status=done").text) == ["project", "card-a", "card-b", "card-c"]
    assert "No card matches." in finished.get("/projects/ledger?q=nothing+like+it").text


@pytest.mark.covers("W28")
def test_a_project_says_how_its_run_went_and_how_commands_are_contained(finished: Running) -> None:
    """It is seen, item 1: run controls, isolation level."""
    page = finished.get("/projects/ledger").text
    assert 'id="run-start"' in page
    assert "isolation: " in page
    assert "mistyped days are refused" in page


@pytest.mark.covers("W28")
def test_runs_and_events_are_listed(finished: Running) -> None:
    """It is seen, item 1: events."""
    assert 'data-status="done"' in finished.get("/projects/ledger/runs").text
    decided = finished.get("/projects/ledger/events").text
    assert "runs:run:started" in decided
    assert finished.get("/projects/ledger/events?lane=outside").status == 200
    assert finished.get("/projects/ledger/events?lane=nowhere").status == 400


@pytest.mark.covers("W28")
def test_settings_show_configuration_isolation_and_workflows(finished: Running) -> None:
    """It is seen, item 1: settings with configuration, trust and isolation level."""
    page = finished.get("/projects/ledger/settings").text
    for said in ("Accepted: runs may use it", "How commands are contained", "/projects/ledger/workflows/code"):
        assert said in page


def test_the_settings_of_a_new_project_show_what_is_there(browser: Running) -> None:
    """Before anything is accepted there are settings too."""
    assert browser.get("/projects/garden/settings").status == 200


@pytest.mark.parametrize(
    ("ended", "said"),
    [("00:00:01.500000", "1.5 s"), ("00:02:05.000000", "2 min 5 s"), ("02:03:00.000000", "2 h 3 min"), (None, None)],
)
def test_how_long_something_took_reads_as_people_say_it(ended: str | None, said: str | None) -> None:
    """Seconds for minutes, minutes for hours."""
    end = f"2026-01-01T{ended}Z" if ended else None
    assert views.duration("2026-01-01T00:00:00.000000Z", end) == said


def shown(page: str) -> list[str]:
    """The cards of the tree, in their order."""
    return re.findall(r'<a class="card" id="card-([a-z-]+)"', page)
