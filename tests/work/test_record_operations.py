"""Writes of records: who may write which, what is refused, what a person's text does above (W04, W11)."""

from pathlib import Path
from typing import Any

import pytest

from work import office
from work.test_card_operations import code_of
from workstead.kernel.operations import Door
from workstead.work.records import LIMIT_BYTES, Source
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases

STATUS: dict[str, Any] = {"card_id": "card-a", "name": "status.md"}


@pytest.mark.covers("W04")
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"content": ""}, "record_empty"),
        ({"content": " \n\t"}, "record_empty"),
        ({"content": "a\0b"}, "record_not_text"),
        ({"content": "\ud800"}, "input_invalid"),
        ({"content": "x" * (LIMIT_BYTES + 1)}, "record_too_large"),
        ({"content": "ü" * (LIMIT_BYTES // 2 + 1)}, "record_too_large"),
        ({"content": "x", "name": "other.md"}, "record_unknown"),
        ({"content": "x", "name": "../status.md"}, "record_name_malformed"),
        ({"content": "x", "name": "status.txt"}, "record_name_malformed"),
        ({"content": "x", "card_id": "card-q"}, "card_not_found"),
        ({"content": "x", "base_revision": 1}, "record_stale"),
    ],
)
async def test_a_bad_text_is_refused_and_leaves_nothing(tmp_path: Path, fields: dict[str, Any], code: str) -> None:
    """W04: each mistake has its code."""
    async with office.open_office(tmp_path) as shed:
        await shed.card()
        assert await code_of(shed, "write_record", **(STATUS | fields)) == code
        assert [one.name for one in (await shed.run("list_records", card_id="card-a")).records] == ["brief.md"]


@pytest.mark.covers("W04")
async def test_the_largest_record_is_kept_whole(tmp_path: Path) -> None:
    """W04: 1 MiB and no byte more; read back in stretches it is the same text."""
    text = "äöü\n" * (LIMIT_BYTES // 7)
    async with office.open_office(tmp_path) as shed:
        await shed.card()
        await shed.run("write_record", **STATUS, content=text)
        parts, offset = [], 0
        while True:
            part = await shed.run("read_record", **STATUS, offset=offset)
            parts.append(part.content)
            if part.next_offset is None:
                break
            offset = part.next_offset
    assert "".join(parts) == text


@pytest.mark.covers("W04", "W11")
async def test_an_agent_drafts_its_own_records_only(tmp_path: Path) -> None:
    """W11: own card, its patterns; the draft is no accepted text."""
    async with office.open_office(tmp_path) as shed:
        await shed.card()
        lead, other = shed.agent("card-a"), shed.agent("project")
        as_agent: dict[str, Any] = {"door": Door.AGENT, "content": "Done."}
        written = await shed.run("write_record", proof=lead, **STATUS, **as_agent)
        assert (written.source, written.version) == (Source.DRAFT, 1)
        assert await code_of(shed, "write_record", proof=other, **STATUS, **as_agent) == "record_not_yours"
        brief = STATUS | {"name": "brief.md"}
        assert await code_of(shed, "write_record", proof=lead, **brief, **as_agent) == "record_not_writable"
        assert await code_of(shed, "write_record", **STATUS, content="Mine.") == "record_draft_open"
        assert (await shed.run("read_record", **STATUS)).accepted == 0


@pytest.mark.covers("W11")
@pytest.mark.parametrize(
    ("steps", "after"),
    [
        ([], Status.BACKLOG),
        ([Status.RUNNING, Status.STOPPED], Status.STOPPED),
        ([Status.RUNNING], Status.RUNNING),
        ([Status.RUNNING, Status.DONE], Status.CHANGED),
        ([Status.RUNNING, Status.FAILED], Status.CHANGED),
        ([Status.RUNNING, Status.BLOCKED], Status.CHANGED),
    ],
)
async def test_a_persons_text_reopens_what_ended(tmp_path: Path, steps: list[Status], after: Status) -> None:
    """W11: backlog, changed, running and stopped stay; blocked, done and failed become changed."""
    async with office.open_office(tmp_path) as shed:
        await shed.card()
        shed.walk("card-a", *steps)
        await shed.run("write_record", **STATUS, content="New facts.")
        assert (await shed.run("get_card", card_id="card-a")).status is after


@pytest.mark.covers("W11")
async def test_a_cancelled_card_keeps_its_records(tmp_path: Path) -> None:
    """W11: cancelled rejects."""
    async with office.open_office(tmp_path) as shed:
        await shed.card()
        await shed.run("cancel_card", card_id="card-a")
        assert await code_of(shed, "write_record", **STATUS, content="x") == "card_cancelled"


@pytest.mark.covers("K04")
async def test_a_text_decided_on_an_old_revision_is_refused(tmp_path: Path) -> None:
    """K04: 0 stands for a record that is not there."""
    async with office.open_office(tmp_path) as shed:
        await shed.card()
        first = await shed.run("write_record", **STATUS, content="One.", base_revision=0)
        assert await code_of(shed, "write_record", **STATUS, content="Two.", base_revision=0) == "record_stale"
        second = await shed.run("edit_record", **STATUS, old="One", new="Two", base_revision=first.revision)
    assert (second.version, second.revision) == (2, 2)
    assert second.head_id != first.head_id
