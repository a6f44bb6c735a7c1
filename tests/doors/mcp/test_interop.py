"""One test per report of a client that failed elsewhere (facts/mcp.md 6) and that no other file tells of.

Lines 1 to 3 and 13 stand in `test_endpoint.py`, 12 and 14 in `test_tools.py`, 15 in `test_clients.py`, 19 in
`test_bridge.py`; 4 to 9 and 18 are about OAuth.
"""

import json

import pytest

from support import door
from support.server import Running
from workstead.doors.mcp import frames, revisions

WELL_KNOWN = ("oauth-protected-resource", "oauth-protected-resource/mcp", "oauth-authorization-server")


@pytest.mark.covers("D01")
def test_line_3_a_request_needs_no_handshake_before_it(live: Running, token: str) -> None:
    """Clients that do not initialize again after a restart go on; the stale session they name is ignored."""
    for _ in range(2):
        answer = door.ask(live, token, "tools/list", **{"Mcp-Session-Id": "of-another-start"})
        assert answer.status == 200
        assert "mcp-session-id" not in answer.headers


@pytest.mark.covers("D01")
def test_line_10_a_static_token_is_enough_and_nothing_asks_for_a_sign_in(live: Running, token: str) -> None:
    """Claude Code: the mere presence of metadata made it say that a working token needs authentication."""
    assert door.ask(live, token, "tools/list").status == 200
    for name in WELL_KNOWN:
        answer = live.request("GET", f"/.well-known/{name}", headers={"Accept": "application/json"})
        assert answer.status in {401, 404}
        assert "authorization_endpoint" not in answer.text


@pytest.mark.covers("D03", "K06")
@pytest.mark.parametrize("name", ["create_card", "start_run", "run_command", "write_file"])
def test_line_11_what_a_token_lacks_is_never_an_http_403(live: Running, name: str) -> None:
    """Claude Code reads a 403 as an expired token and asks to sign in again; a tool's error says what is missing."""
    token = door.token_of(live, f"poor {name}", "projects:read")
    given = {
        "create_card": {"parent": "project", "type": "code", "title": "T", "bootstrap_content": "x"},
        "start_run": {},
        "run_command": {"command": "true"},
        "write_file": {"path": "x", "content": "x"},
    }
    answer = door.ask(live, token, "tools/call", {"name": name, "arguments": {"project": "garden", **given[name]}})
    assert answer.status == 200
    assert door.refused(json.loads(answer.text)["result"]) == "permission_missing"


@pytest.mark.covers("D01")
@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
def test_line_14_a_cursor_that_was_never_given_is_refused(live: Running, token: str, method: str) -> None:
    """A server that takes any cursor and gives the first page again makes clients ask for ever."""
    assert "nextCursor" not in json.loads(door.ask(live, token, method).text)["result"]
    answer = door.ask(live, token, method, {"cursor": "page-2"})
    assert door.failed(answer) == frames.INVALID_PARAMS


@pytest.mark.covers("D01")
def test_line_16_a_client_that_asks_for_a_future_is_told_what_there_is(live: Running, token: str) -> None:
    """Rust SDK: it fell back on -32601 only; the error names every revision there is."""
    answer = door.ask(live, token, "server/discover", {}, **{"MCP-Protocol-Version": "2030-01-01"})
    error = json.loads(answer.text)["error"]
    assert (answer.status, error["code"]) == (400, frames.UNSUPPORTED_VERSION)
    assert error["data"]["supported"] == [*reversed(revisions.ALL)]
    assert error["data"]["requested"] == "2030-01-01"


@pytest.mark.covers("D01")
@pytest.mark.parametrize("header", ["X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "X-Original-Host"])
def test_line_17_what_a_proxy_claims_changes_no_address(live: Running, token: str, header: str) -> None:
    """mcp-remote and others: addresses made from forwarded headers were wrong, or poisoned."""
    value = "host=evil.example;proto=https" if header == "Forwarded" else "evil.example"
    page = live.get("/mcp", Accept="text/html", **{header: value})
    assert page.status == 200
    assert "evil.example" not in page.text
    assert "evil.example" not in str(live.request("POST", "/mcp", headers={header: value}).headers)
    assert door.ask(live, token, "ping", **{header: value}).status == 200
