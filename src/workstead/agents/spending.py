"""Spending: one task's model calls against its budgets, and the time its tools take."""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import anyio

from workstead.agents import budgets, task
from workstead.agents.budget_rows import Kind
from workstead.agents.budgets import HeldError, SpentError, TimeLeft, Wanted
from workstead.agents.models.shape import Answer
from workstead.agents.tools import activate
from workstead.kernel import faults
from workstead.kernel.effects import Effects, Outcome
from workstead.kernel.transaction import Tx

S = TypeVar("S")

# Whoever holds what is left is a call that ends within minutes; its end is looked for this often.
_HELD_S = 0.25


class Spending:
    """What the calls of one task hold and use, one call at a time."""

    def __init__(self, one: task.Task, *, effects: Effects) -> None:
        self._task = one
        self._effects = effects
        self._left: TimeLeft | None = None
        self._over: SpentError | None = None
        self._took_s = 0.0
        self._worked_s = 0.0

    async def call(self, made: Callable[[], Awaitable[S]]) -> S | task.Blocked:
        """Make a call once its budgets cover it. Where one is spent, nothing is sent and the work ends.

        made: claims with `hold`, acts within `timed` and settles with `settle`.
        """
        while True:
            self._over, self._took_s = None, 0.0
            try:
                said = await made()
            except HeldError:
                await anyio.sleep(_HELD_S)
                continue
            except SpentError as error:
                return await self._end(error)
            self._worked_s = 0.0
            # Set by `timed`, which `made` has called.
            over: SpentError | None = self._over
            return said if over is None else await self._end(over)

    def hold(self, tx: Tx, exchange_id: str, wanted: Wanted) -> None:
        """Keep what a call may come to, in the transaction that claims it. Raises SpentError, HeldError."""
        self._left = budgets.hold(tx, self._task.purse, exchange_id, wanted)

    async def timed(self, act: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer, within the minutes that are left. Raises SpentError when they end first."""
        faults.point("budget.held")
        began_s = time.monotonic()
        try:
            if self._left is None:
                return await act()
            with anyio.move_on_after(max(0.0, self._left.seconds)):
                return await act()
            self._over = budgets.time_over(self._left.target)
            raise self._over
        finally:
            self._took_s = time.monotonic() - began_s

    def settle(self, tx: Tx, exchange_id: str, outcome: Outcome[Answer]) -> None:
        """Put what the call came to in the place of what it held, in the transaction that ends it."""
        milliseconds = round(1000 * (self._took_s + self._worked_s))
        budgets.settle(tx, self._task.purse, exchange_id, outcome, milliseconds=milliseconds)

    @contextmanager
    def working(self, name: str) -> Iterator[None]:
        """Count the time of a tool; it is written with the next call. A child card counts its own."""
        began_s = time.monotonic()
        try:
            yield
        finally:
            if name != activate.NAME:
                self._worked_s += time.monotonic() - began_s

    async def _end(self, error: SpentError) -> task.Blocked:
        """Say that a budget is spent: the project's ends the run, a card's or an agent's the card."""
        one = self._task
        await self._effects.settle(one.scope, lambda tx: budgets.note_spent(tx, one.purse, error))
        if error.target.kind is Kind.PROJECT:
            await one.host.halt(error.message)
        return task.Blocked(reason=error.message)
