"""The outline of the card tree: bounded at thousands of cards, opened where one looks, sought on the server (W28)."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import insert

from support import instance
from work import office
from workstead import errors
from workstead.kernel.operations import Door
from workstead.kernel.store import prepared
from workstead.work import outline
from workstead.work.outline import Outline
from workstead.work.tables import card
from workstead.work.workflow.lifecycle import Status

COVERS_MODULES = ("work/outline.py",)

pytestmark = [pytest.mark.covers("W28"), pytest.mark.both_databases]

_ADD = prepared(insert(card))


def plant(shed: office.Office, ids: Iterable[str], *, statuses: dict[str, str] | None = None) -> None:
    """Rows of cards as they would stand after thousands of changes."""
    with instance.transaction(shed.founded.path) as tx:
        for position, card_id in enumerate(ids):
            above = card_id.rpartition("-")[0]
            tx.run(
                _ADD,
                project_id=shed.project_id_in(tx),
                card_id=card_id,
                parent_id="project" if above == "card" else above,
                position=position,
                type="task",
                title=f"Título {card_id}",
                status=(statuses or {}).get(card_id, "done"),
                priority=0,
                urgency="normal",
                depends_on="[]",
                status_text=None,
                revision=1,
                updated_at="2026-01-01T00:00:00.000000Z",
                deleted=0,
            )


async def look(shed: office.Office, **asked: Any) -> Outline:
    """The outline as a page asks for it."""
    return cast("Outline", await shed.run("get_outline", door=Door.PAGE, **asked))


def shown(found: Outline) -> list[str]:
    """The ids in order."""
    return [line.card_id for line in found.lines]


def tree_ids(tops: int, each: int) -> list[str]:
    """A tree of two levels."""
    return [
        one
        for top in range(tops)
        for one in (f"card-t{top:03}", *(f"card-t{top:03}-c{child:03}" for child in range(each)))
    ]


async def test_a_small_tree_is_whole_and_parts_of_it_are_shut(tmp_path: Path) -> None:
    """Nobody opens a tree of ten cards by hand; a shut card says what below it needs eyes."""
    async with office.open_office(tmp_path) as shed:
        plant(shed, tree_ids(3, 2), statuses={"card-t001-c000": "failed", "card-t001-c001": "done"})
        found = await look(shed)
        assert found.whole
        assert shown(found) == ["project", *tree_ids(3, 2)]
        shut = await look(shed, shut=["card-t001", "project", "nothing"])
        assert shown(shut) == [one for one in shown(found) if not one.startswith("card-t001-")]
        line = next(one for one in shut.lines if one.card_id == "card-t001")
        assert (line.opened, line.children, line.below) == (False, 2, {Status.FAILED: 1})
        assert [one.card_id for one in found.waiting] == ["card-t001-c000"]
        assert found.waits == 1


async def test_a_large_tree_shows_what_was_opened_and_the_way_to_it(tmp_path: Path) -> None:
    """5 000 cards: the first level, a hundred at a time; what is opened is reached, what is not is counted."""
    async with office.open_office(tmp_path) as shed:
        plant(shed, tree_ids(120, 40), statuses={"card-t005-c039": "running"})
        found = await look(shed)
        assert (found.whole, found.total, found.next, found.cut) == (False, 4921, outline.SIBLINGS, False)
        assert shown(found) == ["project", *(f"card-t{top:03}" for top in range(100))]
        assert found.lines[6].below == {Status.RUNNING: 1}
        rest = await look(shed, offset=found.next)
        assert shown(rest) == ["project", *(f"card-t{top:03}" for top in range(100, 120))]
        assert rest.next is None
        opened = await look(shed, opened=["card-t005-c001"])
        assert shown(opened)[6:48] == ["card-t005", *(f"card-t005-c{child:03}" for child in range(40)), "card-t006"]
        top = await look(shed, top="card-t005", opened=[])
        assert (len(top.lines), top.above) == (41, ("project",))
        everything = await look(shed, opened=[f"card-t{number:03}" for number in range(120)])
        assert everything.cut
        assert len(everything.lines) == outline.LINES


async def test_cards_are_sought_with_those_above_them_a_part_at_a_time(tmp_path: Path) -> None:
    """Search and filters on the server; other letters' case does not matter."""
    async with office.open_office(tmp_path) as shed:
        plant(shed, tree_ids(60, 3), statuses={"card-t050-c002": "blocked"})
        found = await look(shed, text="C002")
        assert (found.matches, found.next) == (60, None)
        assert len(found.lines) == 1 + 60 * 2
        both = await look(shed, text="TÍTULO", status="blocked")
        assert shown(both) == ["project", "card-t050", "card-t050-c002"]
        first = await look(shed, text="título")
        second = await look(shed, text="título", offset=first.next)
        matched = {one for page in (first, second) for one in shown(page)}
        assert matched >= set(tree_ids(60, 3)[:200])
        assert shown(await look(shed, text="nothing like it")) == []


async def test_a_card_with_many_children_says_how_many_are_left(tmp_path: Path) -> None:
    """What does not fit is one link away, under its card."""
    async with office.open_office(tmp_path) as shed:
        plant(shed, tree_ids(2, 150))
        found = await look(shed, opened=["card-t000"])
        assert next(one.more for one in found.lines if one.card_id == "card-t000") == 50
        rest = await look(shed, top="card-t000", offset=100)
        assert shown(rest)[1:] == [f"card-t000-c{child:03}" for child in range(100, 150)]


async def test_an_unknown_card_is_not_found(tmp_path: Path) -> None:
    """As everywhere."""
    async with office.open_office(tmp_path) as shed:
        with pytest.raises(errors.Refusal) as refused:
            await look(shed, top="card-gone")
        assert refused.value.code == "card_not_found"
