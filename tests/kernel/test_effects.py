"""Effects: claimed before, settled after, whatever happens (architecture, "effect"; K15)."""

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from support import database, instance, invariants
from support.database import locked, statement
from workstead import errors
from workstead.accounts import credentials
from workstead.kernel.access import Caller, SecretProof
from workstead.kernel.effects import Ended, Outcome
from workstead.kernel.store import Connection
from workstead.kernel.transaction import Tx

pytestmark = pytest.mark.both_databases


ENDS = statement("SELECT outcome FROM effect_end ORDER BY effect_id")
CLAIMS = statement("SELECT count(*) FROM effect")
EVENTS = statement("SELECT event, topic FROM feed WHERE scope = :scope ORDER BY seq")


@dataclass(kw_only=True)
class Bench:
    """An open instance, an act that is told what to do, and what was seen of it."""

    found: instance.Founded
    opened: instance.Instance
    acted: list[str] = field(default_factory=list)
    outcomes: list[Outcome[str]] = field(default_factory=list)
    claim_held: threading.Event | None = None

    async def perform(
        self, act: Callable[[str], Awaitable[str]], *, deadline_s: float = 5, proof: SecretProof | None = None
    ) -> str:
        def claim(tx: Tx, caller: Caller) -> str:
            made = self.opened.effects.claim(
                tx, self.scope, kind="command", subject="c", payload={"run": "x"}, deadline_s=deadline_s
            )
            if self.claim_held is not None:
                assert self.claim_held.wait(5)
            return made

        def settle(tx: Tx, effect_id: str, outcome: Outcome[str]) -> str:
            self.outcomes.append(outcome)
            self.opened.effects.end(tx, self.scope, effect_id, ended=outcome.ended, subject="c")
            return f"settled as {outcome.ended}"

        return await self.opened.effects.perform(
            proof or self.found.operator.proof, self.scope, claim=claim, act=act, settle=settle, deadline_s=deadline_s
        )

    async def done(self, effect_id: str) -> str:
        self.acted.append(effect_id)
        return "result"

    @property
    def scope(self) -> str:
        return self.found.project.scope

    @property
    def writers(self) -> int:
        return database.of(self.found.path).writers

    def ends(self) -> list[object]:
        with instance.transaction(self.found.path) as tx:
            return [row[0] for row in tx.all(ENDS)]

    def claims(self) -> int:
        with instance.transaction(self.found.path) as tx:
            row = tx.one(CLAIMS)
        assert row is not None
        return int(row[0] or 0)


@asynccontextmanager
async def bench(path: Path, *, boot_id: str = "boot-1") -> AsyncIterator[Bench]:
    found = instance.founded(path)
    with instance.opened(path, boot_id=boot_id) as opened, anyio.fail_after(5):
        yield Bench(found=found, opened=opened)
    assert invariants.check(path) == []


@pytest.mark.covers("K15")
async def test_an_act_is_claimed_before_and_settled_after(tmp_path: Path) -> None:
    """The claim is committed while the act runs, and pages are told of both."""
    async with bench(tmp_path / "db") as here:
        seen: list[tuple[int, list[object]]] = []

        async def act(effect_id: str) -> str:
            seen.append((here.claims(), here.ends()))
            return "result"

        assert await here.perform(act) == "settled as done"
        assert seen == [(1, [])]
        assert here.ends() == ["done"]
        assert (here.outcomes[0].value, here.outcomes[0].error) == ("result", None)
        with instance.transaction(here.found.path) as tx:
            events = tx.all(EVENTS, scope=here.scope)
    assert events == [("kernel:effect:claimed", "effects/c"), ("kernel:effect:ended", "effects/c")]


@pytest.mark.covers("K06")
async def test_a_refused_claim_does_nothing(tmp_path: Path) -> None:
    """Authority is read inside the claim's transaction."""
    async with bench(tmp_path / "db") as here:
        with pytest.raises(errors.Refusal) as refused:
            await here.perform(here.done, proof=SecretProof(digest="unknown"))
        assert refused.value.kind is errors.Kind.UNAUTHENTICATED
        assert (here.claims(), here.acted) == (0, [])


async def test_a_failed_act_is_an_outcome_and_not_an_error(tmp_path: Path) -> None:
    """It must be recorded; what it means is decided where it is settled."""
    async with bench(tmp_path / "db") as here:
        wrong = LookupError("on purpose")

        async def act(effect_id: str) -> str:
            raise wrong

        assert await here.perform(act) == "settled as failed"
        assert (here.ends(), here.outcomes[0].error) == (["failed"], wrong)


async def test_an_act_that_fails_before_it_can_be_awaited_is_settled(tmp_path: Path) -> None:
    """Otherwise its claim would stand without an end until the next start."""
    async with bench(tmp_path / "db") as here:

        def act(effect_id: str) -> Awaitable[str]:
            raise LookupError("on purpose")

        assert await here.perform(act) == "settled as failed"
        assert here.ends() == ["failed"]


async def test_an_act_past_its_deadline_is_interrupted(tmp_path: Path) -> None:
    """Every effect has its own deadline."""
    async with bench(tmp_path / "db") as here:

        async def act(effect_id: str) -> str:
            await anyio.sleep_forever()
            raise AssertionError("unreachable")

        assert await here.perform(act, deadline_s=0.01) == "settled as interrupted"
        assert here.ends() == ["interrupted"]
        assert isinstance(here.outcomes[0].error, TimeoutError)


@pytest.mark.covers("K15")
@pytest.mark.parametrize("natively", [False, True])
async def test_a_cancelled_act_is_settled_before_the_cancellation_goes_on(tmp_path: Path, natively: bool) -> None:
    """Stop cancels and joins: when it returns, the end is on record."""
    async with bench(tmp_path / "db") as here:
        began, around = anyio.Event(), anyio.CancelScope()

        async def act(effect_id: str) -> str:
            began.set()
            await anyio.sleep_forever()
            raise AssertionError("unreachable")

        async def run() -> None:
            with around:
                await here.perform(act)

        task = asyncio.ensure_future(run())
        await began.wait()
        if natively:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            around.cancel()
            await task
        assert here.ends() == ["interrupted"]


@pytest.mark.covers("K15")
async def test_a_claim_that_is_cancelled_while_it_is_written_is_settled_and_never_acted_on(tmp_path: Path) -> None:
    """A started write is waited for: the claim stands, so its end must stand too."""
    async with bench(tmp_path / "db") as here:
        here.claim_held = threading.Event()
        task = asyncio.ensure_future(here.perform(here.done))
        started = await _writer_busy(here)
        task.cancel()
        here.claim_held.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (started, here.claims(), here.ends(), here.acted) == (True, 1, ["interrupted"], [])


@pytest.mark.covers("K15")
async def test_a_settlement_in_the_queue_survives_every_cancellation(tmp_path: Path) -> None:
    """The act has happened; a second Stop must not take its record back."""
    async with bench(tmp_path / "db") as here:
        holding = itertools.count(1)
        go, loop, held = threading.Event(), asyncio.get_running_loop(), anyio.Event()

        def holds(connection: Connection) -> bool:
            if next(holding) == here.writers:
                loop.call_soon_threadsafe(held.set)
            return go.wait(5)

        async def act(effect_id: str) -> str:
            writers.extend(asyncio.ensure_future(here.opened.store.write(holds)) for _ in range(here.writers))
            await held.wait()
            return "result"

        writers: list[asyncio.Future[bool]] = []
        task = asyncio.ensure_future(here.perform(act))
        await held.wait()
        for _ in range(3):
            await anyio.wait_all_tasks_blocked()
            task.cancel()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        for writer in writers:
            assert await writer
        assert here.ends() == ["done"]


async def test_a_claim_that_is_cancelled_in_the_queue_leaves_nothing(tmp_path: Path) -> None:
    """What never began needs no record."""
    async with bench(tmp_path / "db") as here:
        holding = itertools.count(1)
        go, loop, started = threading.Event(), asyncio.get_running_loop(), anyio.Event()

        def holds(connection: Connection) -> bool:
            if next(holding) == here.writers:
                loop.call_soon_threadsafe(started.set)
            return go.wait(5)

        writers = [asyncio.ensure_future(here.opened.store.write(holds)) for _ in range(here.writers)]
        await started.wait()
        task = asyncio.ensure_future(here.perform(here.done))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        for writer in writers:
            assert await writer
        assert (here.claims(), here.acted) == (0, [])


async def test_a_known_result_is_recorded_for_a_caller_who_was_revoked_meanwhile(tmp_path: Path) -> None:
    """Authority is read for the claim, not for the settlement."""
    async with bench(tmp_path / "db") as here:

        async def act(effect_id: str) -> str:
            with instance.transaction(here.found.path) as tx:
                credentials.end(tx, credentials.digest(here.found.operator.secret))
            return "result"

        assert await here.perform(act) == "settled as done"
        assert here.ends() == ["done"]


@pytest.mark.covers("K11")
async def test_claim_and_end_wake_the_scope(tmp_path: Path) -> None:
    """A page shows what is being done now."""
    async with bench(tmp_path / "db") as here:
        first = here.opened.wakes.event(here.scope)
        woken: list[bool] = []

        async def act(effect_id: str) -> str:
            woken.append(first.is_set())
            woken.append(here.opened.wakes.event(here.scope).is_set())
            return "result"

        await here.perform(act)
        assert woken == [True, False]
        assert here.scope not in here.opened.wakes._waiting


@pytest.mark.covers("K15")
async def test_only_claims_of_earlier_starts_are_unsettled(tmp_path: Path) -> None:
    """What runs now is not unknown; what was settled is known."""
    async with bench(tmp_path / "db", boot_id="boot-1") as here:
        await here.perform(here.done)

        def claim(connection: Connection) -> str:
            tx = Tx(connection, clock=here.opened.clock)
            return here.opened.effects.claim(tx, here.scope, kind="command", subject="c", payload={}, deadline_s=1)

        lost = await here.opened.store.write(claim)
        with instance.transaction(here.found.path) as tx:
            assert here.opened.effects.unsettled(tx, here.scope) == ()
    with instance.opened(tmp_path / "db", boot_id="boot-2") as later:
        with instance.transaction(tmp_path / "db") as tx:
            (found,) = later.effects.unsettled(tx, here.scope)
            assert (found.id, found.kind, found.subject, found.boot_id) == (lost, "command", "c", "boot-1")
        scope = here.scope
        await later.effects.settle(
            scope, lambda tx: later.effects.end(tx, scope, lost, ended=Ended.UNKNOWN, subject="c")
        )
        with instance.transaction(tmp_path / "db") as tx:
            assert later.effects.unsettled(tx, scope) == ()


async def _writer_busy(here: Bench) -> bool:
    """Wait until the claim's transaction holds the database's write lock."""
    while True:
        await asyncio.sleep(0)
        with locked(here.found.path) as held_elsewhere:
            if held_elsewhere:
                return True
