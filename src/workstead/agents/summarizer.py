"""The summarizer: asks for one summary at a time, each an effect with its own exchange, within a bound."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workstead.agents import conversations, endings, exchanges, failure_words, summaries, task
from workstead.agents.budgets import Wanted
from workstead.agents.genesis import Kept
from workstead.agents.models.capacity import Room
from workstead.agents.models.failures import TOO_LONG, ContentPolicyError, ModelError
from workstead.agents.models.shape import Answer, NoTurn, Purpose, Request, Transport, Usage
from workstead.agents.packing import Place, Source, take
from workstead.agents.spending import Spending
from workstead.agents.summaries import UnusableSummaryError
from workstead.kernel import canonical, faults
from workstead.kernel.access import Caller
from workstead.kernel.effects import Effects, Outcome
from workstead.kernel.transaction import Tx
from workstead.logger import get_logger
from workstead.work.workflow.graph import Candidate

MAX_CALLS = 16

_log = get_logger()


class NoSummaryError(Exception):
    """No summary can be had, and the rows may be left out instead. refused: by a content policy."""

    def __init__(self, why: str, *, refused: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.refused = refused


class SummaryEndedError(Exception):
    """The provider failed in a way that neither a summary nor leaving rows out may cover."""

    def __init__(self, end: task.Blocked | task.Failed) -> None:
        super().__init__(end.reason)
        self.end = end


@dataclass(frozen=True, kw_only=True)
class Route:
    """Who writes summaries. transport: built when the first one is wanted."""

    room: Room
    candidates: tuple[Candidate, ...]
    max_tokens: int
    transport: Callable[[], Transport]


@dataclass(frozen=True, kw_only=True)
class Span:
    """The rows that a summary is about."""

    segment: int
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class _Fold:
    """One call: what was known before, and the new source."""

    so_far: str | None
    kept: tuple[Kept, ...]
    source: str


class Summarizer:
    """The calls of one compaction. like: the agent's request. prepared: what stands before its history."""

    def __init__(self, one: task.Task, *, effects: Effects, route: Route, like: Request, span: Span) -> None:
        self._task = one
        self._effects = effects
        self._spending = Spending(one, effects=effects)
        self._route = route
        self._like = like
        self._span = span
        self._last: _Fold | None = None
        self._corrected = False
        self.calls = 0

    async def fold(self, so_far: str | None, sources: Sequence[Source], *, kept: tuple[Kept, ...]) -> str | None:
        """The summary of what was known and of the sources. Raises NoSummaryError, SummaryEndedError."""
        place = Place()
        while place.index < len(sources):
            packed = take(sources, place, self._fitting(so_far, kept))
            if packed is None:
                raise NoSummaryError("the source does not fit a request to the summarizer")
            so_far = await self._once_corrected(_Fold(so_far=so_far, kept=kept, source=packed.text))
            place = packed.next
        return so_far

    async def shorter(self) -> str | None:
        """The last summary once more, shorter; None where that was tried already or there is none."""
        if self._corrected or self._last is None:
            return None
        self._corrected = True
        return await self._read(self._last, summaries.CORRECTIVE_TARGET_BYTES)

    async def _once_corrected(self, fold: _Fold) -> str:
        self._last = fold
        try:
            return await self._read(fold, summaries.TARGET_BYTES)
        except UnusableSummaryError as unusable:
            if self._corrected:
                raise NoSummaryError(unusable.reason) from None
        self._corrected = True
        try:
            return await self._read(fold, summaries.CORRECTIVE_TARGET_BYTES)
        except UnusableSummaryError as unusable:
            raise NoSummaryError(unusable.reason) from None

    async def _read(self, fold: _Fold, target_bytes: int) -> str:
        if self.calls >= MAX_CALLS:
            raise NoSummaryError(f"{MAX_CALLS} summaries were not enough")
        await self._task.host.gate()
        self.calls += 1
        outcome = await self._ask(self._request(fold, target_bytes))
        faults.point("summary.ended")
        if isinstance(outcome.error, ContentPolicyError):
            raise NoSummaryError("the provider's content policy refused the summary", refused=True)
        if isinstance(outcome.error, TOO_LONG):
            raise NoSummaryError("the source does not fit a request to the summarizer")
        if outcome.value is None:
            raise SummaryEndedError(endings.of(outcome))
        return summaries.read(outcome.value)

    def _request(self, fold: _Fold, target_bytes: int) -> Request:
        return summaries.request(
            self._like,
            kept=fold.kept,
            so_far=fold.so_far,
            source=fold.source,
            target_bytes=target_bytes,
            max_tokens=self._route.max_tokens,
        )

    def _fitting(self, so_far: str | None, kept: tuple[Kept, ...]) -> Callable[[str], bool]:
        room = self._route.room

        def fits(source: str) -> bool:
            wanted = self._request(_Fold(so_far=so_far, kept=kept, source=source), summaries.CORRECTIVE_TARGET_BYTES)
            return room.tokens_of(wanted) <= room.tokens

        return fits

    async def _ask(self, request: Request) -> Outcome[Answer]:
        one = self._task

        wanted = Wanted(
            candidates=self._route.candidates,
            input_tokens=self._route.room.tokens_of(request),
            output_tokens=request.max_tokens,
        )

        def claim(tx: Tx, _caller: Caller) -> tuple[str, str]:
            claimed = self._claim(tx, request)
            self._spending.hold(tx, claimed[0], wanted)
            return claimed

        async def act(_claimed: tuple[str, str]) -> Answer:
            try:
                return await self._spending.timed(lambda: self._route.transport().complete(request))
            except NoTurn:
                raise
            except Exception:
                # What is recorded is the class alone; a provider's text stays in the log.
                _log.exception("summary failed", agent=one.agent.name, card=one.card_id)
                raise

        async def made() -> Outcome[Answer]:
            return await self._effects.perform(
                one.proof, one.scope, claim=claim, act=act, settle=self._settle, deadline_s=endings.MODEL_DEADLINE_S
            )

        outcome = await self._spending.call(made)
        if isinstance(outcome, task.Blocked):
            raise SummaryEndedError(outcome)
        return outcome

    def _claim(self, tx: Tx, request: Request) -> tuple[str, str]:
        one = self._task
        prefix = canonical.digest([request.instructions, self._like.messages[0].text])
        effect_id = self._effects.claim(
            tx,
            one.scope,
            kind="model:summary",
            subject=conversations.topic(one.card_id, one.agent.name),
            payload=[prefix, self._span.first, self._span.last],
            deadline_s=endings.MODEL_DEADLINE_S,
        )
        exchange_id = tx.new_id()
        exchanges.add(
            tx,
            exchanges.Exchange(
                id=exchange_id,
                project_id=one.project_id,
                conversation_id=one.conversation.id,
                activation_id=one.activation_id,
                effect_id=effect_id,
                purpose=Purpose.SUMMARY,
                segment=self._span.segment,
                first_row=self._span.first,
                last_row=self._span.last,
                provider=self._route.candidates[0].provider,
                model=self._route.candidates[0].model,
                prefix_digest=prefix,
                tools_digest=canonical.digest([]),
                request_bytes=len(request.messages[0].text.encode("utf-8", "surrogatepass")),
            ),
        )
        return exchange_id, effect_id

    def _settle(self, tx: Tx, claimed: tuple[str, str], outcome: Outcome[Answer]) -> Outcome[Answer]:
        one = self._task
        exchange_id, effect_id = claimed
        self._spending.settle(tx, exchange_id, outcome)
        subject = conversations.topic(one.card_id, one.agent.name)
        self._effects.end(tx, one.scope, effect_id, ended=outcome.ended, subject=subject)
        answer, error = outcome.value, outcome.error
        sent = answer.sent if answer is not None else error.sent if isinstance(error, ModelError) else None
        exchanges.end(
            tx,
            exchange_id,
            ended=outcome.ended,
            finish=answer.finish if answer is not None else None,
            failure=failure_words.of(error) if error is not None else None,
            usage=answer.usage if answer is not None else Usage(),
            sent=sent,
        )
        return outcome
