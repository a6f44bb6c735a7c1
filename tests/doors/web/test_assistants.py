"""The page of assistants: made with a form, shown once, revoked with a button (D02)."""

import html
import re

import pytest

from support import door
from support.server import Running
from workstead.kernel.access import Permission

COVERS_MODULES = (
    "accounts/permission_table.py",
    "doors/web/pages/assistants.py",
    "doors/web/permission_views.py",
)

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
    """Only the documentation is chosen beforehand; a project or the deliberate `all` must be."""
    form = {name: value for name, value in FORM.items() if name != left_out}
    assert browser.post("/assistants", {**form, "name": "None", "key": left_out}).status == 400
    page = browser.get("/assistants").text
    assert re.findall(r'<input type="checkbox" name="([^"]+)" checked', page) == ["permission.catalog:read"]
    assert page.count(" checked") == 1


@pytest.mark.covers("D13")
def test_an_assistant_is_narrowed_to_exact_tools_in_a_browser(browser: Running) -> None:
    """D13: ticked tools and nothing else, and the page says so."""
    page = browser.get("/assistants").text
    assert 'name="operation.get_card"' in page
    assert 'name="operation.write_file"' in page
    assert 'name="operation.create_assistant"' not in page
    token = made(browser, name="Narrow", key="page-5", **{"operation.get_card": "on"})
    assert not door.call(browser, token, "get_card", project="garden", card_id="project")["isError"]
    assert door.refused(door.call(browser, token, "list_cards", project="garden")) == "operation_not_granted"
    assert "only get_card" in browser.get("/assistants").text


@pytest.mark.covers("K20")
def test_the_table_of_roles_and_permissions_is_a_page(browser: Running) -> None:
    """K20: printed; what no assistant can hold says so, acts stand in it too."""
    page = browser.get("/assistants/permissions").text
    for permission in Permission:
        assert f'id="permission-{permission.value}"' in page
    row = page.partition('id="permission-project:trust"')[2].partition("</tr>")[0]
    assert re.findall(r"<td>(yes|-|never)</td>", row) == ["-", "-", "-", "yes", "yes", "never"]
    assert "<code>run_command</code>" in page
    assert browser.get("/assistants").text.count('href="/assistants/permissions"') == 1


def test_nobody_sees_the_page_without_signing_in(live: Running) -> None:
    """Assistants are a person's own."""
    assert live.get("/assistants").status == 401
    assert live.get("/assistants/permissions").status == 401
    assert live.post("/assistants", {**FORM, "key": "k"}).status == 401
