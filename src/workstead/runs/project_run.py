"""A project's run as one task: holds the lease, follows what a person wants, carries the root card, and ends.

Stop is one cancellation and one join: agents' grants end first, in the commit that says `stopping`, so that nothing
late can still be accepted; then the scope is cancelled; then what was interrupted is settled.
"""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

import anyio

from workstead import errors
from workstead.accounts import grants
from workstead.accounts.projects import Project
from workstead.jobs import leases
from workstead.jobs.leases import Lease
from workstead.kernel import faults
from workstead.kernel.feed import Wakes
from workstead.kernel.transaction import Tx
from workstead.logger import get_logger
from workstead.runs import activation, recovery, runs
from workstead.runs.activation import CardEnd
from workstead.runs.activations import Activation
from workstead.runs.runs import Ending, Run, State, Wanted
from workstead.runs.surroundings import Surroundings

_log = get_logger()
_POLL_S = 1.0
_STOPPED = "Stopped. What was interrupted is settled; run again to go on."


class _Left(StrEnum):
    """Why the scope was left before the root card ended."""

    NOT = "not"
    STOP = "stop"
    LEASE = "lease"


class ProjectRun:
    """One run while it lives. wakes: tells when a person may have written a new wish."""

    def __init__(self, around: Surroundings, lease: Lease, *, wakes: Wakes) -> None:
        self._around = around
        self._effects = around.effects
        self._lease = lease
        self._wakes = wakes
        self._left = _Left.NOT
        self._end: CardEnd | None = None
        self._failure: str | None = None

    async def run(self) -> None:
        """From the lease to the end; every way out leaves a row that says how it ended."""
        around = self._around
        try:
            await recovery.settle(self._effects, around.project, run=None)
            root = await self._effects.settle(around.scope, self._open)
        except errors.Refusal as refusal:
            await self._finish(Ending.FAILED, refusal.message)
            return
        await self._carry(root)
        if self._left is _Left.LEASE:
            # Another holder has the project now: nothing of it is ours to write.
            return
        # After an end of its own this finds nothing; it proves that no card below is left running.
        await recovery.settle(self._effects, around.project, run=around.run)
        if self._end is not None:
            await self._finish(Ending(self._end.status.value), self._end.result.summary)
        elif self._left is _Left.STOP:
            await self._finish(Ending.STOPPED, self._around.halt.reason or _STOPPED)
        else:
            await self._finish(Ending.FAILED, self._failure or "The run ended without a result.")

    def _open(self, tx: Tx) -> Activation:
        runs.move(tx, self._around.run, State.RUNNING)
        return activation.open_root(tx, self._around)

    async def _carry(self, root: Activation) -> None:
        """The root card, beside the controls and the lease, until one of them is over."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._controls, group.cancel_scope)
            group.start_soon(self._keep_lease, group.cancel_scope)

            def parked() -> None:
                group.start_soon(self._parked)

            self._around.gate.on_park = parked
            try:
                self._end = await activation.run(self._around, root)
            except errors.Refusal as refusal:
                self._failure = refusal.message
            except Exception:  # noqa: BLE001 - the job runner: this run failed, the server goes on
                _log.exception("run failed", run=self._around.run.id)
                self._failure = f"The run failed inside the server (id {self._around.run.id})."
            group.cancel_scope.cancel()

    async def _controls(self, scope: anyio.CancelScope) -> None:
        """Follow the row: rows are the truth, a wake only says when to look."""
        while True:
            event = self._wakes.event(self._around.scope)
            wanted = await self._effects.look(lambda tx: runs.read(tx, self._around.run.id))
            if wanted is None or not wanted.live:
                self._left = _Left.LEASE
                scope.cancel()
                return
            await self._obey(wanted, scope)
            with anyio.move_on_after(_POLL_S):
                await event.wait()

    async def _obey(self, now: Run, scope: anyio.CancelScope) -> None:
        gate = self._around.gate
        match now.wanted:
            case Wanted.STOP:
                if self._left is _Left.NOT:
                    self._left = _Left.STOP
                    await self._effects.settle(self._around.scope, self._begin_stop)
                    scope.cancel()
            case Wanted.PAUSE:
                if not gate.closed:
                    gate.close()
                    await self._move(State.PAUSED if gate.parked else State.PAUSING)
            case Wanted.RUN:
                if gate.closed:
                    gate.open()
                    await self._move(State.RUNNING)

    def _begin_stop(self, tx: Tx) -> None:
        grants.end_run(tx, self._around.run.id)
        runs.move(tx, self._around.run, State.STOPPING)

    async def _parked(self) -> None:
        if self._around.gate.closed and self._left is _Left.NOT:
            await self._move(State.PAUSED)

    async def _move(self, state: State) -> None:
        await self._effects.settle(self._around.scope, lambda tx: runs.move(tx, self._around.run, state))

    async def _keep_lease(self, scope: anyio.CancelScope) -> None:
        while True:
            await anyio.sleep(leases.RENEW_S)
            renewed = await self._effects.settle(self._around.scope, lambda tx: leases.renew(tx, self._lease))
            if renewed is None:
                self._left = _Left.LEASE
                scope.cancel()
                return
            self._lease = renewed

    async def _finish(self, ending: Ending, reason: str) -> None:
        def job(tx: Tx) -> None:
            grants.end_run(tx, self._around.run.id)
            runs.end(tx, self._around.run, ending, reason=reason)

        with anyio.CancelScope(shield=True):
            await self._effects.settle(self._around.scope, job)
            faults.point("run.done")
            await self._effects.settle(self._around.scope, lambda tx: leases.release(tx, self._lease))


def lease_name(project_id: str) -> str:
    """The lease under which a project's run is worked on."""
    return f"run:{project_id}"


def take_over(project: Project, *, owner: str) -> Callable[[Tx], None]:
    """The transaction that frees the project's lease from a server that is known to be gone."""

    def job(tx: Tx) -> None:
        lease = leases.claim(tx, lease_name(project.id), owner=owner, dead=True)
        if lease is not None:
            leases.release(tx, lease)

    return job


def claim(run: Run, *, owner: str) -> Callable[[Tx], tuple[Run, Lease] | None]:
    """The transaction that takes the project's lease and writes its fence into the run; None while another holds it."""

    def job(tx: Tx) -> tuple[Run, Lease] | None:
        fresh = runs.read(tx, run.id)
        if fresh is None or not fresh.live:
            return None
        lease = leases.claim(tx, lease_name(run.project_id), owner=owner)
        if lease is None:
            return None
        return runs.save(tx, replace(fresh, fence=lease.fence)), lease

    return job
