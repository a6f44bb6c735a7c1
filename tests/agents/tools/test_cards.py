"""Tools that are operations: one commit with the call's result, the same input minus what is filled in."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.tools import shop
from support import instance
from workstead import errors
from workstead.agents.tools import catalog
from workstead.agents.tools.tool import ToolResult
from workstead.kernel import canonical
from workstead.kernel.transaction import Tx
from workstead.work import cards as work_cards

NEW = {"type": "task", "title": "Saw the boards", "bootstrap_content": "Six boards."}


@pytest.mark.covers("W17")
async def test_a_change_and_its_result_are_one_commit(tmp_path: Path) -> None:
    """Architecture, "an operation": the result row is written by `also`."""
    async with shop.opened(tmp_path) as place:
        acted = await place.act("create_card", **NEW)
        assert acted.committed
        assert place.settled == [acted.result]
        data: Any = acted.result.data
        assert data["type"] == "task"
        edited = await place.act("edit_card", card_id=data["card_id"], title="Saw six boards")
        assert edited.committed


@pytest.mark.covers("W17")
async def test_a_result_that_cannot_be_written_takes_the_change_back(tmp_path: Path) -> None:
    """No change stands without its result."""
    async with shop.opened(tmp_path) as place:

        def settle(_tx: Tx, _result: ToolResult) -> None:
            raise errors.unavailable("no_room", "There is no room.")

        site = replace(place.site, settle=settle, call_id="other:1")
        with pytest.raises(errors.Refusal):
            await place.tools["create_card"].act(site, NEW)
        with instance.transaction(place.office.founded.path) as tx:
            assert [one.title for one in work_cards.rows(tx, place.bench.project_id)] == ["Build a shed"]


@pytest.mark.covers("W17")
async def test_the_same_call_is_made_once(tmp_path: Path) -> None:
    """K05: the receipt's key is the call's row."""
    async with shop.opened(tmp_path) as place:
        tool = place.tools["create_card"]
        first = await tool.act(place.site, NEW)
        second = await tool.act(place.site, NEW)
        assert first.result == second.result
        with instance.transaction(place.office.founded.path) as tx:
            assert len(work_cards.rows(tx, place.bench.project_id)) == 2


@pytest.mark.covers("W17")
async def test_what_is_filled_in_cannot_be_given(tmp_path: Path) -> None:
    """The project is the agent's own."""
    async with shop.opened(tmp_path) as place:
        schema: Any = place.tools["create_card"].schema.parameters
        assert {"project", "request_id"}.isdisjoint(schema["properties"])
        assert schema["additionalProperties"] is False
        assert "$ref" not in str(schema)
        assert await place.refused("create_card", **NEW, project="other") == "input_invalid"
        assert await place.refused("create_card", **NEW, request_id="x") == "input_invalid"
        assert await place.refused("create_card", **NEW, extra=1) == "input_invalid"


@pytest.mark.covers("W17", "K19")
async def test_a_refusal_of_the_operation_is_the_tool_s(tmp_path: Path) -> None:
    """The operation decides; nothing is settled."""
    async with shop.opened(tmp_path) as place:
        assert await place.refused("edit_card", card_id="card-none", title="x") == "card_not_found"
        assert place.settled == []


async def test_an_operation_that_is_not_granted_is_denied(tmp_path: Path) -> None:
    """Authority is read in the transaction, whatever the tool list says."""
    async with shop.opened(tmp_path, agent=shop.spec(tools=("read",))) as place:
        tool = catalog.build(replace(place.bench, spec=shop.spec()))["create_card"]
        with pytest.raises(errors.Refusal) as refused:
            await tool.act(place.site, NEW)
        assert refused.value.code == "operation_not_granted"


@pytest.mark.covers("W17", "K10", "K09")
async def test_reads_page_and_hide_secrets(tmp_path: Path) -> None:
    """Facts 2.3: the whole envelope, after what is hidden has grown."""
    async with shop.opened(tmp_path) as place:
        for number in range(12):
            await place.call("create_card", type="task", title=f"{number} {shop.SECRET}", bootstrap_content="Do it.")
        seen: list[str] = []
        position: Any = None
        while True:
            acted = await place.act("list_cards", position=position, response_bytes=1024)
            assert acted.result.success
            assert not acted.committed
            assert len(canonical.dump(acted.result.body())) <= 1024
            data: Any = acted.result.data
            seen += [one["title"] for one in data["cards"]]
            position = data["next"]
            if position is None:
                break
        assert len(seen) == 13
        assert not any(shop.SECRET in title for title in seen)
        tree = await place.call("get_tree")
        assert shop.SECRET not in str(tree)
