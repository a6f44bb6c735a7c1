"""The API over a real socket: reads and changes, who is let in, and what it refuses (W20, K06, K16)."""

import hashlib
import json
from typing import Any

import pytest

from support import door
from support.server import Answer, Running

COVERS_MODULES = (
    "doors/rest/problems.py",
    "doors/rest/inputs.py",
    "accounts/api_tokens.py",
    "accounts/api_token_operations.py",
)
CARD = {"parent": "project", "type": "code", "title": "Dig", "bootstrap_content": "Dig it."}

pytestmark = pytest.mark.covers("W20")


@pytest.fixture(scope="module")
def token(live: Running) -> str:
    """A personal token of the operator."""
    return made(live, "program")


def made(live: Running, name: str) -> str:
    """A fresh personal token."""
    with live.control() as control:
        return str(control.operation("create_api_token", {"name": name})["secret"])


def ask(live: Running, token: str | None, method: str, path: str, body: object = None, **headers: str) -> Answer:
    """One request as a program sends it."""
    sent = dict(headers)
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
    if body is not None:
        sent.setdefault("Content-Type", "application/json")
    return live.request(method, path, body=raw, headers=sent)


def problem(answer: Answer, status: int) -> dict[str, Any]:
    """The problem in an answer."""
    assert answer.status == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = json.loads(answer.text)
    assert found["status"] == status
    assert found["request_id"] == answer.headers["x-request-id"]
    return found


@pytest.mark.covers("K05")
def test_a_card_is_made_read_changed_and_listed(live: Running, token: str) -> None:
    """The same receipts as at every door: a repeated key gives the first answer and changes nothing."""
    first = ask(live, token, "POST", "/api/projects/garden/cards", CARD, **{"Idempotency-Key": "dig-1"})
    assert first.status == 201, first.text
    card = json.loads(first.text)["card_id"]
    again = ask(live, token, "POST", "/api/projects/garden/cards", {**CARD, "request_id": "dig-1"})
    assert json.loads(again.text)["card_id"] == card
    other = ask(
        live, token, "POST", "/api/projects/garden/cards", {**CARD, "title": "No"}, **{"Idempotency-Key": "dig-1"}
    )
    assert problem(other, 409)["code"] == "request_id_reused"
    path = f"/api/projects/garden/cards/{card}"
    changed = ask(live, token, "PATCH", path, {"title": "Dig deep"})
    assert changed.status == 200, changed.text
    assert json.loads(ask(live, token, "GET", path).text)["title"] == "Dig deep"
    shown = json.loads(ask(live, token, "GET", f"{path}/versions/1/difference?to_version=2").text)
    assert "Dig deep" in json.dumps(shown)
    listed = json.loads(ask(live, token, "GET", "/api/projects/garden/cards?status=backlog&status=done").text)
    assert card in [one["card_id"] for one in listed["cards"]]


def test_a_reader_that_has_it_already_is_told_so(live: Running, token: str) -> None:
    """An unchanged answer costs no second transfer."""
    first = ask(live, token, "GET", "/api/projects")
    again = ask(live, token, "GET", "/api/projects", **{"If-None-Match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


@pytest.mark.covers("K06")
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_a_credential_every_address_is_challenged(live: Running, method: str) -> None:
    """Which project there is, nobody learns without one."""
    found = ask(live, None, method, "/api/projects/nowhere/run", {} if method == "POST" else None)
    assert problem(found, 401)["code"] == "unauthenticated"
    assert found.headers["www-authenticate"] == 'Bearer realm="workstead"'


@pytest.mark.covers("K06", "D02")
def test_each_token_opens_its_own_door_only(live: Running, token: str) -> None:
    """doors.md, "Credentials": each useless for the others."""
    assistant = door.token_of(live, "api-stranger")
    assert "MCP door" in problem(ask(live, assistant, "GET", "/api/projects"), 401)["detail"]
    assert door.ask(live, token, "tools/list").status == 401
    live.sign_in()
    cookie = live.cookie
    live.cookie = ""
    secret = cookie.partition("=")[2]
    assert problem(ask(live, secret, "GET", "/api/projects"), 401)


@pytest.mark.covers("K06")
def test_a_revoked_token_ends_with_its_next_call(live: Running) -> None:
    """Authority is read inside the call."""
    secret = made(live, "short")
    assert ask(live, secret, "GET", "/api/me").status == 200
    with live.control() as control:
        control.operation("revoke_api_token", {"token": "short"})
    assert problem(ask(live, secret, "GET", "/api/me"), 401)


@pytest.mark.covers("K06", "K20")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/assistants", {"name": "x", "permissions": ["projects:read"], "projects": "all"}),
        ("/api/tokens", {"name": "another"}),
        ("/api/projects/garden/configuration/trust", {"digest": "0" * 64}),
        ("/api/projects", {"folder": "/tmp/x", "name": "x", "title": "x", "objective": "x"}),
    ],
)
def test_what_is_for_people_no_token_can(live: Running, token: str, path: str, body: dict[str, object]) -> None:
    """first-hour.md, "Permissions": person only, no credential can hold it."""
    assert problem(ask(live, token, "POST", path, body), 403)["code"] == "permission_missing"


def test_a_page_asks_as_its_person_and_a_stranger_page_does_not(browser: Running) -> None:
    """A cookie changes things from our own pages only, and may do what is for people."""
    assert json.loads(browser.get("/api/me").text)["operator"] is True
    own = {"Origin": browser.origin, "Content-Type": "application/json"}
    fine = browser.request("POST", "/api/tokens", body=b'{"name": "from-page"}', headers=own)
    assert fine.status == 201, fine.text
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        sent = {"Content-Type": "application/json", **headers}
        assert browser.request("POST", "/api/tokens", body=b'{"name": "no"}', headers=sent).status == 403


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"title": "a", "title": "b"}', "json_invalid"),
        (b"[" * 70 + b"]" * 70, "json_invalid"),
        (b'{"title": "\\ud800"}', "json_invalid"),
        (b'{"title": "a\\u0000"}', "json_invalid"),
        (b'{"title": NaN}', "json_invalid"),
        (b"[]", "body_not_object"),
        (b"{", "json_malformed"),
        (b"\xff", "json_malformed"),
        (b'{"titel": "a"}', "input_invalid"),
        (b'{"title": 1}', "input_invalid"),
        (b'{"card_id": "x"}', "field_repeated"),
        (b'{"title": "[redacted:openai-key]"}', "placeholder_in_write"),
    ],
)
def test_a_body_that_cannot_be_used_is_refused_with_its_place(
    live: Running, token: str, body: bytes, code: str
) -> None:
    """quality.md, "Bad input": the path to the mistake, and nothing is stored."""
    found = problem(ask(live, token, "PATCH", "/api/projects/garden/cards/project", body), 400)
    assert found["code"] == code
    assert found["advice"] == "correct your call"


def test_requests_of_another_shape_are_refused(live: Running, token: str) -> None:
    """Unknown addresses, methods, kinds of body and queries."""
    assert "/api/openapi.json" in problem(ask(live, token, "GET", "/api/nothing"), 404)["detail"]
    wrong = ask(live, token, "DELETE", "/api/projects/garden")
    assert problem(wrong, 405)
    assert wrong.headers["allow"] == "GET"
    text = ask(live, token, "POST", "/api/projects/garden/cards", b"{}", **{"Content-Type": "text/plain"})
    assert problem(text, 400)["code"] == "body_not_json"
    assert problem(ask(live, token, "GET", "/api/projects/garden/cards?type=a&parent=b&parent=c"), 400)
    assert problem(ask(live, token, "GET", "/api/projects/garden/cards?wrong=1"), 400)["code"] == "input_invalid"
    assert problem(ask(live, token, "GET", "/api/projects/garden/cards?parent=%ff"), 400)["code"] == "query_invalid"
    assert problem(ask(live, token, "POST", "/api/projects/garden/run/stop?x=1", {}), 400)["code"] == "query_unexpected"
    assert problem(ask(live, token, "GET", "/api/projects/nowhere/run"), 404)["code"] == "project_not_found"
    large = ask(live, token, "POST", "/api/projects/garden/cards", b" " * (1024 * 1024 + 1))
    assert large.status == 413


@pytest.mark.covers("K09")
def test_a_secret_is_hidden_and_the_answer_says_so(live: Running, token: str) -> None:
    """One projection for everything that leaves as text (S21)."""
    key = "sk-ant-" + hashlib.sha256(b"seen").hexdigest()
    made_ = ask(
        live, token, "POST", "/api/projects/garden/cards", {**CARD, "title": "Key", "bootstrap_content": f"Use {key}"}
    )
    card = json.loads(made_.text)["card_id"]
    with live.control() as control:
        record = control.operation("list_records", {"project": "garden", "card_id": card})["records"][0]["name"]
    shown = ask(live, token, "GET", f"/api/projects/garden/cards/{card}/records/{record}")
    assert shown.status == 200, shown.text
    assert key not in shown.text
    assert shown.headers["workstead-redacted"] == "true"


@pytest.mark.covers("K16")
def test_wrong_tokens_are_slowed_down(live: Running) -> None:
    """Guessing has a price, and the refusal says when to try again."""
    answers = [ask(live, f"ws_api_{number}", "GET", "/api/me") for number in range(65)]
    limited = answers[-1]
    assert problem(limited, 429)["code"] == "rate_limited"
    assert int(limited.headers["retry-after"]) >= 1
