"""Reads of cards, their history and records: pages, sections, differences, whole answers within their bytes (K10)."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from support import instance
from work import checks, office
from work.test_card_operations import code_of
from workstead import errors
from workstead.kernel import canonical
from workstead.kernel.operations import Door
from workstead.work.operations import operations
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases

COVERS_MODULES = ("work/card_history.py", "work/pages.py", "work/record_reads.py")


async def every_page(shed: office.Office, name: str, field: str, *, response_bytes: int, **fields: Any) -> list[Any]:
    """All items of all pages; each answer must fit."""
    items: list[Any] = []
    position = None
    while True:
        page = await shed.run(name, position=position, response_bytes=response_bytes, **fields)
        shown = shed.instance.operations.table[name].adapter.dump_python(page, mode="json")
        assert len(canonical.dump({"success": True, "data": shown})) <= response_bytes
        items += getattr(page, field)
        position = page.next
        if position is None:
            assert page.total == len(items)
            return items


@pytest.mark.covers("K10", "W02")
async def test_every_list_comes_whole_in_small_pages(tmp_path: Path) -> None:
    """K10: pages joined are the list; the whole answer is within its limit."""
    async with office.open_office(tmp_path) as shed:
        for number in range(30):
            await shed.card(f"Ünï {number}")
        for response_bytes in (1024, 4096, 32_768):
            listed = await every_page(shed, "list_cards", "cards", response_bytes=response_bytes, parent="project")
            tree = await every_page(shed, "get_tree", "cards", response_bytes=response_bytes)
            children = await every_page(
                shed, "get_card", "children", response_bytes=response_bytes, card_id="project", section="children"
            )
            versions = await every_page(
                shed, "list_card_versions", "versions", response_bytes=response_bytes, card_id="project"
            )
            assert [one.title for one in listed] == [f"Ünï {number}" for number in range(30)]
            assert listed == children
            assert [one.card_id for one in tree[1:]] == [one.card_id for one in listed]
            assert [one.version for one in versions] == list(range(31, 0, -1))
        assert await code_of(shed, "list_cards", position="mangled") == "position_invalid"
        assert await code_of(shed, "list_cards", response_bytes=100) == "input_invalid"
        assert await code_of(shed, "get_card", card_id="project", position="x") == "position_not_here"


@pytest.mark.covers("W02")
async def test_cards_are_listed_by_status_type_and_parent(tmp_path: Path) -> None:
    """W02: filters combine; a stranger as parent is not found."""
    async with office.open_office(tmp_path) as shed:
        for _ in range(3):
            await shed.card()
        shed.walk("card-b", Status.RUNNING, Status.DONE)

        async def ids(**fields: Any) -> list[str]:
            return [one.card_id for one in (await shed.run("list_cards", **fields)).cards]

        assert await ids(status="done") == ["card-b"]
        assert await ids(status=["done", "backlog"], type="task") == ["card-a", "card-b", "card-c"]
        assert await ids(type=["project"]) == ["project"]
        assert await ids(parent="card-a") == []
        assert await code_of(shed, "list_cards", parent="card-z") == "card_not_found"
        assert await code_of(shed, "list_cards", status="asleep") == "input_invalid"
        for depth in (0, 13):
            assert await code_of(shed, "get_tree", depth=depth) == "input_invalid"


@pytest.mark.covers("W03")
async def test_versions_are_exact_and_differ_by_fields(tmp_path: Path) -> None:
    """W03: sparse numbers, never rounded; field, before, after; current is the newest."""
    async with office.open_office(tmp_path) as shed:
        await shed.card("First")
        shed.walk("card-a", Status.RUNNING, Status.STOPPED)
        await shed.run("edit_card", card_id="card-a", title="Second")
        now = await shed.run("get_card", card_id="card-a")
        assert (now.version, now.revision) == (4, 5)
        assert await code_of(shed, "get_card_version", card_id="card-a", version=5) == "version_not_found"
        diff = await shed.run("diff_card_versions", card_id="card-a", from_version=1)
        back = await shed.run("diff_card_versions", card_id="card-a", from_version=4, to_version=1)
        first = await shed.run("get_card_version", card_id="card-a", version=1)
    changed = {one.field: (one.before, one.after) for one in diff.fields}
    assert changed == {"status": ("backlog", "stopped"), "title": ("First", "Second")}
    assert {one.field: (one.after, one.before) for one in back.fields} == changed
    assert (first.fields["title"], first.version.change) == ("First", "create")


@pytest.mark.covers("W04", "K10")
async def test_a_long_record_comes_in_stretches_within_their_bytes(tmp_path: Path) -> None:
    """K10: UTF-8 safe, escapes counted; joined they are the text."""
    text = 'ü"\\\t\n' * 5000
    record: dict[str, Any] = {"card_id": "card-a", "name": "status.md"}
    async with office.open_office(tmp_path) as shed:
        await shed.card()
        await shed.run("write_record", **record, content=text)
        await shed.run("edit_record", **record, old='ü"', new="u", replace_all=True)
        parts, offset = "", 0
        while True:
            part = await shed.run("read_record_version", **record, version=1, offset=offset, response_bytes=2048)
            shown = shed.instance.operations.table["read_record_version"].adapter.dump_python(part, mode="json")
            assert len(canonical.dump({"success": True, "data": shown})) <= 2048
            parts += part.content
            if part.next_offset is None:
                break
            offset = part.next_offset
        assert await code_of(shed, "read_record", **record, offset=10**6) == "position_invalid"
        assert await code_of(shed, "read_record_version", **record, version=3) == "version_not_found"
        diff = await shed.run("diff_record_versions", **record, from_version=1, to_version=1)
    assert parts == text
    assert diff.hunks == ()


@pytest.mark.covers("K04", "K05", "W02")
def test_eight_stores_on_one_file_leave_one_consistent_tree(tmp_path: Path) -> None:
    """K04: every write of every thread is there once, in one order; the same key twice is one card."""
    anyio.run(_found, tmp_path)
    with ThreadPoolExecutor(8) as pool:
        for ended in [pool.submit(anyio.run, _hammer, tmp_path, number) for number in range(8)]:
            ended.result(60)
    path = tmp_path / "data" / "workstead.sqlite3"
    assert checks.check(path) == []
    with instance.transaction(path) as tx:
        project = office.projects_of(tx)
        titles = sorted(one.title for one in office.rows_of(tx, project.id) if one.id != "project")
    assert titles == sorted(["Shared", *(f"{number}.{turn}" for number in range(8) for turn in range(5))])


async def _found(tmp_path: Path) -> None:
    async with office.open_office(tmp_path) as shed:
        (tmp_path / "secret").write_text(shed.founded.operator.secret, encoding="utf-8")


async def _hammer(tmp_path: Path, number: int) -> None:
    secret = (tmp_path / "secret").read_text(encoding="utf-8")
    with ExitStack() as stack:
        shed = office.reopen(tmp_path / "data" / "workstead.sqlite3", secret=secret, stack=stack)
        await shed.card("Shared", request_id="shared")
        for turn in range(5):
            made = await shed.card(f"{number}.{turn}")
            await shed.run("write_record", card_id=made, name="status.md", content=f"{number}")
            try:
                await shed.run("write_record", card_id="card-a", name="status.md", content=f"{number}.{turn}")
            except errors.Refusal as refusal:
                if refusal.code != "record_unchanged":
                    raise


def test_reads_are_shown_at_every_door() -> None:
    """One contract: the same names for agents, people and assistants."""
    table = operations(configuration_of=office.configuration_of, data_folder=Path("/nowhere"))
    hidden = [one.name for one in table if one.effect == "read" and Door.MCP not in one.doors]
    assert hidden == ["get_outline"], "it is the page's own view of the tree; everybody else has get_tree"
