"""The pages of agents, model calls, budgets and refusals."""

import re
from pathlib import Path

import pytest

from support.server import Running
from work import folder as small
from work.office import write_folder
from workstead.doors.web import model_views, views

COVERS_MODULES = (
    "doors/web/model_views.py",
    "doors/web/pages/agents.py",
    "doors/web/pages/budgets.py",
    "doors/web/pages/exchanges.py",
)
KEYLESS = small.changed(
    "practice: {kind: practice, models: [practice]}",
    'practice: {kind: openai-chat, models: [practice], base_url: "http://127.0.0.1:9/v1", key: "secret:not-there"}',
)


def blocked(live: Running, place: Path, name: str) -> None:
    """A project whose run ended, because its model's key is not there."""
    write_folder(place, source=KEYLESS)
    with live.control() as control:
        made = control.operation(
            "create_project", {"folder": str(place), "name": name, "title": name, "objective": "Try."}
        )
        control.operation("trust_configuration", {"project": made["id"], "digest": made["digest"]})
        control.operation("start_run", {"project": made["id"]})
        while control.operation("get_run", {"project": made["id"]})["ended_at"] is None:
            pass


@pytest.mark.covers("W11", "W28", "K05")
def test_a_blocked_card_is_reopened_once_by_its_form(browser: Running, tmp_path: Path) -> None:
    """Nothing starts; a double click is one receipt; a card that was reopened has no such button."""
    blocked(browser, tmp_path / "stuck", "Stuck")
    at = "/projects/stuck/cards/project"
    form = rf'action="{at}/reopen">\s*<input type="hidden" name="key" value="([0-9a-f]{{32}})"'
    key = re.search(form, browser.get(at).text)
    assert key is not None
    assert [browser.post(f"{at}/reopen", {"key": key[1]}).status for _ in range(2)] == [303, 303]
    page = browser.get(at).text
    assert 'data-status="changed"' in page
    assert f"{at}/reopen" not in page
    assert browser.post(f"{at}/reopen", {"key": "another-key"}).status == 409


@pytest.mark.covers("W15", "W28")
def test_a_call_that_failed_reads_well_and_leads_to_its_place(browser: Running, tmp_path: Path) -> None:
    """What happened, what was done, what a person can do; from the list to the call and on to the card."""
    blocked(browser, tmp_path / "keyless", "Keyless")
    calls = browser.get("/projects/keyless/exchanges?failed=1").text
    address = re.search(r'href="(/projects/keyless/exchanges/[0-9a-f-]+)"', calls)
    assert address is not None
    assert "key missing" in calls
    page = browser.get(address[1]).text
    assert "The key that the configuration names is not there." in page
    assert "Store the key on the page Keys, then Run." in page
    assert 'href="/projects/keyless/cards/project"' in page
    agents = browser.get("/projects/keyless/agents").text
    assert "secret:not-there" in agents
    assert "practice:practice" in agents
    assert "None like that." in browser.get("/projects/keyless/exchanges?agent=nobody").text
    assert browser.get("/projects/keyless/exchanges/made-up").status == 404


@pytest.mark.covers("W15", "W28", "K05")
def test_a_budget_is_set_once_shown_and_forgotten(browser: Running, tmp_path: Path) -> None:
    """The form's key makes a double click one receipt; a number that is none is refused with its field."""
    place = write_folder(tmp_path / "thrifty")
    with browser.control() as control:
        made = control.operation(
            "create_project", {"folder": str(place), "name": "Thrifty", "title": "Thrifty", "objective": "Save."}
        )
        control.operation("trust_configuration", {"project": made["id"], "digest": made["digest"]})
    at = "/projects/thrifty/budgets"
    assert "there is no limit" in browser.get(at).text
    key = re.search(r'name="key" value="([0-9a-f]{32})"', browser.get(at).text)
    assert key is not None
    form = {"key": key[1], "target": "project:", "card_id": "", "tokens": "50000", "money": "2.50", "minutes": ""}
    assert [browser.post(at, form).status for _ in range(2)] == [303, 303]
    page = browser.get(at).text
    assert "0 of 50,000 tokens" in page
    assert "set by" in page
    assert browser.post(at, {**form, "key": "b" * 32, "target": "agent:lead", "money": ""}).status == 303
    assert "agent lead" in browser.get(at).text
    wrong = browser.post(at, {**form, "key": "c" * 32, "tokens": "many"})
    assert (wrong.status, "tokens" in wrong.text) == (400, True)
    assert browser.post(at, {**form, "key": "d" * 32, "target": "card:", "card_id": "card-zz"}).status == 404
    assert browser.post(at, {**form, "key": "e" * 32, "remove": "1"}).status == 303
    assert "0 of 50,000 tokens" not in browser.get(at).text.partition("agent lead")[0]


@pytest.mark.covers("W15", "W28")
@pytest.mark.parametrize("by", ["day", "agent", "card", "model"])
def test_usage_is_summed_up_by_what_was_chosen(finished: Running, by: str) -> None:
    """Practice's calls are counted, though nothing is paid for them."""
    page = finished.get(f"/projects/ledger/budgets?by={by}").text
    wanted = {"agent": "executor", "card": "card-a", "model": "practice:practice", "day": "20"}[by]
    assert re.search(rf'<th scope="row">{wanted}', page)


@pytest.mark.covers("W16", "W28")
def test_a_project_without_a_refusal_says_so(finished: Running) -> None:
    """The page is there before it is needed."""
    assert "No card was blocked" in finished.get("/projects/ledger/refusals").text


@pytest.mark.covers("W15")
def test_pages_of_calls_lead_on_to_the_oldest(finished: Running) -> None:
    """Every call of the run is on exactly one page."""
    seen: list[str] = []
    address = "/projects/ledger/exchanges"
    while address:
        page = finished.get(address).text
        seen += re.findall(r'id="call-([0-9a-f-]+)"', page)
        older = re.search(r'rel="next" href="([^"]+)"', page)
        address = older[1].replace("&amp;", "&") if older else ""
    with finished.control() as control:
        (whole,) = control.operation("list_usage", {"project": "ledger", "by": "project"})["usage"]
    assert len(seen) == len(set(seen)) == whole["calls"]


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0.0 s"), (2_449, "2.4 s"), (61_000, "1 min 1 s"), (7_380_000, "2 h 3 min")]
)
def test_a_duration_is_said_as_people_say_it(value: int, shown: str) -> None:
    assert views.seconds(value / 1000) == shown


@pytest.mark.parametrize(
    ("micros", "shown"), [(0, "0.00 USD"), (12_500_000, "12.50 USD"), (1_234, "0.001234 USD"), (10_000, "0.01 USD")]
)
def test_an_amount_has_as_many_decimals_as_it_needs(micros: int, shown: str) -> None:
    assert model_views.money(micros, "USD") == shown
