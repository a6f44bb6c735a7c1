"""The page of assistants: made with a form, shown once, revoked with a button (D02)."""

import html
import re

import pytest

from support import door
from support.server import Running

COVERS_MODULES = ("doors/web/pages/assistants.py",)

pytestmark = pytest.mark.covers("D02")

FORM = {"name": "Page", "permission.projects:read": "on", "project.garden": "on", "days": "30"}


def made(browser: Running, **changed: str) -> str:
    """The token that the page shows."""
    answer = browser.post("/assistants", {**FORM, **changed})
    assert answer.status == 200, answer.text
    found = re.search(r'<code id="token">(ws_ast_[^<]+)</code>', answer.text)
    assert found is not None
    return html.unescape(found[1])


def test_an_assistant_is_made_used_and_revoked_in_a_browser(browser: Running) -> None:
    """The whole way."""
    token = made(browser, key="page-1")
    assert {one["slug"] for one in door.call(browser, token, "list_projects")["structuredContent"]["projects"]} == {
        "garden"
    }
    page = browser.get("/assistants").text
    assert token not in page
    assert "projects:read · garden" in page
    identity = re.findall(r'id="assistant-([^"]+)"', page)[0]
    assert browser.post(f"/assistants/{identity}/revoke", {"key": "page-2"}).status == 303
    assert door.ask(browser, token, "ping").status == 401
    assert f'action="/assistants/{identity}/revoke"' not in browser.get("/assistants").text


def test_a_form_sent_twice_makes_one_and_shows_its_token_once(browser: Running) -> None:
    """The hidden key is the receipt's."""
    made(browser, name="Twice", key="page-3")
    assert browser.post("/assistants", {**FORM, "name": "Twice", "key": "page-3"}).status == 409


@pytest.mark.parametrize("left_out", ["project.garden", "permission.projects:read"])
def test_a_form_without_a_choice_is_refused(browser: Running, left_out: str) -> None:
    """Nothing is chosen beforehand; a project or the deliberate `all` must be."""
    form = {name: value for name, value in FORM.items() if name != left_out}
    assert browser.post("/assistants", {**form, "name": "None", "key": left_out}).status == 400
    page = browser.get("/assistants").text
    assert not re.search(r"<input[^>]*checkbox[^>]*checked", page)


def test_nobody_sees_the_page_without_signing_in(live: Running) -> None:
    """Assistants are a person's own."""
    assert live.get("/assistants").status == 401
    assert live.post("/assistants", {**FORM, "key": "k"}).status == 401
