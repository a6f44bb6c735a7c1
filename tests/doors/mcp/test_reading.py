"""Resources, prompts and completions through the door, in every revision that has them (D09)."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from mcp_types import methods

from support import door
from support.server import Running
from workstead.doors.mcp import frames, revisions
from workstead.guides import documents, prompts

COVERS_MODULES = ("doors/mcp/library.py", "doors/mcp/shelf.py")

pytestmark = pytest.mark.covers("D09")

GUIDE = "workstead://guides/getting-started"
CARD = "workstead://projects/garden/cards/project"


def result(live: Running, token: str, method: str, params: Mapping[str, object], *, revision: str) -> dict[str, Any]:
    """The result of a request in a revision, which fits that revision's own schema."""
    if revision == revisions.STATELESS:
        answer = door.ask_stateless(live, token, method, params)
    else:
        answer = door.ask(live, token, method, params, **{"MCP-Protocol-Version": revision})
    assert answer.status == 200, answer.text
    found: dict[str, Any] = json.loads(answer.text)["result"]
    methods.validate_server_result(method, revision, found)
    return found


def code(live: Running, token: str, method: str, params: Mapping[str, object], *, stateless: bool = False) -> int:
    """The code of the protocol error it is answered with."""
    ask = door.ask_stateless if stateless else door.ask
    return door.failed(ask(live, token, method, params))


@pytest.mark.parametrize("revision", revisions.ALL)
def test_guides_are_listed_and_read_in_every_revision(live: Running, token: str, revision: str) -> None:
    """Allow-listed, one page, the packaged text to the letter."""
    listed = result(live, token, "resources/list", {}, revision=revision)
    uris = [each["uri"] for each in listed["resources"]]
    assert uris[: len(documents.DOCUMENTS)] == [f"workstead://guides/{each.name}" for each in documents.DOCUMENTS]
    assert "workstead://projects/garden" in uris
    assert "nextCursor" not in listed
    read = result(live, token, "resources/read", {"uri": GUIDE}, revision=revision)
    assert read["contents"] == [{"uri": GUIDE, "mimeType": "text/markdown", "text": documents.text("getting-started")}]


@pytest.mark.parametrize("revision", revisions.ALL)
def test_prompts_are_listed_and_filled_in_every_revision(live: Running, token: str, revision: str) -> None:
    """Arguments become text of one message."""
    listed = result(live, token, "prompts/list", {}, revision=revision)
    assert [each["name"] for each in listed["prompts"]] == [each.name for each in prompts.PROMPTS]
    given = {"name": "review_card", "arguments": {"project": "garden", "card_id": "project"}}
    found = result(live, token, "prompts/get", given, revision=revision)
    (message,) = found["messages"]
    assert message["role"] == "user"
    assert "`project` of the Workstead project `garden`" in message["content"]["text"]


@pytest.mark.parametrize("revision", revisions.ALL)
def test_a_card_and_its_records_have_addresses(live: Running, token: str, revision: str) -> None:
    """S20: addresses outside a project carry it."""
    listed = result(live, token, "resources/templates/list", {}, revision=revision)
    assert "workstead://projects/{project}/cards/{card_id}" in {
        each["uriTemplate"] for each in listed["resourceTemplates"]
    }
    read = result(live, token, "resources/read", {"uri": CARD}, revision=revision)
    assert json.loads(read["contents"][0]["text"])["title"] == "The garden"
    uri = f"{CARD}/records/brief.md"
    record = result(live, token, "resources/read", {"uri": uri}, revision=revision)
    assert record["contents"] == [{"uri": uri, "mimeType": "text/markdown", "text": "Grow something."}]


@pytest.mark.covers("K06", "D03")
def test_an_address_shows_nothing_its_reader_may_not_see(live: Running) -> None:
    """Every read is the operation's own, with the authority of this moment; missing and forbidden look the same."""
    elsewhere = door.token_of(live, "elsewhere", "catalog:read", projects="all")
    listed = result(live, elsewhere, "resources/list", {}, revision="2025-11-25")
    assert {each["uri"].split("/")[2] for each in listed["resources"]} == {"guides"}
    answer = door.ask(live, elsewhere, "resources/read", {"uri": CARD})
    error = json.loads(answer.text)["error"]
    assert (error["code"], error["data"]["code"]) == (frames.INVALID_PARAMS, "permission_missing")
    ended = door.token_of(live, "ended reader")
    door.revoke(live, "ended reader")
    assert door.ask(live, ended, "resources/read", {"uri": CARD}).status == 401


@pytest.mark.parametrize(
    "uri",
    [
        "workstead://guides/../../README",
        "workstead://guides/%2e%2e%2fREADME",
        "workstead://guides/",
        "file:///etc/passwd",
        "workstead://projects/nothing",
        "workstead://projects/garden/cards/card-none",
        "workstead://projects/garden/cards/project/records/..%2f..%2fx",
        "workstead://projects/garden/cards/project?x=1",
        "x" * 5_000,
        "",
    ],
)
def test_an_address_of_nothing_is_said_to_be(live: Running, token: str, uri: str) -> None:
    """SEP-2164: its own code before 2026-07-28, since then one of the wrong parameters."""
    if uri and uri.isascii() and len(uri) < 4_000:
        assert code(live, token, "resources/read", {"uri": uri}, stateless=True) == frames.INVALID_PARAMS
    assert code(live, token, "resources/read", {"uri": uri}) in {frames.RESOURCE_NOT_FOUND, frames.INVALID_PARAMS}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {}),
        ("resources/read", {"uri": 7}),
        ("prompts/get", {}),
        ("prompts/get", {"name": "nothing"}),
        ("prompts/get", {"name": "catch_up"}),
        ("prompts/get", {"name": "catch_up", "arguments": {"project": 7}}),
        ("prompts/get", {"name": "catch_up", "arguments": ["garden"]}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": {"type": "ref/thing"}, "argument": {"name": "project", "value": ""}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "catch_up"}, "argument": {"name": "x"}}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "catch_up"}, "argument": {"name": "x", "value": ""}},
        ),
    ],
)
def test_wrong_parameters_are_a_protocol_error(live: Running, token: str, method: str, params: Any) -> None:
    """-32602, with a sentence."""
    assert code(live, token, method, params) == frames.INVALID_PARAMS


@pytest.mark.parametrize("revision", revisions.ALL)
def test_places_are_completed_from_what_the_caller_sees(live: Running, token: str, revision: str) -> None:
    """Projects, then the cards of the one that was chosen, then the records of that card."""
    template = {"type": "ref/resource", "uri": "workstead://projects/{project}/cards/{card_id}/records/{name}"}

    def values(name: str, typed: str, **context: str) -> list[str]:
        asked: dict[str, object] = {"ref": template, "argument": {"name": name, "value": typed}}
        asked |= {"context": {"arguments": context}} if context else {}
        found = result(live, token, "completion/complete", asked, revision=revision)
        return list(found["completion"]["values"])

    assert "garden" in values("project", "gar")
    assert "garden" not in values("project", "zz")
    assert values("card_id", "") == []
    assert "project" in values("card_id", "pro", project="garden")
    assert values("card_id", "pro", project="nothing") == []
    assert "brief.md" in values("name", "brief", project="garden", card_id="project")


@pytest.mark.covers("D03")
def test_documentation_is_searched_and_read_by_tools_too(live: Running, token: str) -> None:
    """Not every client shows resources to its model."""
    reader = door.token_of(live, "reader of guides", "catalog:read")
    found = door.call(live, reader, "search_documentation", query="stale revision", limit=2)["structuredContent"]
    assert len(found["passages"]) == 2
    more = door.call(live, reader, "search_documentation", query="stale revision", offset=found["next_offset"])
    assert more["structuredContent"]["passages"][0] not in found["passages"]
    parts: list[str] = []
    offset = 0
    while offset is not None:
        given = {"name": "read_documentation", "arguments": {"name": "assistants", "offset": offset}}
        part = result(live, reader, "tools/call", given, revision="2025-11-25")["structuredContent"]
        parts.append(part["content"])
        offset = part["next_offset"]
    assert len(parts) > 1
    assert "".join(parts) == documents.text("assistants")
    given = {"name": "read_documentation", "arguments": {"name": "../x"}}
    assert door.refused(result(live, reader, "tools/call", given, revision="2025-11-25")) == "guide_not_found"
    assert door.refused(door.call(live, token, "search_documentation", query="x")) == "permission_missing"
