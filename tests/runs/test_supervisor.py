"""The supervisor: it picks up every wanted run, and what goes wrong in one ends that one only."""

import shutil
from pathlib import Path

import anyio
import pytest
from sqlalchemy import text

from runs import checks
from support import workplace
from support.workplace import Line, Said, call, result, write
from work.office import write_folder
from workstead import errors
from workstead.agents.models.shape import Call, Request
from workstead.jobs import leases
from workstead.kernel.operations import Door
from workstead.kernel.store import prepared
from workstead.runs import project_run
from workstead.runs.runs import Ending, State
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases

_REFUSE = prepared(
    text("CREATE TRIGGER broken BEFORE UPDATE ON run WHEN NEW.ending = 'blocked' BEGIN SELECT RAISE(ABORT, 'no'); END")
)
_REFUSE_ALL = prepared(
    text("CREATE TRIGGER broken BEFORE UPDATE ON run WHEN NEW.state = 'ended' BEGIN SELECT RAISE(ABORT, 'no'); END")
)
_ALLOW = prepared(text("DROP TRIGGER broken"))
STUCK: list[Call] = [write("status.md", "S"), result("stuck")]


@pytest.mark.covers("W09")
async def test_a_folder_that_is_gone_ends_the_run_with_the_reason(tmp_path: Path) -> None:
    """What the machine refuses is the run's end, told in a sentence."""
    async with workplace.opened(tmp_path, serve=False) as shed:
        await shed.start()
        shutil.move(shed.folder, tmp_path / "elsewhere")
        async with workplace.serving(shed):
            ended = await shed.ended()
        assert ended.ending is Ending.FAILED
        assert ended.reason
        assert "server" not in ended.reason
        assert shed.card().status is Status.BACKLOG


@pytest.mark.covers("W09")
@pytest.mark.only_sqlite("made by a trigger of its kind")
async def test_a_run_that_fails_inside_ends_alone(tmp_path: Path) -> None:
    """House style 26 and the job runner: an id in the reason, no right left, the other project goes on."""
    async with workplace.opened(tmp_path) as shed:
        other = write_folder(tmp_path / "barn", source=workplace.SOURCE)
        raw = {"folder": str(other), "name": "Barn", "title": "Build a barn", "objective": "A barn.", "slug": "barn"}
        await shed.app.operations.run(workplace.operator(), "create_project", raw, door=Door.CLI)
        gone = anyio.Event()

        async def wait(_request: Request) -> Said:
            await gone.wait()
            return STUCK

        async def spoil(_request: Request) -> Said:
            await shed.change(lambda tx: tx.run(_REFUSE))
            return STUCK

        shed.voice.add("Build a shed/steer", spoil)
        shed.voice.add("Build a barn/steer", wait)
        await shed.ask("start_run", project="barn")
        await shed.until(lambda: len(shed.voice.asked) == 1)
        await shed.start()
        await shed.state(State.ENDED)
        newest = shed.newest
        assert newest.ending is Ending.FAILED
        assert newest.reason == f"The run failed inside the server (id {newest.id})."
        assert shed.sql(f"SELECT id FROM agent_grant WHERE ended_at IS NULL AND run_id = '{newest.id}'") == []
        await shed.change(lambda tx: tx.run(_ALLOW))
        gone.set()
        shed.project = "barn"
        assert (await shed.ended()).ending is Ending.BLOCKED


@pytest.mark.covers("W09")
async def test_a_run_waits_while_another_server_holds_the_project(tmp_path: Path) -> None:
    """Architecture, leases: a second owner cannot take it; when it is let go, the run begins."""
    async with workplace.opened(tmp_path, lines={"steer": [STUCK]}, serve=False) as shed:
        name = project_run.lease_name(shed.project_id)
        held = await shed.change(lambda tx: leases.claim(tx, name, owner="another"))
        async with workplace.serving(shed):
            await shed.start()
            with anyio.move_on_after(0.3):
                await shed.state(State.RUNNING)
            assert shed.newest.state is State.STARTING
            assert shed.voice.asked == []
            await shed.change(lambda tx: leases.release(tx, held))
            shed.app.wakes.announce({"instance"})
            ended = await shed.ended()
        assert ended.ending is Ending.BLOCKED
        assert shed.newest.fence == held.fence + 1


@pytest.mark.covers("W09")
async def test_many_projects_and_many_hands_leave_one_truth(tmp_path: Path) -> None:
    """Spec, Run, Pause, Stop: whoever presses what and when, each project has one run and every end is whole."""
    slugs = [f"shed{n}" for n in range(4)]
    async with workplace.opened(tmp_path) as shed:
        for slug in slugs:
            folder = write_folder(tmp_path / slug, source=workplace.SOURCE)
            raw = {"folder": str(folder), "name": slug, "title": slug, "objective": "A shed.", "slug": slug}
            await shed.app.operations.run(workplace.operator(), "create_project", raw, door=Door.CLI)
            looks: list[Line] = [[call("get_card", card_id="project")]] * 20
            shed.voice.add(f"{slug}/steer", *looks, STUCK, *looks, STUCK)
        codes: list[str] = []

        async def press(slug: str, *names: str) -> None:
            for name in names:
                try:
                    await shed.ask(name, project=slug)
                except errors.Refusal as refusal:
                    codes.append(refusal.code)

        async with anyio.create_task_group() as group:
            for slug in slugs:
                group.start_soon(press, slug, "start_run", "pause_run", "resume_run", "pause_run", "stop_run")
                group.start_soon(press, slug, "start_run", "resume_run", "stop_run", "start_run")
                group.start_soon(press, slug, "pause_run", "start_run", "pause_run", "resume_run")
        for slug in slugs:
            shed.project = slug
            await press(slug, "stop_run")
            await shed.ended()
        expected = {"run_live", "run_not_live", "run_not_paused", "run_stopping", "project_not_startable"}
        assert set(codes) <= expected
        assert checks.check(shed.database) == []


@pytest.mark.covers("W09", "W10")
@pytest.mark.only_sqlite("made by a trigger of its kind")
async def test_a_run_that_cannot_even_be_ended_takes_nobody_down_and_is_not_tried_again(tmp_path: Path) -> None:
    """A past bug: a refused end of one run ended the server's supervisor, and with it every run."""
    async with workplace.opened(tmp_path) as shed:
        other = write_folder(tmp_path / "barn", source=workplace.SOURCE)
        raw = {"folder": str(other), "name": "Barn", "title": "Build a barn", "objective": "A barn.", "slug": "barn"}
        await shed.app.operations.run(workplace.operator(), "create_project", raw, door=Door.CLI)
        shed.voice.add("steer", STUCK, STUCK, STUCK)
        await shed.change(lambda tx: tx.run(_REFUSE_ALL))
        broken = await shed.start()
        await shed.until(lambda: shed.card().status is Status.BLOCKED)
        await shed.ask("start_run", project="barn")
        shed.project = "barn"
        await shed.until(lambda: shed.card().status is Status.BLOCKED)
        assert len(shed.voice.asked) == 2
        assert not shed.served.is_set()
        await shed.shut_down()
        await shed.change(lambda tx: tx.run(_ALLOW))
    async with workplace.reopened(tmp_path / "data", shed.folder, voice=shed.voice) as again:
        assert again.newest.id == broken.id
        assert again.newest.ending is Ending.INTERRUPTED
        assert len(again.voice.asked) == 2
        assert checks.check(again.database) == []
