"""Tools: every schema is one that clients accept, and a list shows what its credential may call (D03)."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import mcp_types
import orjson
import pytest

from support import door
from support.server import Running
from workstead.accounts.authority import Standing
from workstead.doors.mcp.tools import Toolbox
from workstead.kernel.access import Assistant, Permission, Person
from workstead.kernel.operations import Door
from workstead.runs import operations as runs

pytestmark = pytest.mark.covers("D03")


def tools(live: Running, token: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(door.ask(live, token, "tools/list").text)["result"]["tools"]
    return found


def names(live: Running, token: str) -> set[str]:
    return {one["name"] for one in tools(live, token)}


def references(schema: object) -> Iterator[str]:
    """Every reference in a schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for each in schema.values():
            yield from references(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from references(each)


def test_every_schema_is_a_plain_object_at_its_root(live: Running, token: str) -> None:
    """facts/mcp.md 6, line 12: clients drop tools, or all of them, for a choice or a reference at the root."""
    listed = tools(live, token)
    assert len(listed) > 20
    for one in listed:
        mcp_types.Tool.model_validate(one)
        for schema in (one["inputSchema"], one["outputSchema"]):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert not {"$ref", "anyOf", "oneOf", "allOf", "if"} & schema.keys()
            assert all(each.removeprefix("#/$defs/") in schema.get("$defs", {}) for each in references(schema))
        assert one["inputSchema"]["additionalProperties"] is False
        assert one["description"]


def test_the_list_has_one_page(live: Running, token: str) -> None:
    """facts/mcp.md 6, line 14: some clients never ask for a second."""
    assert "nextCursor" not in json.loads(door.ask(live, token, "tools/list").text)["result"]


@pytest.mark.covers("D13")
def test_a_list_shows_what_the_credential_may_call(live: Running) -> None:
    """Permissions, and the exact list where there is one."""
    reader = names(live, door.token_of(live, "reader", "projects:read"))
    runner = names(live, door.token_of(live, "runner", "projects:read", "projects:control", "projects:run"))
    exact = names(live, door.token_of(live, "exact", "projects:read", operations=["get_card"]))
    nowhere = names(live, door.token_of(live, "nowhere", "projects:write", projects=[]))
    assert "get_card" in reader
    assert not {"create_card", "start_run", "list_runs"} & reader
    assert runner - reader == {"start_run", "pause_run", "resume_run", "stop_run"}
    assert exact == {"get_card"}
    assert "create_card" not in nowhere


def test_starting_needs_both_of_its_permissions_in_one_place() -> None:
    """S5: a set, not one of it; two projects with one each are not one with both."""
    owner = Person(id="p", name="Ada", operator=False, permissions=frozenset())
    one = Assistant(id="a", name="a", owner=owner, permissions=frozenset(), projects=None, operations=None)
    apart = frozenset({frozenset({Permission.PROJECTS_RUN}), frozenset({Permission.PROJECTS_CONTROL})})
    box = Toolbox(runs.OPERATIONS)
    listed = json.loads(bytes_of(box, Standing(assistant=one, sets=apart)))
    assert {each["name"] for each in listed} == {"pause_run", "resume_run", "stop_run"}


def test_the_oldest_revision_is_spared_what_it_does_not_know(live: Running, token: str) -> None:
    """2025-03-26 has neither titles nor output schemas."""
    answer = door.ask(live, token, "tools/list", **{"MCP-Protocol-Version": "2025-03-26"})
    for one in json.loads(answer.text)["result"]["tools"]:
        assert one.keys() == {"name", "description", "inputSchema", "annotations"}


def test_hints_follow_the_effect(live: Running, token: str) -> None:
    """A hint is shown to people; authority never rests on it."""
    hints = {one["name"]: one["annotations"] for one in tools(live, token)}
    assert hints["get_card"]["readOnlyHint"]
    assert not hints["create_card"]["readOnlyHint"]
    assert hints["cancel_card"]["destructiveHint"]


def test_only_operations_of_this_door_are_tools() -> None:
    """Which doors show an operation stands in its entry."""
    box = Toolbox(runs.OPERATIONS)
    assert set(box.tools) == {each.name for each in runs.OPERATIONS if Door.MCP in each.doors}


def bytes_of(box: Toolbox, standing: Standing) -> bytes:
    """The prepared list."""
    return orjson.dumps(box.listed(standing, "2025-11-25"))
