"""What a person's change does above: who is reopened, who is told (W11)."""

from pathlib import Path

import pytest

from support import instance
from work import folder, office
from workstead.accounts import projects
from workstead.work import cards, notifications, propagation
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases


def told(shed: office.Office, card_id: str) -> list[str]:
    """The notices that wait on a card."""
    with instance.transaction(shed.founded.path) as tx:
        waiting = notifications.pending(tx, shed.project_id_in(tx), card_id)
    assert {one.source for one in waiting} <= {propagation.SOURCE}
    return [one.content for one in waiting]


async def branch(shed: office.Office) -> None:
    """Project > card-a > card-a-a, all of them done."""
    await shed.card("Above")
    await shed.card("Below", parent="card-a")
    for card_id in ("project", "card-a", "card-a-a"):
        shed.walk(card_id, Status.RUNNING, Status.DONE)


def nested(tmp_path: Path) -> None:
    office.write_folder(
        tmp_path / "shed", source=folder.changed("permitted_child_types: []", "permitted_child_types: [task]")
    )


@pytest.mark.covers("W11")
async def test_reopening_reaches_the_root_and_tells_everybody_on_the_way(tmp_path: Path) -> None:
    """Spec: the target and each child-capable card above are told; ended ones become changed."""
    nested(tmp_path)
    async with office.open_office(tmp_path) as shed:
        await branch(shed)
        await shed.run("reopen_card", card_id="card-a-a")
        for card_id in ("project", "card-a", "card-a-a"):
            assert (await shed.run("get_card", card_id=card_id)).status is Status.CHANGED
            assert told(shed, card_id)[-1] == "Card changed: Ada reopened card-a-a."


@pytest.mark.covers("W11")
async def test_the_way_up_ends_at_the_first_running_card(tmp_path: Path) -> None:
    """Spec: the first running one is told, nothing above it is."""
    nested(tmp_path)
    async with office.open_office(tmp_path) as shed:
        await branch(shed)
        await shed.run("reopen_card", card_id="card-a")
        shed.walk("card-a", Status.RUNNING)
        before = told(shed, "project")
        await shed.run("write_record", card_id="card-a-a", name="status.md", content="More.")
        assert told(shed, "card-a")[-1] == "Card changed: Ada wrote status.md of card-a-a."
        assert told(shed, "project") == before


@pytest.mark.covers("W11")
async def test_a_card_that_never_started_is_not_told_of_itself(tmp_path: Path) -> None:
    """Spec: backlog notifies only child-capable ancestors; a cancelled one stays and hears nothing."""
    nested(tmp_path)
    async with office.open_office(tmp_path) as shed:
        await shed.card("Above")
        await shed.card("Below", parent="card-a")
        with instance.transaction(shed.founded.path) as tx:
            project = projects.find(tx, "shed")
            assert project is not None
            above = cards.find(tx, project, "card-a")
            cards.set_status(tx, above, Status.CANCELLED)
            notifications.clear(tx, above)
        await shed.run("edit_card", card_id="card-a-a", title="Other " + "x" * 190)
        assert told(shed, "card-a-a") == []
        assert told(shed, "card-a") == []
        assert told(shed, "project")[-1] == "Card changed: Ada edited title of card-a-a."
        assert (await shed.run("get_card", card_id="card-a")).status is Status.CANCELLED


@pytest.mark.covers("W11")
async def test_a_leaf_above_is_never_there_but_a_leaf_itself_is_told(tmp_path: Path) -> None:
    """Spec: the edited target is told whatever its type."""
    async with office.open_office(tmp_path) as shed:
        await shed.card()
        shed.walk("card-a", Status.RUNNING, Status.STOPPED)
        await shed.run("edit_card", card_id="card-a", title="Other")
        assert told(shed, "card-a") == ["Card changed: Ada edited title of card-a."]
