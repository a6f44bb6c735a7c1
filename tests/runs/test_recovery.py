"""Recovery: what a dead server left is settled from the leaf to the root, once, and never replayed."""

from pathlib import Path

import pytest

from runs import checks
from support import workplace
from support.workplace import Lines, Said, call, result, write
from workstead.accounts import projects
from workstead.agents.conversations import RowKind
from workstead.agents.models.shape import Call, Request
from workstead.kernel.effects import Ended
from workstead.runs import recovery
from workstead.runs.runs import Ending, State
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases

STUCK: list[Call] = [write("status.md", "S"), result("stuck")]
MADE = call("create_card", type="task", title="Saw", bootstrap_content="Saw it.")
UNKNOWN = "The activation ended without a recorded result. Effects may or may not have happened; "
UNKNOWN += "the call will not be repeated."


@pytest.mark.covers("W10", "K15", "W09")
async def test_a_killed_run_is_settled_from_the_leaf_to_the_root(tmp_path: Path) -> None:
    """Spec, startup recovery: calls without a result get one, permanent and uncertain; cards stop; nothing starts."""
    lines: Lines = {
        "steer": [[MADE], [*activate_now("card-a"), call("get_card", card_id="project")]],
        "do": [[call("run_command", command="touch ready; sleep 60"), call("read", path="x"), result("done")]],
    }
    async with workplace.opened(tmp_path, lines=lines) as shed:
        await shed.start()
        await shed.until((shed.folder / "ready").exists)
        image = workplace.crash_image(shed, tmp_path / "after")
        await shed.shut_down()
    async with workplace.reopened(image, shed.folder, voice=shed.voice) as again:
        assert (again.newest.state, again.newest.ending) == (State.ENDED, Ending.INTERRUPTED)
        assert again.statuses() == {"project": Status.STOPPED, "card-a": Status.STOPPED}
        order = "SELECT topic FROM feed WHERE event = 'runs:activation:closed' ORDER BY seq"
        assert again.sql(order)[-2:] == ["cards/card-a", "cards/project"]
        assert again.results("lead", "card-a") == [
            {"success": False, "error": UNKNOWN, "data": {"outcome_unknown": True}},
            {
                "success": False,
                "error": "read was interrupted; nothing was changed. Call it again if you still need it.",
                "data": {"interrupted": True},
            },
            {"success": False, "error": UNKNOWN, "data": {"outcome_unknown": True}},
        ]
        interrupted = {"interrupted": True, "card_id": "card-a", "outcome": "stopped"}
        assert again.results("lead")[1]["data"] == interrupted
        for card in ("project", "card-a"):
            assert len(again.texts("lead", RowKind.RECOVERED, card_id=card)) == 1
        ended = again.sql("SELECT kind FROM process_end")
        assert ended == ["killed"]
        assert checks.check(again.database) == []
        rows = len(again.rows("lead", "card-a"))
        await again.supervisor.recover()
        assert len(again.rows("lead", "card-a")) == rows
        asked = len(again.voice.asked)
        again.voice.add("steer", STUCK)
        assert (await again.run()).ending is Ending.BLOCKED
        assert len(again.voice.asked) == asked + 1
        assert checks.check(again.database) == []


@pytest.mark.covers("W10", "K15")
async def test_a_killed_model_call_is_unknown_and_is_not_asked_again(tmp_path: Path) -> None:
    """Spec, startup recovery: the exchange whose server is gone has an unknown end; nothing is asked for it."""
    async with workplace.opened(tmp_path) as shed:

        async def hang(_request: Request) -> Said:
            workplace.crash_image(shed, tmp_path / "after")
            return STUCK

        shed.voice.add("steer", hang)
        await shed.run()
    async with workplace.reopened(tmp_path / "after", shed.folder, voice=shed.voice) as again:
        assert again.sql("SELECT ended FROM exchange_end") == [Ended.UNKNOWN.value]
        assert again.sql("SELECT outcome FROM effect_end") == [Ended.UNKNOWN.value]
        assert len(again.voice.asked) == 1
        assert [row.kind for row in again.rows("lead")] == [RowKind.ACTIVATION, RowKind.SHOWN, RowKind.RECOVERED]
        assert again.card().status is Status.STOPPED
        assert checks.check(again.database) == []


@pytest.mark.covers("W10")
async def test_a_run_that_was_never_worked_on_ends_too(tmp_path: Path) -> None:
    """A restart starts nothing, not even what a person asked for just before."""
    async with workplace.opened(tmp_path, serve=False) as shed:
        await shed.start()
    async with workplace.reopened(tmp_path / "data", shed.folder, voice=shed.voice) as again:
        assert again.newest.ending is Ending.INTERRUPTED
        assert again.card().status is Status.BACKLOG
        assert again.voice.asked == []


@pytest.mark.covers("W10")
async def test_a_quiet_instance_is_left_as_it_is(tmp_path: Path) -> None:
    """Spec, startup recovery: settled conversations are read only."""
    async with workplace.opened(tmp_path, lines={"steer": [STUCK]}) as shed:
        await shed.run()
        before = shed.sql("SELECT count(*) FROM feed")
        project = shed.look(lambda tx: projects.find(tx, "shed"))
        found = await recovery.settle(shed.app.effects, project, run=None)
        assert (found.cards, found.processes) == ((), 0)
        assert shed.sql("SELECT count(*) FROM feed") == before


def activate_now(card_id: str) -> list[Call]:
    return [call("activate_card", card_id=card_id, instructions="Go.")]


@pytest.mark.covers("W09", "W10")
async def test_a_run_that_was_to_stop_when_the_server_died_has_stopped(tmp_path: Path) -> None:
    """S14: what a person has stopped is stopped, whoever finished it."""
    async with workplace.opened(tmp_path, serve=False) as shed:
        await shed.start()
        await shed.ask("stop_run")
    async with workplace.reopened(tmp_path / "data", shed.folder, voice=shed.voice) as again:
        assert again.newest.ending is Ending.STOPPED
