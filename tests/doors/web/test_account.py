"""The page of an account: a token is made, shown once, used and revoked; and the page of the API (K01, W20)."""

import re

import pytest

from support.server import Running

COVERS_MODULES = ("doors/web/account_views.py", "doors/web/pages/account.py")


@pytest.mark.covers("K01", "W20")
def test_a_token_is_shown_once_opens_the_api_and_ends(browser: Running) -> None:
    """Only its digest is stored."""
    page = browser.get("/account").text
    key = re.search(r'name="key" value="([0-9a-f]{32})"', page)
    assert key is not None
    given = {"name": "my script", "days": "7", "key": key[1]}
    made = browser.post("/account/tokens", given)
    token = re.search(r"ws_api_[A-Za-z0-9_-]{43}", made.text)
    assert token is not None
    assert token[0] not in browser.get("/account").text
    asked = browser.request("GET", "/api/me", headers={"Authorization": f"Bearer {token[0]}"})
    assert asked.status == 200
    again = browser.post("/account/tokens", given)
    assert again.status == 409, "a double click makes one token"
    found = re.search(r'action="(/account/tokens/[^"]+/revoke)"', browser.get("/account").text)
    assert found is not None
    assert browser.post(found[1], {"key": "k-revoke"}).status == 303
    assert browser.request("GET", "/api/me", headers={"Authorization": f"Bearer {token[0]}"}).status == 401


@pytest.mark.covers("W20")
def test_a_person_sees_the_addresses_of_the_api(browser: Running) -> None:
    """The same table that the document for programs is made of."""
    page = browser.get("/api").text
    assert "/api/projects/{project}/cards" in page
    assert "/api/openapi.json" in page
