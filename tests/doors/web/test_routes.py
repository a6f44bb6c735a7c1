"""The pages, through a real server: who is let in, what is shown, and what every answer carries."""

import re

import pytest

from support.server import Running
from workstead.doors.web import routes

COVERS_MODULES = (
    "doors/web/desk.py",
    "doors/web/rendering.py",
    "doors/web/views.py",
)


@pytest.mark.covers("W28")
def test_the_list_names_every_project_with_its_state(browser: Running) -> None:
    """First-hour decisions, addresses: `/` is the list of projects."""
    answer = browser.get("/")
    assert answer.status == 200
    assert 'href="/projects/garden"' in answer.text
    assert 'data-status="backlog"' in answer.text


@pytest.mark.covers("W28")
def test_a_project_page_shows_its_cards_as_a_tree(browser: Running) -> None:
    """A card stands inside its parent's item and leads to its own page."""
    with browser.control() as control:
        made = control.operation("create_card", new_card("Dig the bed"))
    page = browser.get("/projects/garden").text
    assert page.index('id="card-project"') < page.index("<ul>") < page.index(f'id="card-{made["card_id"]}"')
    assert f'href="/projects/garden/cards/{made["card_id"]}"' in page


@pytest.mark.covers("W28")
def test_a_card_page_shows_its_brief_and_leads_to_its_history(browser: Running) -> None:
    """Records are shown as text, never as markup that somebody else wrote."""
    with browser.control() as control:
        made = control.operation("create_card", new_card("<b>Bold</b>", brief="<script>alert(1)</script>"))
    page = browser.get(f"/projects/garden/cards/{made['card_id']}").text
    assert "&lt;b&gt;Bold&lt;/b&gt;" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    history = browser.get(f"/projects/garden/cards/{made['card_id']}/history")
    assert history.status == 200
    assert "create" in history.text


@pytest.mark.covers("K09")
def test_a_secret_in_a_text_is_hidden_on_the_page(browser: Running) -> None:
    """S21: pages are text for reading."""
    secret = "ws_link_" + "a" * 43
    with browser.control() as control:
        made = control.operation("create_card", new_card("Key", brief=f"Use {secret} to enter."))
    page = browser.get(f"/projects/garden/cards/{made['card_id']}").text
    assert secret not in page
    assert "[redacted:" in page


@pytest.mark.covers("K06")
@pytest.mark.parametrize("path", ["/", "/projects/garden", "/projects/garden/configuration", "/live?topic=projects"])
def test_without_a_sign_in_nothing_is_shown(live: Running, path: str) -> None:
    """Architecture, errors: 401 with a challenge at every door."""
    answer = live.get(path)
    assert answer.status == 401
    assert answer.headers["www-authenticate"]
    assert "garden" not in answer.text


@pytest.mark.covers("K06")
def test_a_made_up_cookie_is_nobody(live: Running) -> None:
    """A cookie is a proof, read in every transaction."""
    assert live.get("/", Cookie=f"ws_in_{live.port}=ws_in_made_up").status == 401


def test_a_missing_project_and_a_missing_page_are_not_found(browser: Running) -> None:
    """Missing and forbidden look the same."""
    assert browser.get("/projects/nowhere").status == 404
    assert browser.get("/nowhere").status == 404
    assert browser.get("/projects/garden/run").status == 405


@pytest.mark.parametrize("path", ["/", "/projects/garden", "/projects/garden/configuration", "/sign-in"])
def test_pages_hold_no_inline_script_or_style(browser: Running, path: str) -> None:
    """House style, line 67: pages work under their own policy."""
    page = browser.get(path).text
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", page, re.IGNORECASE)


@pytest.mark.covers("K18")
def test_health_needs_no_sign_in_and_says_nothing_else(live: Running) -> None:
    """K18: health and readiness."""
    assert (live.get("/health").status, live.get("/health").body) == (200, b"ok\n")
    assert (live.get("/health/ready").status, live.get("/health/ready").body) == (200, b"ready\n")


@pytest.mark.covers("W28")
def test_trusting_on_the_page_accepts_exactly_what_was_shown(browser: Running) -> None:
    """S2: a person accepts a digest; another one is refused."""
    stale = browser.post("/projects/garden/configuration", {"digest": "0" * 64, "key": "k1"})
    assert stale.status == 409


def test_every_route_names_a_handler_and_a_method() -> None:
    """Line 46: routes are an explicit table that a reader can print."""
    assert len({(method, path) for method, path, _ in routes.ROUTES}) == len(routes.ROUTES)
    assert {method for method, _, _ in routes.ROUTES} == {"GET", "POST"}


def new_card(title: str, *, brief: str = "Do it.") -> dict[str, object]:
    """A card below the project's own."""
    return {"project": "garden", "parent": "project", "type": "code", "title": title, "bootstrap_content": brief}
