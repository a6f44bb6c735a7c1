"""Shortening: keeps an agent's requests within what its models take, and lets its conversation begin a new segment.

A conversation is shortened ahead when it has grown to its trigger, and once more for an answer when the exact request
fits no model or a provider says so. There is no third try: then the card waits for a person, with the reason.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from workstead.agents import conversations, task
from workstead.agents.compaction import Compaction
from workstead.agents.genesis import Genesis, Strategy
from workstead.agents.history import History
from workstead.agents.models import sizing
from workstead.agents.models.capacity import Room
from workstead.agents.models.shape import Request
from workstead.agents.summarizer import Route, Span, Summarizer, SummaryEndedError
from workstead.kernel import faults
from workstead.kernel.access import Caller
from workstead.kernel.effects import Effects
from workstead.kernel.transaction import Tx
from workstead.logger import get_logger

S = TypeVar("S")
_RELIEF = 0.9

_log = get_logger()


@dataclass(frozen=True, kw_only=True)
class TooLong:
    """A call whose request did not fit. end: how the task ends if nothing shorter is to be had."""

    strategy: Strategy
    end: task.Blocked


@dataclass(frozen=True, kw_only=True)
class Means:
    """What conversations are shortened with. room: of the agent's route. summaries: who writes them."""

    room: Room
    summaries: Route


@dataclass(frozen=True, kw_only=True)
class _Unchanged:
    """Nothing shorter is to be had."""

    why: str


class Shortening:
    """The requests of one task and what keeps them short enough."""

    def __init__(self, one: task.Task, *, effects: Effects, held: History, means: Means) -> None:
        self._task = one
        self._effects = effects
        self._held = held
        self._means = means
        self._ahead = True
        self._refused = False

    async def ask(
        self, make: Callable[[], Awaitable[Request]], call: Callable[[Request], Awaitable[S]]
    ) -> S | task.Blocked | task.Failed:
        """What the call comes to; a TooLong only when nothing more can be tried. make: the request, anew each time."""
        self._refused = False
        request = await make()
        if self._ahead and self._has_grown(request):
            end = await self._shorten(Strategy.AHEAD, request)
            if isinstance(end, task.Blocked | task.Failed):
                return end
            request = await make()
        tried: set[Strategy] = set()
        while True:
            said = await call(request)
            if not isinstance(said, TooLong):
                return said
            if said.strategy in tried:
                return said.end
            tried.add(said.strategy)
            end = await self._shorten(said.strategy, request)
            if isinstance(end, _Unchanged):
                return task.Blocked(reason=f"{said.end.reason} The conversation cannot be shortened: {end.why}.")
            if end is not None:
                return end
            request = await make()

    def _has_grown(self, request: Request) -> bool:
        """Whether it is time; the exact size is only measured where the texts alone come near it."""
        room = self._means.room
        near = 2 * sizing.estimate_tokens(sizing.text_bytes(request)) > room.trigger_tokens
        return near and room.tokens_of(request) > room.trigger_tokens

    async def _shorten(self, strategy: Strategy, request: Request) -> task.Blocked | task.Failed | _Unchanged | None:
        """Let a new segment begin; None where one did."""
        if strategy is Strategy.PROVIDER:
            self._learn(request)
        means, rows = self._means, self._held.rows
        summarizer = Summarizer(
            self._task,
            effects=self._effects,
            route=means.summaries,
            like=request,
            span=Span(segment=self._held.segment, first=self._held.first, last=self._held.last),
        )
        job = Compaction(self._held, request=request, room=means.room, strategy=strategy, summarizer=summarizer)
        try:
            found = await job.run(summarise=not self._refused)
        except SummaryEndedError as failed:
            return replace(failed.end, reason=f"The conversation could not be shortened. {failed.end.reason}")
        self._refused = found.refused
        begins = found.begins
        if begins is None:
            # What stays is too large; until the exact size forbids it the work goes on as it is.
            self._ahead = False
            return _Unchanged(why=found.why)
        # Where what must stay takes most of the room, every answer would be paid for with a summary.
        self._ahead = begins.after_tokens <= _RELIEF * means.room.trigger_tokens
        await self._publish(begins)
        _log.info(
            "conversation shortened",
            card=self._task.card_id,
            agent=self._task.agent.name,
            strategy=strategy.value,
            how=begins.how.value,
            rows=sum(row.number <= begins.covered_through for row in rows),
            tokens=[begins.before_tokens, begins.after_tokens],
        )
        return None

    def _learn(self, request: Request) -> None:
        """A provider knows better than the configuration what it takes."""
        refused = self._means.room.tokens_of(request)
        narrow = self._means.room.at_most(refused)
        summaries = self._means.summaries
        if summaries.room.endpoint.identity == narrow.endpoint.identity:
            summaries = replace(summaries, room=summaries.room.at_most(refused))
        self._means = Means(room=narrow, summaries=summaries)

    async def _publish(self, begins: Genesis) -> None:
        """The one commit by which the conversation goes on with its successor."""
        one, segment = self._task, self._held.segment

        def job(tx: Tx, _caller: Caller) -> None:
            conversations.begin_segment(
                tx, one.conversation, begins.new_row(), segment=segment, activation_id=one.activation_id
            )

        await self._effects.act_as(one.proof, one.scope, job)
        faults.point("compaction.written")
