"""The controls of a run against a small model: start, pause, resume, stop, a dead server, a child's end (W09, W10)."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from runs import checks
from support import workplace
from support.workplace import Said, Voice, Workplace, activate, call, result, write
from workstead import errors
from workstead.agents.models.shape import Request
from workstead.runs.runs import Ending, State
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases

MADE = call("create_card", type="task", title="Saw", bootstrap_content="Saw it.")


class Held:
    """A model whose next answer is given by the test: every call waits until the test says what is said."""

    def __init__(self) -> None:
        self.asked = 0
        self.waiting: list[tuple[Request, anyio.Event, list[Said]]] = []

    async def line(self, request: Request) -> Said:
        """Wait to be told."""
        self.asked += 1
        one: tuple[Request, anyio.Event, list[Said]] = (request, anyio.Event(), [])
        self.waiting.append(one)
        try:
            await one[1].wait()
            return one[2][0]
        finally:
            self.waiting.remove(one)

    def say(self, said: Said) -> None:
        """Answer the call that waits."""
        _, event, given = self.waiting[-1]
        given.append(said)
        event.set()


class RunMachine(RuleBasedStateMachine):
    """Random lives of one project's runs. Model: whether a run lives, whether it is held, which card is at work."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp(prefix="workstead-machine-"))
        self.stack = AsyncExitStack()
        self.held = Held()
        voice = Voice({"steer": [self.held.line] * 500, "do": [self.held.line] * 500})
        self.voice = voice
        self.shed: Workplace = self.runner.run(self.begin())
        self.live = False
        self.paused = False
        self.child: Status | None = None
        self.in_child = False
        self.starts = 0
        self.data = 0

    async def begin(self) -> Workplace:
        shed = await self.stack.enter_async_context(workplace.opened(self.folder, serve=False))
        shed.supervisor = workplace.with_voice(shed.supervisor, self.voice)
        await self.serve(shed)
        return shed

    async def serve(self, shed: Workplace) -> None:
        self.serving = asyncio.get_running_loop().create_task(self._serve(shed))

    async def _serve(self, shed: Workplace) -> None:
        await shed.supervisor.serve()

    async def unserve(self) -> None:
        self.serving.cancel()
        await asyncio.wait([self.serving], timeout=5)

    def teardown(self) -> None:
        self.runner.run(self.unserve())
        self.runner.run(self.stack.aclose())
        self.runner.close()

    def ask(self, expected: str | None, name: str) -> None:
        try:
            self.runner.run(self.shed.ask(name))
            code = None
        except errors.Refusal as refusal:
            code = refusal.code
        assert code == expected, f"{name}: {code}, not {expected}"

    def settle(self) -> None:
        """Wait until the run stands where the model says."""
        wanted = State.ENDED if not self.live else State.PAUSED if self.paused and not self.held.waiting else None
        if wanted is not None:
            self.runner.run(self.shed.state(wanted))

    def at_call(self) -> None:
        self.runner.run(self.shed.until(lambda: bool(self.held.waiting)))

    @rule()
    def start(self) -> None:
        self.ask("run_live" if self.live else None, "start_run")
        if not self.live:
            self.live, self.paused, self.in_child = True, False, False
            self.starts += 1
            self.at_call()

    @rule()
    def pause(self) -> None:
        self.ask(None if self.live else "run_not_live", "pause_run")
        if self.live and not self.paused:
            self.paused = True
            self.runner.run(self.shed.state(State.PAUSING, State.PAUSED))

    @rule()
    def resume(self) -> None:
        expected = "run_not_live" if not self.live else None if self.paused else "run_not_paused"
        self.ask(expected, "resume_run")
        if expected is None:
            self.paused = False
            self.runner.run(self.shed.state(State.RUNNING))
            self.at_call()

    @rule()
    def stop(self) -> None:
        self.ask(None if self.live else "run_not_live", "stop_run")
        if self.live:
            self.over(Ending.STOPPED)

    @precondition(lambda self: self.live and self.held.waiting)
    @rule(what=st.sampled_from(["look", "child", "end", "text"]))
    def answer(self, what: str) -> None:
        """The model answers; what follows waits while the run is paused."""
        asked = self.held.asked
        match what:
            case "text":
                self.held.say("Hm.")
            case "child" if not self.in_child and self.child not in {Status.DONE, Status.FAILED}:
                request = self.held.waiting[-1][0]
                first = self.child is None
                now = [MADE, call("activate_card", card_id="card-a", instructions="Go.")]
                self.held.say(now if first else activate("Saw")(request))
                self.in_child, self.child = True, Status.RUNNING
            case "end" if self.in_child:
                self.held.say([write("status.md", f"Sawn {asked}."), result("done")])
                self.in_child, self.child = False, Status.DONE
            case "end":
                self.held.say([write("status.md", f"Stuck {asked}."), result("stuck")])
                self.over(Ending.BLOCKED)
                return
            case _:
                self.held.say([call("get_card", card_id="project")])
        if self.paused:
            self.runner.run(self.shed.state(State.PAUSED))
            assert self.held.asked == asked
        else:
            self.runner.run(self.shed.until(lambda: self.held.asked == asked + 1 and bool(self.held.waiting)))

    @rule()
    def die(self) -> None:
        """The server goes away and another starts on the same database."""
        self.runner.run(self.unserve())
        self.shed = self.runner.run(self.again())
        if self.live:
            self.over(Ending.INTERRUPTED)

    async def again(self) -> Workplace:
        await self.stack.aclose()
        self.stack = AsyncExitStack()
        shed = await self.stack.enter_async_context(
            workplace.reopened(self.folder / "data", self.shed.folder, voice=self.voice, serve=False)
        )
        await shed.supervisor.recover()
        await self.serve(shed)
        return shed

    def over(self, ending: Ending) -> None:
        self.live, self.paused, self.in_child = False, False, False
        if self.child is Status.RUNNING:
            self.child = Status.STOPPED
        ended = self.runner.run(self.shed.ended())
        assert ended.ending is ending
        assert not self.held.waiting

    @invariant()
    def nothing_is_broken(self) -> None:
        assert checks.check(self.shed.database) == []

    @invariant()
    def rows_say_what_the_model_says(self) -> None:
        listed = self.runner.run(self.shed.ask("list_runs")).runs
        assert len(listed) == self.starts
        assert (bool(listed) and listed[0].state is not State.ENDED) == self.live
        statuses = self.shed.statuses()
        assert statuses.get("card-a") == self.child
        assert (statuses["project"] is Status.RUNNING) == self.live


@pytest.mark.covers("W09", "W10", "K15")
def test_runs_live_as_the_model_says(database_kind: str) -> None:
    """W09, W10: whatever is pressed in whatever order, wherever the server dies, rows and refusals are the model's."""
    case = RunMachine.TestCase
    case.settings = settings(
        max_examples=12 if database_kind == "sqlite" else 2,
        stateful_step_count=14,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    case().runTest()
