"""Effects: what acts on the world outside the database; claimed before, settled after, never silently repeated.

`perform` commits a claim, awaits the act within its deadline and commits a settlement whatever happens. Claim and
settlement are the kernel's own transactions beside `operations.run`: authority is read for the claim, not for the
settlement, because what is known is recorded even for a revoked caller.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Generic, TypeVar, cast
from weakref import WeakValueDictionary

import anyio
from sqlalchemy import bindparam, insert, literal_column, select, update

from workstead import errors
from workstead.clock import Clock, iso, parse_iso
from workstead.kernel import canonical, faults, feed, scopes
from workstead.kernel.access import AgentProof, Authority, Caller, Proof
from workstead.kernel.feed import Wakes
from workstead.kernel.store import Connection, Store, prepared
from workstead.kernel.tables import effect, effect_end
from workstead.kernel.transaction import Tx

C = TypeVar("C")
R = TypeVar("R")
S = TypeVar("S")

_BUSY_S = 0.05
_GONE_S = 0.5
_PATIENCE_S = 60.0


class Ended(StrEnum):
    """How an effect ended, as far as is known."""

    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"  # cancelled, or past its deadline
    UNKNOWN = "unknown"  # claimed by a server that is gone


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[R]):
    """What the act came to. value is set when it is done, error when it failed or was interrupted by its deadline."""

    ended: Ended
    value: R | None = None
    error: BaseException | None = None


@dataclass(frozen=True, kw_only=True)
class Unsettled:
    """A claim without a settlement."""

    id: str
    kind: str
    subject: str
    boot_id: str
    claimed_at: str


_CLAIM = prepared(insert(effect))
_END = prepared(insert(effect_end))
_CLOSE = prepared(update(effect).where(effect.c.id == bindparam("k_id")).values(open=literal_column("0")))
_UNSETTLED = prepared(
    select(effect.c.id, effect.c.kind, effect.c.subject, effect.c.boot_id, effect.c.claimed_at)
    .where(
        effect.c.scope == bindparam("k_scope"),
        effect.c.open == literal_column("1"),
        effect.c.boot_id != bindparam("k_boot_id"),
    )
    .order_by(effect.c.id)
)

_UNDER_WAY = prepared(
    select(effect.c.id).where(
        effect.c.id == bindparam("k_id"),
        effect.c.boot_id == bindparam("k_boot_id"),
        effect.c.open == literal_column("1"),
    )
)


class Effects:
    """The one way to act on the outside. boot_id: names this start of the server in every claim."""

    def __init__(self, *, store: Store, authority: Authority, wakes: Wakes, clock: Clock, boot_id: str) -> None:
        self._store = store
        self._authority = authority
        self._wakes = wakes
        self._clock = clock
        self._turns: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self.boot_id = boot_id

    async def perform(
        self,
        proof: Proof,
        scope: str,
        *,
        claim: Callable[[Tx, Caller], C],
        act: Callable[[C], Awaitable[R]],
        settle: Callable[[Tx, C, Outcome[R]], S],
        deadline_s: float,
    ) -> S:
        """Claim, act, settle; returns what `settle` returned. Raises what `claim` refused; then nothing happened.

        A failure of the act is an outcome, handed to `settle`, not raised. A cancellation is settled, then goes on.
        """
        claimed: list[C] = []

        def job(tx: Tx) -> C:
            return claim(tx, self._authority(tx, proof, scope))

        try:
            await self._patiently(proof, scope, job, committed=claimed.append)
        except anyio.get_cancelled_exc_class():
            # Cancelled too late to take the claim back: it stands, so its end must stand too.
            if claimed:
                await self._interrupt(scope, claimed[0], settle)
            raise
        faults.point("call.written")
        return await self.carry_out(scope, claimed[0], act=act, settle=settle, deadline_s=deadline_s)

    async def carry_out(
        self,
        scope: str,
        claimed: C,
        *,
        act: Callable[[C], Awaitable[R]],
        settle: Callable[[Tx, C, Outcome[R]], S],
        deadline_s: float,
    ) -> S:
        """Act and settle what an earlier transaction has claimed."""
        try:
            outcome = await _within(lambda: act(claimed), deadline_s)
        except anyio.get_cancelled_exc_class():
            await self._interrupt(scope, claimed, settle)
            raise
        return await self._recorded(scope, lambda tx: settle(tx, claimed, outcome))

    async def settle(self, scope: str, job: Callable[[Tx], S]) -> S:
        """Record what is known in the kernel's own transaction; never withdrawn, and waits for a lost database."""
        return await self._recorded(scope, job)

    async def act_as(self, proof: Proof, scope: str, job: Callable[[Tx, Caller], S]) -> S:
        """Decide and record for somebody whose authority is read inside the transaction (K06)."""

        def write(tx: Tx) -> S:
            return job(tx, self._authority(tx, proof, scope))

        return await self._patiently(proof, scope, write)

    async def holds(self, proof: Proof, scope: str) -> bool:
        """Whether a proof still holds; for acts that are no operations. Waits for a lost database."""

        def holding(tx: Tx) -> bool:
            try:
                self._authority(tx, proof, scope)
            except errors.Refusal:
                return False
            return True

        return await self.look(holding)

    async def read(self, job: Callable[[Tx], S]) -> S:
        """Read in one snapshot on a reader thread, for the server's own use; waits for a lost database."""

        def reading(connection: Connection) -> S:
            return job(Tx(connection, clock=self._clock))

        return await self._waiting(lambda: self._store.read(reading, name=getattr(job, "__qualname__", "")))

    async def look(self, job: Callable[[Tx], S]) -> S:
        """Read a few keys, for the server's own use; waits for a lost database."""
        return await self._waiting(lambda: self._store.look(lambda connection: job(Tx(connection, clock=self._clock))))

    async def work(self, job: Callable[[], S], *, alone: str | None = None) -> S:
        """Run what waits for a disk on a thread; it is waited for once it has begun, however its waiter is cancelled.

        alone: names what one job at a time may change (a folder): who reads, decides and writes loses nobody's change.
        """
        if alone is None:
            return await self._store.work(job)
        turn = self._turns.setdefault(alone, anyio.Lock())
        async with turn:
            return await self._store.work(job)

    def glance(self, job: Callable[[Tx], S]) -> S:
        """Read a few keys on the loop, for the server's own use; refused while the database is lost."""
        return self._store.read_here(lambda connection: job(Tx(connection, clock=self._clock)))

    def claim(self, tx: Tx, scope: str, *, kind: str, subject: str, payload: object, deadline_s: float) -> str:
        """Write the claim row; returns the effect's id. payload: what will be done, kept as a digest only."""
        effect_id = tx.new_id()
        deadline = parse_iso(tx.at) + timedelta(seconds=deadline_s)
        tx.run(
            _CLAIM,
            id=effect_id,
            scope=scope,
            kind=kind,
            subject=subject,
            boot_id=self.boot_id,
            digest=canonical.digest(payload),
            claimed_at=tx.at,
            deadline_at=iso(deadline),
            open=1,
        )
        feed.add(tx, scope, feed.Event.EFFECT_CLAIMED, topic=f"effects/{subject}")
        return effect_id

    def end(self, tx: Tx, scope: str, effect_id: str, *, ended: Ended, subject: str) -> None:
        """Write the settlement row."""
        tx.run(_END, effect_id=effect_id, outcome=ended.value, at=tx.at, boot_id=self.boot_id)
        tx.run(_CLOSE, k_id=effect_id)
        feed.add(tx, scope, feed.Event.EFFECT_ENDED, topic=f"effects/{subject}")

    def unsettled(self, tx: Tx, scope: str) -> tuple[Unsettled, ...]:
        """Claims of earlier starts that nothing settled, oldest first: their outcome is unknown."""
        rows = tx.all(_UNSETTLED, k_scope=scope, k_boot_id=self.boot_id)
        return tuple(
            Unsettled(
                id=cast("str", effect_id),
                kind=cast("str", kind),
                subject=cast("str", subject),
                boot_id=cast("str", boot_id),
                claimed_at=cast("str", at),
            )
            for effect_id, kind, subject, boot_id, at in rows
        )

    def under_way(self, tx: Tx, effect_id: str) -> bool:
        """Whether this start claimed it and has not settled it yet."""
        return tx.one(_UNDER_WAY, k_id=effect_id, k_boot_id=self.boot_id) is not None

    async def _interrupt(self, scope: str, claimed: C, settle: Callable[[Tx, C, Outcome[R]], S]) -> None:
        interrupted: Outcome[R] = Outcome(ended=Ended.INTERRUPTED)
        await self._recorded(scope, lambda tx: settle(tx, claimed, interrupted))

    async def _recorded(self, scope: str, job: Callable[[Tx], S]) -> S:
        # A cancelled waiter waits on: what is known of the world outside is known nowhere else.
        with anyio.CancelScope(shield=True):
            recorded = await self._waiting(lambda: self._commit(scope, job, withdrawable=False, patient=True))
        # Outside the block, because a scope may swallow what ends it: the type checker knows that.
        return recorded  # noqa: RET504

    async def _waiting(self, ask: Callable[[], Awaitable[S]]) -> S:
        """Ask again as long as the database cannot be reached and the server does not end.

        Nothing was written whenever that is said. Whoever calls from outside is refused instead and tries again;
        the server's own work has nobody who would.
        """
        while True:
            try:
                return await ask()
            except errors.Refusal as refusal:
                if refusal.code != "database_unreachable" or self._store.hurried:
                    raise
            await anyio.sleep(_GONE_S)

    async def _commit(
        self,
        scope: str,
        job: Callable[[Tx], S],
        *,
        withdrawable: bool,
        patient: bool = False,
        committed: Callable[[S], None] | None = None,
    ) -> S:
        def write(connection: Connection) -> tuple[S, set[str]]:
            tx = Tx(connection, clock=self._clock)
            scopes.lock(tx, scope)
            return job(tx), tx.wakes

        def announce(done: tuple[S, set[str]]) -> None:
            if committed is not None:
                committed(done[0])
            self._wakes.announce(done[1])

        value, _ = await self._store.write(
            write,
            announce=announce,
            withdrawable=withdrawable,
            patient=patient,
            name=getattr(job, "__qualname__", ""),
        )
        return value

    async def _patiently(
        self, proof: Proof, scope: str, job: Callable[[Tx], S], *, committed: Callable[[S], None] | None = None
    ) -> S:
        """Commit, and for an agent wait while the queue is full or the database is lost: nobody would try again."""
        until_s = anyio.current_time() + _PATIENCE_S

        def commit() -> Awaitable[S]:
            return self._commit(scope, job, withdrawable=True, patient=True, committed=committed)

        while True:
            try:
                return await (self._waiting(commit) if isinstance(proof, AgentProof) else commit())
            except errors.Refusal as refusal:
                # Nothing was queued, so nothing happens twice.
                patient = isinstance(proof, AgentProof) and anyio.current_time() < until_s
                if refusal.code != "writes_busy" or not patient:
                    raise
            await anyio.sleep(_BUSY_S)


async def _within(act: Callable[[], Awaitable[R]], deadline_s: float) -> Outcome[R]:
    try:
        with anyio.fail_after(deadline_s):
            return Outcome(ended=Ended.DONE, value=await act())
    except TimeoutError as error:
        return Outcome(ended=Ended.INTERRUPTED, error=error)
    except Exception as error:  # noqa: BLE001 - a failed act is an outcome that must be recorded
        return Outcome(ended=Ended.FAILED, error=error)
