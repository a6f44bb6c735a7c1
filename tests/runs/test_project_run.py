"""A project's run: what a person wants of it, Stop as one cancellation and one join, and the lease it holds."""

import time
from pathlib import Path

import anyio
import pytest
from sqlalchemy import text

from runs import checks
from support import workplace
from support.workplace import Lines, Said, activate, call, result, write
from workstead import errors
from workstead.accounts import credentials, people
from workstead.accounts.roles import Role
from workstead.accounts.tables import share
from workstead.agents.conversations import RowKind
from workstead.agents.models.shape import Call, Request
from workstead.jobs import leases
from workstead.kernel.access import AgentProof, SecretProof
from workstead.kernel.operations import Door
from workstead.kernel.store import prepared
from workstead.kernel.transaction import Tx
from workstead.runs import project_run, runs
from workstead.runs.runs import Ending, State, Wanted
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases

COVERS_MODULES = ("runs/surroundings.py",)

STUCK: list[Call] = [write("status.md", "S"), result("stuck")]
MADE = call("create_card", type="task", title="Saw", bootstrap_content="Saw it.")


async def refused(shed: workplace.Workplace, name: str) -> str:
    """The code with which an operation is refused."""
    with pytest.raises(errors.Refusal) as refusal:
        await shed.ask(name)
    return refusal.value.code


@pytest.mark.covers("W09")
async def test_a_second_start_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    """Spec, Run: one live run per project."""
    lines: Lines = {"steer": [[call("run_command", command="sleep 60")]]}
    async with workplace.opened(tmp_path, lines=lines) as shed:
        first = await shed.start()
        assert await refused(shed, "start_run") == "run_live"
        await shed.state(State.RUNNING)
        assert await refused(shed, "start_run") == "run_live"
        assert [one.id for one in (await shed.ask("list_runs")).runs] == [first.id]
        await shed.stop()
        assert await refused(shed, "stop_run") == "run_not_live"
        assert await refused(shed, "pause_run") == "run_not_live"


@pytest.mark.covers("W09")
async def test_pause_holds_the_next_model_call_and_lets_what_is_going_on_end(tmp_path: Path) -> None:
    """Spec, cooperative Pause: pausing while a tool works, paused at the next call, one more answer after Resume."""
    async with workplace.opened(tmp_path) as shed:
        command = "until [ -e go ]; do sleep 0.02; done; echo done > made"
        shed.voice.add("steer", [call("run_command", command=command)], STUCK)
        await shed.start()
        await shed.until(lambda: "run_command" in shed.called("lead"))
        await shed.ask("pause_run")
        await shed.state(State.PAUSING)
        assert len(shed.voice.asked) == 1
        (shed.folder / "go").touch()
        await shed.state(State.PAUSED)
        assert (shed.folder / "made").exists()
        assert len(shed.voice.asked) == 1
        assert (await shed.ask("get_run")).running == ("project",)
        await shed.ask("resume_run")
        ended = await shed.ended()
        assert ended.ending is Ending.BLOCKED
        assert len(shed.voice.asked) == 2
        assert checks.check(shed.database) == []


@pytest.mark.covers("W09")
async def test_people_change_cards_while_a_run_is_paused_and_not_before(tmp_path: Path) -> None:
    """Spec, intervention readiness: stopped and settled paused admit it, every other state refuses."""
    async with workplace.opened(tmp_path) as shed:
        shed.voice.add("steer", [call("run_command", command="until [ -e go ]; do sleep 0.02; done")], STUCK)
        await shed.start()
        await shed.until(lambda: "run_command" in shed.called("lead"))
        with pytest.raises(errors.Refusal) as refusal:
            await shed.add_card("Saw")
        assert refusal.value.code == "project_running"
        await shed.ask("pause_run")
        (shed.folder / "go").touch()
        await shed.state(State.PAUSED)
        before = shed.accepted("brief.md")
        await shed.ask("write_record", card_id="project", name="brief.md", content="Two sheds.")
        assert (before, shed.accepted("brief.md")) == ("A shed that stands.", "Two sheds.")
        await shed.ask("resume_run")
        await shed.ended()
        assert shed.texts("lead", RowKind.NOTIFICATION) != []


@pytest.mark.covers("W09")
async def test_resume_wants_a_paused_run(tmp_path: Path) -> None:
    """Spec, Resume: a wrong state is refused with the state."""
    lines: Lines = {"steer": [[call("run_command", command="sleep 60")]]}
    async with workplace.opened(tmp_path, lines=lines) as shed:
        await shed.start()
        await shed.state(State.RUNNING)
        assert await refused(shed, "resume_run") == "run_not_paused"
        await shed.ask("stop_run")
        await shed.ended()


@pytest.mark.covers("W09", "W10")
async def test_stop_while_paused_ends_the_run_without_another_call(tmp_path: Path) -> None:
    """Spec, Project Stop: admitted from paused; nothing is asked any more."""
    async with workplace.opened(tmp_path) as shed:

        async def pause(_request: Request) -> Said:
            await shed.ask("pause_run")
            await shed.state(State.PAUSING)
            return [call("get_card", card_id="project")]

        shed.voice.add("steer", pause, STUCK)
        await shed.start()
        await shed.state(State.PAUSED)
        ended = await shed.stop()
        assert (ended.ending, ended.running) == (Ending.STOPPED, ())
        assert len(shed.voice.asked) == 1
        assert shed.card().status is Status.STOPPED
        assert checks.check(shed.database) == []


@pytest.mark.covers("W09", "W17", "K15")
async def test_stop_leaves_nothing_alive_of_twenty_stubborn_processes(tmp_path: Path) -> None:
    """Spec, Project Stop: containment of new sessions, nohup and double forks; asked twice it is the same Stop."""
    script = """
    trap '' TERM HUP
    for n in 1 2 3 4 5; do
      setsid sleep 3600$n & nohup sleep 3610$n >/dev/null 2>&1 &
      (setsid sh -c "trap '' TERM; sleep 3620$n" &) & (trap '' TERM HUP INT; exec sleep 3630$n) &
    done
    touch ready; wait; sleep 60
    """
    lines: Lines = {
        "steer": [[MADE], activate("Saw")],
        "do": [[call("run_command", command=script)]],
    }
    async with workplace.opened(tmp_path, lines=lines) as shed:
        await shed.start()
        await shed.until(lambda: (shed.folder / "ready").exists() and len(_alive("36")) >= 20)
        began = time.monotonic()
        first = await shed.ask("stop_run")
        second = await shed.ask("stop_run")
        assert (first.id, first.wanted, second.wanted) == (second.id, Wanted.STOP, Wanted.STOP)
        ended = await shed.ended()
        assert time.monotonic() - began < 4.0
        assert _alive("36") == []
        assert (ended.ending, ended.state) == (Ending.STOPPED, State.ENDED)
        assert shed.statuses() == {"project": Status.STOPPED, "card-a": Status.STOPPED}
        interrupted = shed.results("lead", "card-a")[-1]
        assert interrupted == {
            "success": False,
            "error": "run_command was interrupted: the run was stopped or the server went down.",
            "data": {"interrupted": True},
        }
        assert len(shed.results("lead")) == 2
        assert checks.check(shed.database) == []


@pytest.mark.covers("W09", "K06")
async def test_a_result_after_stop_is_refused(tmp_path: Path) -> None:
    """Spec, exact authority fences: the agent's right ends in the commit that says `stopping`."""
    held: list[bool] = []
    async with workplace.opened(tmp_path) as shed:

        async def late(_request: Request) -> Said:
            await shed.ask("stop_run")
            with anyio.CancelScope(shield=True):
                await shed.state(State.STOPPING, State.ENDED)
                proof = AgentProof(grant_id=shed.sql("SELECT id FROM agent_grant")[0])
                held.append(await shed.app.effects.holds(proof, shed.scope))
            return STUCK

        shed.voice.add("steer", late)
        await shed.start()
        ended = await shed.ended()
        assert ended.ending is Ending.STOPPED
        assert held == [False]
        assert shed.accepted("status.md") is None
        assert shed.card().status is Status.STOPPED
        assert checks.check(shed.database) == []


@pytest.mark.covers("W09", "W07")
async def test_nothing_without_a_grant_counts_after_stop_either(tmp_path: Path) -> None:
    """A past bug: an action's end and an end by the runtime asked nobody whether the run was stopped."""
    async with workplace.opened(tmp_path) as shed:
        shed.voice.add("steer", [call("run_command", command="sleep 60")])
        await shed.start()
        await shed.state(State.RUNNING)
        run = shed.newest
        shed.look(lambda tx: runs.require_going(tx, run))
        await shed.stop()
        with pytest.raises(errors.Refusal) as refusal:
            shed.look(lambda tx: runs.require_going(tx, run))
        assert refusal.value.kind is errors.Kind.UNAUTHENTICATED


@pytest.mark.covers("W09", "W10")
async def test_run_after_stop_enters_stopped_with_the_recovery_prompt(tmp_path: Path) -> None:
    """Spec, Run: only the project's own card starts, by its STOPPED entry; children stay stopped until called."""
    lines: Lines = {
        "steer": [[MADE], activate("Saw")],
        "do": [[call("run_command", command="sleep 60")]],
    }
    async with workplace.opened(tmp_path, lines=lines) as shed:
        await shed.start()
        await shed.until(lambda: "run_command" in shed.called("lead", "card-a"))
        await shed.stop()

        def look(_request: Request) -> Said:
            assert shed.statuses() == {"project": Status.RUNNING, "card-a": Status.STOPPED}
            return activate("Saw")(_request)

        shed.voice.add("steer", look, STUCK)
        shed.voice.add("do", [write("status.md", "Sawn."), result("done")])
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        assert "stopped of a project" in shed.texts("lead", RowKind.CONTEXT)
        assert shed.card("card-a").status is Status.DONE
        entries = [one.entry for one in (await shed.ask("list_activations", card_id="card-a")).activations]
        assert entries == ["BACKLOG", "STOPPED"]
        assert checks.check(shed.database) == []


@pytest.mark.covers("W09", "K15")
async def test_a_server_that_goes_down_contains_its_run_and_the_next_start_settles_it(tmp_path: Path) -> None:
    """Spec, application close: joined and contained; the next start recovers and starts nothing."""
    lines: Lines = {
        "steer": [[MADE], activate("Saw")],
        "do": [[call("run_command", command="touch ready; setsid sleep 36441 & sleep 36442")]],
    }
    async with workplace.opened(tmp_path, lines=lines) as shed:
        await shed.start()
        await shed.until((shed.folder / "ready").exists)
        await shed.shut_down()
        assert _alive("3644") == []
        assert shed.newest.state is State.RUNNING
    async with workplace.reopened(tmp_path / "data", shed.folder, voice=shed.voice) as again:
        assert (again.newest.state, again.newest.ending) == (State.ENDED, Ending.INTERRUPTED)
        assert again.statuses() == {"project": Status.STOPPED, "card-a": Status.STOPPED}
        asked = len(again.voice.asked)
        assert checks.check(again.database) == []
        again.voice.add("steer", STUCK)
        # A past bug: the lease of the dead start held the next run back for half a minute.
        ended = await again.run()
        assert ended.ending is Ending.BLOCKED
        assert len(again.voice.asked) == asked + 1
        assert checks.check(again.database) == []


@pytest.mark.covers("W09")
async def test_a_run_whose_lease_was_taken_writes_nothing_more(tmp_path: Path) -> None:
    """Architecture, leases: the fence tells an old holder that it was replaced."""
    async with workplace.opened(tmp_path, serve=False) as shed:
        run = await shed.start()
        row = shed.newest
        claimed = await shed.change(project_run.claim(row, owner="one"))
        assert claimed[1].fence == claimed[0].fence == 1
        assert await shed.change(project_run.claim(row, owner="two")) is None
        name = project_run.lease_name(shed.project_id)
        taken = await shed.change(lambda tx: leases.claim(tx, name, owner="two", dead=True))
        assert taken.fence == 2
        assert await shed.change(lambda tx: leases.renew(tx, claimed[1])) is None
        assert not await shed.change(lambda tx: leases.stands(tx, claimed[1]))
        await shed.change(lambda tx: runs.end(tx, row, Ending.STOPPED, reason="Over."))
        assert await shed.change(project_run.claim(row, owner="two")) is None
        assert shed.newest.id == run.id


@pytest.mark.covers("K06", "W09")
async def test_a_run_ends_with_the_rights_of_whoever_pressed_run(tmp_path: Path) -> None:
    """K06: an agent's right is borrowed and read at every call; suspended people's agents do nothing more."""
    async with workplace.opened(tmp_path) as shed:
        proof = await shed.change(lambda tx: _editor(tx, shed.project_id))

        async def suspend(_request: Request) -> Said:
            await shed.change(lambda tx: tx.run(_SUSPEND))
            return [write("status.md", "S"), result("stuck")]

        shed.voice.add("steer", suspend)
        await shed.app.operations.run(proof, "start_run", {"project": "shed"}, door=Door.REST)
        ended = await shed.ended()
        assert ended.ending is Ending.FAILED
        assert shed.record("status.md") is None
        assert shed.card().status is Status.STOPPED
        assert checks.check(shed.database) == []


_SUSPEND = prepared(text("UPDATE person SET suspended_at = '2026-01-01' WHERE name = 'Eve'"))


def _editor(tx: Tx, project_id: str) -> SecretProof:
    eve = people.add(tx, name="Eve", operator=False)
    tx.run(prepared(share.insert()), project_id=project_id, person_id=eve.id, role=Role.EDITOR.value, at=tx.at)
    secret = credentials.issue(tx, kind=credentials.CredentialKind.SIGN_IN, person_id=eve.id)
    return SecretProof(digest=credentials.digest(secret))


def _alive(marker: str) -> list[str]:
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                words = (each / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0] == b"sleep" and words[1].startswith(marker.encode()) and len(words[1]) > 4:
                found.append(words[1].decode())
    return found
