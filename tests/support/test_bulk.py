"""The large project of benchmarks is one the product could have made (quality, "Performance")."""

from pathlib import Path

import pytest

from support import bulk, invariants, workplace


@pytest.mark.both_databases
async def test_a_large_project_breaks_no_invariant_and_is_served(tmp_path: Path) -> None:
    """Or its figures would be those of another program."""
    async with workplace.opened(tmp_path, serve=False) as place:
        await place.add_card("Wide")
        bulk.fill(place.database, bulk.SMALL)
        assert invariants.check_at_rest(place.database) == []
        assert len(place.statuses()) == bulk.SMALL.cards + 1
        found = await place.ask("get_card", card_id=bulk.WIDE)
        assert len(place.card(bulk.WIDE).children) == bulk.SMALL.children
        assert found.title == place.card(bulk.WIDE).title


@pytest.mark.both_databases
@pytest.mark.covers("K10")
async def test_a_long_history_comes_in_pages_that_join(tmp_path: Path) -> None:
    """Quality, "Performance": a page reads what it shows, not every version there ever was."""
    async with workplace.opened(tmp_path, serve=False) as place:
        await place.add_card("Wide")
        bulk.fill(place.database, bulk.SMALL)
        newest = place.card(bulk.WIDE).head.version
        assert newest is not None
        numbers: list[int] = []
        position = None
        while True:
            page = await place.ask("list_card_versions", card_id=bulk.WIDE, position=position)
            numbers += [one.version for one in page.versions]
            position = page.next
            if position is None:
                break
        assert page.total == newest
        assert numbers == list(range(newest, 0, -1))
