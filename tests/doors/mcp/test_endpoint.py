"""The endpoint over a real socket: who is let in, what HTTP it speaks, and what it refuses (D01, D03)."""

import http.client
import json
import socket
from typing import Any

import pytest

from support import door
from support.server import Running
from workstead.doors.mcp import frames

COVERS_MODULES = ("doors/mcp/methods.py", "doors/mcp/results.py")

INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
OLDEST = {"MCP-Protocol-Version": "2025-03-26"}
CARD = {"project": "garden", "parent": "project", "type": "code", "bootstrap_content": "Do it."}
HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.mark.covers("D01")
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT", "OPTIONS"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_without_a_token_every_method_is_challenged(live: Running, method: str, path: str) -> None:
    """facts/mcp.md 6, line 2: a bare 405 without a challenge leaves connectors silent."""
    answer = live.request(method, path, headers={})
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="workstead"'


@pytest.mark.covers("D01")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_with_a_token_everything_but_post_is_not_allowed(live: Running, token: str, method: str) -> None:
    """facts/mcp.md 6, line 1: a stream that never says anything holds a socket per client."""
    answer = live.request(method, "/mcp", headers={"Authorization": f"Bearer {token}", "Accept": "text/event-stream"})
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.covers("D01", "D08")
def test_a_browser_sees_how_to_connect(live: Running) -> None:
    """The connection page needs no sign-in and shows no secret."""
    answer = live.get("/mcp", **HTML)
    assert answer.status == 200
    assert f"{live.origin}/mcp" in answer.text
    assert "Claude Code" in answer.text


@pytest.mark.covers("D01", "K06")
@pytest.mark.parametrize("token", ["x", "ws_in_x", "ws_ast_" + "a" * 43, "ws_ast_é"])
def test_a_token_that_nobody_has_is_named_invalid(live: Running, token: str) -> None:
    """Unknown, malformed and of another kind look the same."""
    answer = live.request("POST", "/mcp", body=b"{}", headers={"Authorization": f"Bearer {token}"})
    assert answer.status == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


@pytest.mark.covers("K06")
def test_a_browsers_sign_in_opens_nothing_here_and_a_token_opens_no_page(browser: Running, token: str) -> None:
    """Each credential is useless for the others' doors."""
    assert door.ask(browser, None, "ping").status == 401
    secret = browser.cookie.partition("=")[2]
    assert door.ask(browser, secret, "ping").status == 401
    name = browser.cookie.partition("=")[0]
    assert browser.get("/", Cookie=f"{name}={token}").status == 401


@pytest.mark.covers("D01")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "example.com"}, 421),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://example.com"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Accept": "text/html"}, 406),
        ({"Content-Length": str(frames.BODY_LIMIT_BYTES + 1)}, 413),
        ({"Mcp-Session-Id": "of-another-start"}, 200),
        ({"Accept": "application/json"}, 200),
        ({"Content-Type": "Application/JSON; charset=utf-8"}, 200),
    ],
)
def test_headers_are_checked_exactly(live: Running, token: str, headers: dict[str, str], status: int) -> None:
    """Exact Host and Origin; facts/mcp.md 6, line 3: a stale session is ignored."""
    assert door.ask(live, token, "ping", **headers).status == status


@pytest.mark.covers("D01")
def test_an_own_origin_is_let_in(live: Running, token: str) -> None:
    """A page of ours may speak to the door."""
    assert door.ask(live, token, "ping", Origin=live.origin).status == 200


@pytest.mark.covers("D01")
@pytest.mark.parametrize("name", ["Authorization", "MCP-Protocol-Version", "Mcp-Method", "Host", "Origin"])
def test_a_header_that_decides_may_come_once(live: Running, token: str, name: str) -> None:
    """Readers of the first and of the last copy would disagree."""
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=5)
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    given = {"Host": f"127.0.0.1:{live.port}", "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.putrequest("POST", "/mcp", skip_host=True)
    for each, value in {**given, name: given.get(name, "2025-11-25"), "Content-Length": str(len(body))}.items():
        connection.putheader(each, value)
    connection.putheader(name, given.get(name, "2025-11-25"))
    connection.endheaders(body)
    assert connection.getresponse().status == 400
    connection.close()


@pytest.mark.covers("D01")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\u0000"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e999}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"9" * 30 + b"}}",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 100 + b"]" * 100 + b"}}",
        b"[" * 100_000,
    ],
)
def test_json_that_two_readers_could_read_differently_is_a_parse_error(live: Running, token: str, body: bytes) -> None:
    """Issue, hostile requests: deep, duplicate keys, lone surrogates, numbers past what JSON carries."""
    answer = door.send(live, token, body)
    assert (answer.status, door.failed(answer)) == (400, frames.PARSE_ERROR)


@pytest.mark.covers("D01")
@pytest.mark.parametrize(
    "body",
    [
        1,
        "ping",
        None,
        {},
        {"id": 1, "method": "ping"},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "method": 7},
        {"jsonrpc": "2.0", "id": 1, "method": ""},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
        {"jsonrpc": "2.0", "id": [1], "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]},
    ],
)
def test_what_is_no_message_is_an_invalid_request(live: Running, token: str, body: object) -> None:
    """`id: null` is no notification: whoever sent it waits for an answer."""
    answer = door.send(live, token, body)
    assert (answer.status, door.failed(answer)) == (400, frames.INVALID_REQUEST)


@pytest.mark.covers("D01")
def test_every_error_names_its_request(live: Running, token: str) -> None:
    """Doors: a request id in every error, the same as in the header."""
    answer = door.ask(live, token, "nothing/here")
    error = json.loads(answer.text)["error"]
    assert error["code"] == frames.METHOD_NOT_FOUND
    assert error["data"]["request_id"] == answer.headers["x-request-id"]


@pytest.mark.covers("D01")
def test_notifications_and_answers_get_no_answer(live: Running, token: str) -> None:
    """202 with nothing in it."""
    for body in ({"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 1, "result": {}}):
        answer = door.send(live, token, body)
        assert (answer.status, answer.body) == (202, b"")


@pytest.mark.covers("D01")
@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
    ],
)
def test_a_handshake_settles_on_a_revision_that_has_them(live: Running, token: str, asked: str, given: str) -> None:
    """The three older revisions."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {**INITIALIZE, "protocolVersion": asked}}
    found = json.loads(door.send(live, token, body).text)["result"]
    assert (found["protocolVersion"], found["serverInfo"]["name"]) == (given, "workstead")
    assert "mcp-session-id" not in door.send(live, token, body).headers


@pytest.mark.covers("D01")
def test_batches_belong_to_the_oldest_revision(live: Running, token: str) -> None:
    """That one requires receiving them; each member has its own answer or error."""
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    note = {"jsonrpc": "2.0", "method": "notifications/x"}
    start = {"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": INITIALIZE}
    answers: list[dict[str, Any]] = json.loads(door.send(live, token, [ping, note, 7, start], **OLDEST).text)
    assert [one["id"] for one in answers] == [1, None, 2]
    assert ["result" in one for one in answers] == [True, False, False]
    assert door.send(live, token, [note], **OLDEST).status == 202
    for body, version in (([], "2025-03-26"), ([ping] * 21, "2025-03-26"), ([ping], "2025-06-18")):
        assert door.send(live, token, body, **{"MCP-Protocol-Version": version}).status == 400


@pytest.mark.covers("D01")
def test_the_newest_revision_has_no_handshake(live: Running, token: str) -> None:
    """Each request stands alone; discovery names what there is."""
    found = json.loads(door.ask_stateless(live, token, "server/discover").text)["result"]
    assert found["supportedVersions"] == ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]
    assert (found["resultType"], found["cacheScope"]) == ("complete", "private")
    for method in ("initialize", "ping", "subscriptions/listen"):
        answer = door.ask_stateless(live, token, method)
        assert (answer.status, door.failed(answer)) == (404, frames.METHOD_NOT_FOUND)


@pytest.mark.covers("D03")
def test_a_result_is_data_and_the_same_as_text(live: Running, token: str) -> None:
    """facts/mcp.md 6, line 13: structured content without text shows as nothing in some clients."""
    found = door.call(live, token, "list_projects")
    assert found["isError"] is False
    assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
    answer = door.ask(live, token, "tools/call", {"name": "list_projects"}, **OLDEST)
    assert "structuredContent" not in json.loads(answer.text)["result"]


@pytest.mark.covers("D03")
def test_a_refusal_is_a_tools_error_that_says_what_to_do(live: Running, token: str) -> None:
    """Code, sentence, advice; no structured content, which would break the tool's own schema."""
    for arguments, code, advice in (
        ({"project": "garden"}, "input_invalid", "correct your call"),
        ({"project": "garden", "card_id": "card-zz"}, "card_not_found", "correct your call"),
        ({"project": "nowhere", "card_id": "project"}, "permission_missing", "this failed for good"),
    ):
        found = door.call(live, token, "get_card", **arguments)
        said = json.loads(found["content"][0]["text"])
        assert "structuredContent" not in found
        assert (said["code"], said["advice"], bool(said["message"])) == (code, advice, True)


@pytest.mark.covers("D03")
@pytest.mark.parametrize("params", [None, {}, {"name": 7}, {"name": "get_card", "arguments": [1]}])
def test_a_call_without_a_name_or_an_object_is_a_protocol_error(live: Running, token: str, params: object) -> None:
    """Wrong types of the protocol's own fields."""
    assert door.failed(door.ask(live, token, "tools/call", params)) == frames.INVALID_PARAMS


@pytest.mark.covers("D02", "D03")
@pytest.mark.parametrize("name", ["create_assistant", "sign_in", "trust_configuration", "create_project", "nothing"])
def test_what_no_assistant_may_do_is_no_tool(live: Running, token: str, name: str) -> None:
    """Such a token opens nothing but this door; what a person alone may do is not behind it."""
    assert door.failed(door.ask(live, token, "tools/call", {"name": name})) == frames.INVALID_PARAMS


@pytest.mark.covers("K09")
def test_a_secret_in_an_answer_is_hidden_and_said_to_be(live: Running, token: str) -> None:
    """S21: tool results are text for reading; a write that holds a placeholder is refused."""
    secret = "ws_link_" + "b" * 43
    card = {**CARD, "title": f"Use {secret}"}
    with live.control() as control:
        made = control.operation("create_card", card)
    found = door.call(live, token, "get_card", project="garden", card_id=made["card_id"])
    assert secret not in json.dumps(found)
    assert found["_meta"] == {"io.workstead/redacted": True}
    title = found["structuredContent"]["title"]
    refused = door.call(live, token, "create_card", **{**card, "title": title})
    assert door.refused(refused) == "placeholder_in_write"


@pytest.mark.covers("K05")
def test_a_repeated_request_id_changes_nothing(live: Running, token: str) -> None:
    """The first answer again."""
    first = door.call(live, token, "create_card", **CARD, title="Once", request_id="once")["structuredContent"]
    again = door.call(live, token, "create_card", **CARD, title="Once", request_id="once")["structuredContent"]
    assert first == again
    made = door.call(live, token, "get_card", project="garden", card_id=first["card_id"])["structuredContent"]
    assert made["created_by"] == {"kind": "assistant", "name": "shared"}


@pytest.mark.covers("K16")
def test_a_client_that_sends_no_body_is_let_go(live: Running, token: str) -> None:
    """It holds nothing: whoever leaves before the body came is forgotten, and others are answered meanwhile."""
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{live.port}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    slow = [socket.create_connection(("127.0.0.1", live.port), timeout=5) for _ in range(200)]
    for each in slow:
        each.sendall(head.encode())
    assert door.ask(live, token, "ping").status == 200
    for each in slow:
        each.close()
    assert door.ask(live, token, "ping").status == 200
