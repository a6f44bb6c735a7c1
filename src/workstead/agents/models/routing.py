"""Routing: a route's candidates in order, what is retried and when, and how a call ends that nobody answers.

Every wait can be cancelled, and none of them holds anything but this call. The bytes of a candidate are made once.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import anyio

from workstead import errors
from workstead.agents.models import attempt, failures, refused_requests, sizing
from workstead.agents.models.attempt import Endpoint, FailedAttempt, Plan
from workstead.agents.models.availability import Availability, Standing
from workstead.agents.models.failures import (
    FailureClass,
    KeyMissingError,
    ModelError,
    RequestTooLargeError,
    RouteUnfitError,
)
from workstead.agents.models.refused_requests import Keep, Refused
from workstead.agents.models.shape import Answer, Request, Sent
from workstead.clock import Clock
from workstead.logger import get_logger
from workstead.outbound.calls import Limits
from workstead.outbound.client import Client
from workstead.work.workflow.graph import KeyName

MAX_FAILURES = 4
COOLING_S = (15.0, 45.0, 90.0)
OVERLOAD_S = (30.0, 60.0, 120.0, 240.0, 480.0, 600.0)
RATE_LIMIT_S = 60.0
_KEY_S = 1.0
WAIT_DEADLINE_S = 7200.0

_RETRIED = frozenset(
    {
        FailureClass.CUT,
        FailureClass.MALFORMED,
        FailureClass.RATE_LIMIT,
        FailureClass.TIMEOUT,
        FailureClass.TRANSIENT,
    }
)
_ENDS_THE_CALL = frozenset({FailureClass.CONTENT, FailureClass.CONTEXT})

_log = get_logger()


@dataclass(frozen=True, kw_only=True)
class Means:
    """What routes work with, one for the process. key_of: reads a key now; raises Refusal where there is none.

    keep: what becomes of the request of an attempt that failed.
    """

    client: Client
    availability: Availability
    key_of: Callable[[KeyName], str]
    clock: Clock
    limits: Limits = field(default_factory=Limits)
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    keep: Keep = refused_requests.forget


class Routed:
    """A transport over the candidates of one route."""

    def __init__(self, endpoints: Sequence[Endpoint], *, means: Means, used: float = sizing.USABLE) -> None:
        self._endpoints = tuple(endpoints)
        self._means = means
        self._used = used

    async def complete(self, request: Request) -> Answer:
        """The first complete answer. Raises ModelError."""
        pinned = request.pinned
        chosen = [each for each in self._endpoints if pinned is None or each.candidate == pinned]
        tries = _admitted(chosen, request, used=self._used)
        return await _Call(tries, means=self._means, pinned=pinned is not None).run()


@dataclass(kw_only=True)
class _Try:
    """What this call knows of one candidate. due_s: not before, on the monotonic clock."""

    plan: Plan
    tried: bool = False
    failures: int = 0
    streak: int = 0
    due_s: float = 0.0
    spent: bool = False
    last: FailedAttempt | ModelError | None = None

    @property
    def overloaded(self) -> bool:
        """Whether it said so last; then it is asked again without end."""
        return self.streak > 0


class _Call:
    """One call from its first attempt to its end."""

    def __init__(self, tries: Sequence[_Try], *, means: Means, pinned: bool) -> None:
        self._tries = tries
        self._means = means
        self._pinned = pinned
        self._attempts = 0
        self._deadline_s = means.clock.monotonic_s() + WAIT_DEADLINE_S

    async def run(self) -> Answer:
        """Attempt and wait until somebody answers or nobody is left to ask."""
        while True:
            chosen = await self._next()
            answer = await self._attempt(chosen)
            if answer is not None:
                return answer

    async def _next(self) -> _Try:
        while True:
            now_s = self._means.clock.monotonic_s()
            open_ones = [(self._due_s(one, now_s), one) for one in self._tries if not one.spent]
            fresh = [one for due_s, one in open_ones if not one.tried and due_s <= now_s]
            if fresh:
                return fresh[0]
            waiting = any(one.overloaded for _, one in open_ones)
            viable = [each for each in open_ones if each[1].overloaded or each[0] <= self._deadline_s]
            if not viable:
                raise self._gave_up(open_ones)
            due_s, one = min(viable, key=lambda each: each[0])
            if due_s <= now_s:
                return one
            _log.info("waiting for a model", seconds=round(due_s - now_s), overload=waiting)
            await self._means.sleep(due_s - now_s)

    def _due_s(self, one: _Try, now_s: float) -> float:
        if one.tried or self._pinned:
            return one.due_s
        return now_s + self._means.availability.wait_s(one.plan.endpoint.identity)

    async def _attempt(self, one: _Try) -> Answer | None:
        endpoint = one.plan.endpoint
        one.tried = True
        try:
            key = await self._key(endpoint.provider.key) if endpoint.provider.key is not None else None
        except errors.Refusal as refusal:
            one.spent, one.last = True, KeyMissingError(refusal.message)
            return None
        self._attempts += 1
        try:
            answer = await attempt.ask(
                one.plan, client=self._means.client, key=key, limits=self._means.limits, clock=self._means.clock
            )
        except FailedAttempt as failed:
            await self._means.keep(
                Refused(
                    provider=endpoint.provider.name,
                    model=endpoint.model,
                    failure=failed.found.value,
                    why=failed.why,
                    body=one.plan.body,
                )
            )
            self._failed(one, failed)
            return None
        self._means.availability.heal(endpoint.identity)
        return replace(answer, sent=self._sent(one))

    async def _key(self, name: KeyName) -> str:
        """The key; a database that is lost for a while is no missing key."""
        while True:
            try:
                return self._means.key_of(name)
            except errors.Refusal as refusal:
                if refusal.code != "database_unreachable":
                    raise
            await self._means.sleep(_KEY_S)

    def _failed(self, one: _Try, failed: FailedAttempt) -> None:
        endpoint = one.plan.endpoint
        one.last = failed
        _log.info("model attempt failed", model=endpoint.model, provider=endpoint.provider.name, failure=failed.found)
        if failed.found is FailureClass.OVERLOAD:
            seconds = OVERLOAD_S[min(one.streak, len(OVERLOAD_S) - 1)]
            one.streak += 1
            self._rest(one, Standing.COOLING, seconds=seconds)
            return
        one.streak = 0
        if failed.found in _ENDS_THE_CALL or self._pinned:
            raise self._error(one)
        if failed.found not in _RETRIED:
            one.spent = True
            return
        one.failures += 1
        one.spent = one.failures >= MAX_FAILURES
        if failed.found is FailureClass.RATE_LIMIT:
            self._rest(one, Standing.BLOCKED, seconds=failed.retry_after_s or RATE_LIMIT_S)
        else:
            self._rest(one, Standing.COOLING, seconds=COOLING_S[min(one.failures, len(COOLING_S)) - 1])

    def _rest(self, one: _Try, standing: Standing, *, seconds: float) -> None:
        one.due_s = self._means.clock.monotonic_s() + seconds
        why = one.last.found.value if isinstance(one.last, FailedAttempt) else ""
        self._means.availability.rest(one.plan.endpoint.identity, standing, seconds=seconds, why=why)

    def _gave_up(self, waiting: Sequence[tuple[float, _Try]]) -> ModelError:
        """The error of the call: a missing or refused key before anything else, because somebody can help there."""
        tried = [one for one in self._tries if one.last is not None]
        found = [(one, self._error(one)) for one in tried]
        for one, error in found:
            if isinstance(error, failures.WAITS_FOR_A_PERSON):
                return self._error(one)
        if found:
            return found[-1][1]
        _, first = waiting[0]
        name = _name(first.plan.endpoint)
        return failures.RateLimitedError(f"{name} is not available for the next two hours.")

    def _error(self, one: _Try) -> ModelError:
        """What a candidate's last failure is called for whoever asked."""
        name = _name(one.plan.endpoint)
        if isinstance(one.last, FailedAttempt):
            made = failures.ERRORS[one.last.found]
            times = f" It was asked {one.failures} times." if one.failures > 1 else ""
            return made(f"{name}: {one.last.why}{times}", sent=self._sent(one), found=one.last.found)
        return KeyMissingError(f"{name}: {one.last}")

    def _sent(self, one: _Try) -> Sent:
        return Sent(
            candidate=one.plan.endpoint.candidate,
            digest=one.plan.digest,
            size_bytes=len(one.plan.body),
            attempts=self._attempts,
        )


def _admitted(endpoints: Sequence[Endpoint], request: Request, *, used: float) -> list[_Try]:
    """Every candidate whose model takes these exact bytes.

    Raises RequestTooLargeError where none does, RouteUnfitError where none would take fewer.
    """
    admitted: list[_Try] = []
    refused: list[str] = []
    shorter_helps = False
    for endpoint in endpoints:
        made = attempt.plan(endpoint, request)
        verdict = sizing.judge(
            len(made.body), max_tokens=request.max_tokens, capabilities=endpoint.capabilities, used=used
        )
        if verdict.fit is sizing.Fit.ADMITTED:
            admitted.append(_Try(plan=made))
        else:
            refused.append(f"{_name(endpoint)}: {verdict.why}")
            shorter_helps = shorter_helps or verdict.fit is sizing.Fit.TOO_LARGE
    if not admitted:
        kind = RequestTooLargeError if shorter_helps else RouteUnfitError
        raise kind(f"The request fits no model of the route; {'; '.join(refused)}.")
    return admitted


def _name(endpoint: Endpoint) -> str:
    return f"{endpoint.model} of {endpoint.provider.name}"
