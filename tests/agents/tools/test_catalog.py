"""The table of tools: complete, closed, in the agent's order."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.tools import shop
from workstead import errors
from workstead.agents.tools import catalog
from workstead.work.workflow import catalog as allowed

COVERS_MODULES = ("agents/tools/tool.py", "agents/tools/workbench.py")
HERE = ("write", "glob", "run_command", "create_card", "activate_card")


@pytest.mark.covers("W17")
def test_the_table_holds_what_a_configuration_may_list() -> None:
    """A name that compiles must be a tool, and a tool must be a name that compiles."""
    assert set(catalog.BUILDERS) == {name for names in allowed.TOOLS.values() for name in names}


@pytest.mark.covers("W06", "W17")
async def test_an_agent_gets_its_tools_in_its_order_and_emit_result_last(tmp_path: Path) -> None:
    """W06: the exact tool list."""
    async with shop.opened(tmp_path) as place:
        bench = replace(place.bench, spec=shop.spec(tools=HERE))
        built = catalog.build(bench)
        assert tuple(built) == HERE
        assert all(name == one.name for name, one in built.items())
        shown = catalog.schemas(bench, ("done",))
        assert tuple(one.name for one in shown) == (*HERE, "emit_result")


async def test_an_unknown_tool_stops_the_task(tmp_path: Path) -> None:
    """A configuration of another version must not lose a tool silently."""
    async with shop.opened(tmp_path) as place:
        with pytest.raises(errors.Refusal) as refused:
            catalog.build(replace(place.bench, spec=shop.spec(tools=("read", "fly"))))
        assert refused.value.code == "tool_unknown"


@pytest.mark.covers("W17")
async def test_every_schema_is_closed_described_and_free_of_references(tmp_path: Path) -> None:
    """Facts 2.3."""
    async with shop.opened(tmp_path) as place:
        for one in place.tools.values():
            parameters: Any = one.schema.parameters
            assert parameters["type"] == "object"
            assert parameters["additionalProperties"] is False
            assert "$" not in str(parameters), one.name
            assert len(one.schema.description) > 20
            assert set(parameters["required"]) <= set(parameters["properties"])


@pytest.mark.covers("W17")
def test_a_grant_lists_what_the_tools_call() -> None:
    """A record is read and written through operations."""
    spec = shop.spec(tools=("read", "write", "edit", "glob", "run_command", "get_card"))
    assert catalog.operations(spec) == {
        "edit_record",
        "get_card",
        "read_record",
        "read_record_version",
        "write_record",
    }


async def test_a_tool_that_changes_nothing_says_so(tmp_path: Path) -> None:
    """A recovery answers an interrupted read with "nothing changed"."""
    async with shop.opened(tmp_path) as place:
        quiet = {name for name, one in place.tools.items() if not one.changes}
        assert {"read", "glob", "grep", "wait_process"} <= quiet
        assert quiet.isdisjoint({"write", "edit", "apply_patch", "run_command", "kill_process", "create_card"})
