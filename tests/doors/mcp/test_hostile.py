"""Hostile requests that no other file tells of: other doors' tokens, disagreeing headers, a fuzz of every method."""

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import door
from support.server import Running
from workstead.doors.mcp import frames, revisions

METHODS = (
    "completion/complete",
    "initialize",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "server/discover",
    "tools/call",
    "tools/list",
    "notifications/initialized",
    "notifications/cancelled",
    "tasks/get",
    "__init__",
)
NAMES = ("get_card", "doctor", "write_file", "run_command", "list_cards", "search_documentation", "catch_up", "", "..")
KEYS = (
    *("name", "arguments", "uri", "cursor", "ref", "argument", "context", "type", "value", "_meta", "progressToken"),
    *(
        "project",
        "card_id",
        "path",
        "content",
        "command",
        "query",
        "offset",
        "response_bytes",
        "position",
        "request_id",
    ),
    *("protocolVersion", "capabilities"),
)
TEXTS = st.sampled_from(
    [*NAMES, *METHODS, "garden", "project", "workstead://guides/runs", "workstead://projects/garden", "ref/prompt"]
) | st.text(max_size=30)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | TEXTS, inner, max_size=5),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def reader(live: Running) -> str:
    """May read everything there is, and change nothing."""
    return door.token_of(live, "fuzzed", "catalog:read", "projects:read", "runs:read")


@pytest.mark.covers("D01", "D03")
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(METHODS) | TEXTS,
    params=JSON,
    identity=st.none() | st.integers(-5, 5) | st.text(max_size=5),
    revision=st.sampled_from([*revisions.ALL, "2030-01-01", None]),
)
def test_no_message_breaks_the_server_or_is_answered_with_an_inner_error(
    live: Running, reader: str, method: str, params: Any, identity: Any, revision: str | None
) -> None:
    """Issue, hostile requests: every message is answered as a result, a refusal or a protocol error that says why."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if identity is not None:
        body["id"] = identity
    headers = {} if revision is None else {"MCP-Protocol-Version": revision}
    if revision == revisions.STATELESS and isinstance(params, dict):
        meta = {f"io.modelcontextprotocol/{key}": value for key, value in door.ENVELOPE.items()}
        body["params"] = {**params, "_meta": meta}
        headers["Mcp-Method"] = _header(method)
        named = params.get("uri" if method == "resources/read" else "name")
        if isinstance(named, str):
            headers["Mcp-Name"] = _header(named)
    answer = door.send(live, reader, body, **headers)
    assert answer.status in {200, 202, 400, 404}, answer.text
    if answer.status == 202:
        assert answer.body == b""
        return
    found = json.loads(answer.text)
    assert found["jsonrpc"] == "2.0"
    assert ("result" in found) != ("error" in found)
    if "error" in found:
        assert found["error"]["code"] != frames.INTERNAL_ERROR, (method, params)
        assert found["error"]["data"]["request_id"] == answer.headers["x-request-id"]
    else:
        assert found["id"] == identity


@pytest.mark.covers("K06", "D02")
def test_a_token_of_another_door_opens_nothing_here(live: Running, reader: str) -> None:
    """Each kind is useless for the others, though all stand in one table; they look like tokens that nobody has."""
    with live.control() as control:
        personal = str(control.operation("create_api_token", {"name": "for the API"})["secret"])
    link = live.fresh_link()
    unknown = door.ask(live, "ws_ast_" + "a" * 43, "ping")
    for other in (personal, link):
        answer = door.ask(live, other, "ping")
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == unknown.headers["www-authenticate"]
        assert json.loads(answer.text)["error"]["message"] == json.loads(unknown.text)["error"]["message"]
    own = live.request("GET", "/api/projects", headers={"Authorization": f"Bearer {reader}"})
    assert own.status == 401


@pytest.mark.covers("K06")
def test_a_token_in_an_address_or_a_cookie_is_none(live: Running, reader: str) -> None:
    """What stands in an address is logged by whoever passes it on."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    sent = {"Content-Type": "application/json"}
    assert live.request("POST", f"/mcp?token={reader}", body=body, headers=sent).status == 401
    assert live.request("POST", f"/mcp?access_token={reader}", body=body, headers=sent).status == 401
    assert live.request("POST", "/mcp", body=body, headers=sent | {"Cookie": f"token={reader}"}).status == 401
    basic = base64.b64encode(f"x:{reader}".encode()).decode()
    assert live.request("POST", "/mcp", body=body, headers=sent | {"Authorization": f"Basic {basic}"}).status == 401


@pytest.mark.covers("D01")
@pytest.mark.parametrize(
    ("method", "params", "header"),
    [
        ("resources/read", {"uri": "workstead://guides/runs"}, "workstead://guides/concepts"),
        ("prompts/get", {"name": "catch_up"}, "debug_run"),
        ("tools/call", {"name": "get_card"}, "write_file"),
        ("tools/call", {"name": "get_card"}, "=?base64?Z2V0X2NhcmQ?="),
        ("tools/call", {"name": "get_card"}, "GET_CARD"),
    ],
)
def test_a_proxy_that_read_another_name_is_told_so(
    live: Running, reader: str, method: str, params: dict[str, object], header: str
) -> None:
    """2026-07-28: whoever admits by the header must have admitted what the body asks."""
    answer = door.ask_stateless(live, reader, method, params, **{"Mcp-Name": header})
    assert (answer.status, door.failed(answer)) == (400, frames.HEADER_MISMATCH)


@pytest.mark.covers("K10", "D03")
def test_a_huge_argument_is_refused_by_its_field_and_never_shown_again(live: Running, reader: str) -> None:
    """An answer that repeats what was sent would double every attack."""
    text = "x" * 500_000
    for name, arguments in (
        ("search_documentation", {"query": text}),
        ("get_card", {"project": text, "card_id": "project"}),
        ("get_card", {"project": "garden", "card_id": text}),
        (text, {}),
    ):
        answer = door.ask(live, reader, "tools/call", {"name": name, "arguments": arguments})
        assert len(answer.body) < 3_000, name[:40]


def _header(text: str) -> str:
    """The text as a header may carry it."""
    plain = text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?") and text
    return text if plain else f"=?base64?{base64.b64encode(text.encode()).decode()}?="
