"""The page of keys: stored, replaced, forgotten, with what uses them; no value is ever shown (K09)."""

import re
from pathlib import Path

import pytest

from support.server import Running
from work import folder as small
from work.office import write_folder

COVERS_MODULES = ("doors/web/key_views.py", "doors/web/pages/keys.py", "work/key_uses.py")
VALUE = "sk-of-the-page-0123456789abcdef"
USING = small.changed(
    "practice: {kind: practice, models: [practice]}",
    'practice: {kind: openai-chat, models: [practice], base_url: "https://models.example/v1", key: "secret:page-key"}',
)


@pytest.mark.covers("K09", "W28")
def test_a_key_is_stored_masked_replaced_and_forgotten(browser: Running, tmp_path: Path) -> None:
    """docs/models.md: masked, replace, delete, and which projects and routes use it."""
    folder = write_folder(tmp_path / "orchard", source=USING)
    with browser.control() as control:
        made = control.operation(
            "create_project", {"folder": str(folder), "name": "Orchard", "title": "Orchard", "objective": "Trees."}
        )
        control.operation("trust_configuration", {"project": made["id"], "digest": made["digest"]})
    page = browser.get("/keys").text
    assert "secret:page-key" in page
    assert "not stored: what uses it is blocked" in page
    assert browser.post("/keys", {"name": "page-key", "value": VALUE}).status == 303
    page = browser.get("/keys").text
    assert "•••••••• set" in page
    assert re.search(r"orchard.*https://models.example/v1, for think", page, re.DOTALL)
    assert browser.post("/keys", {"name": "page-key", "value": f"{VALUE}2"}).status == 303
    refused = browser.post("/keys", {"name": "Not A Name", "value": VALUE})
    assert (refused.status, VALUE in refused.text) == (400, False)
    for path in ("/keys", "/account", "/projects/orchard/settings", "/projects/orchard/events"):
        assert VALUE not in browser.get(path).text
    key = re.search(r'name="key" value="([0-9a-f]{32}-page-key)"', page)
    assert key is not None
    assert browser.post("/keys/page-key/delete", {"key": key[1]}).status == 303
    assert "not stored" in browser.get("/keys").text
    assert browser.post("/keys/page-key/delete", {"key": "another"}).status == 404
