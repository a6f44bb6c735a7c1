"""Budgets: what a call may still spend, decided before it is made; what it came to, and what people are told of it.

A call holds the most it may come to while it is made, so that calls side by side cannot overrun together. Of a call
that was interrupted, cut or lost with the server nobody knows what it used: what it held counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from workstead.agents import budget_rows
from workstead.agents.budget_rows import Hold, Kind, SetLimits, Spent, Target, Used
from workstead.agents.models import failures, sizing
from workstead.agents.models.failures import ModelError
from workstead.agents.models.shape import Answer, NoTurn
from workstead.kernel import evidence, feed, scopes
from workstead.kernel.effects import Outcome
from workstead.kernel.transaction import Tx
from workstead.work.workflow import money
from workstead.work.workflow.graph import Candidate, Provider, ProviderKind
from workstead.work.workflow.money import Budgets, Limits, Price

_COST_UNKNOWN = (
    failures.ContentPolicyError,
    failures.IncompleteAnswerError,
    failures.MalformedAnswersError,
    failures.ProviderProtocolError,
    failures.SlowProviderError,
)
ADVICE = "Raise it on the project's page or with `workstead budget set`, then Run."


class What(StrEnum):
    """What is limited."""

    MINUTES = "minutes"
    MONEY = "money"
    TOKENS = "tokens"


class SpentError(ModelError):
    """A budget does not cover the next call, or its minutes ended while one was made."""

    def __init__(self, message: str, *, target: Target, what: What) -> None:
        super().__init__(message)
        self.target = target
        self.what = what


class HeldError(Exception):
    """The budget would cover the call, but calls that are made now hold what is left."""


@dataclass(frozen=True, kw_only=True)
class Purse:
    """What the calls of one agent on one card are paid from. prices: of models that have one. free: cost nothing."""

    project_id: str
    card_id: str
    agent: str
    budgets: Budgets
    prices: Mapping[Candidate, Price]
    free: frozenset[str]

    @property
    def targets(self) -> tuple[Target, ...]:
        """Whose budgets count."""
        return budget_rows.targets_of(self.card_id, self.agent)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a call may come to at most."""

    candidates: Sequence[Candidate]
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, kw_only=True)
class TimeLeft:
    """How long a call may take by the budget whose minutes end first."""

    target: Target
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Side:
    """One limit and what was used of it, in the limit's own unit; time in milliseconds."""

    what: What
    used: int
    limit: int

    @property
    def percent(self) -> int:
        """How much is used, 100 at most."""
        return 100 if self.used >= self.limit else 100 * self.used // self.limit


def purse(project_id: str, *, card_id: str, agent: str, budgets: Budgets, providers: Mapping[str, Provider]) -> Purse:
    """A purse as a configuration has it."""
    return Purse(
        project_id=project_id,
        card_id=card_id,
        agent=agent,
        budgets=budgets,
        prices={
            Candidate(provider=each.name, model=model): price
            for each in providers.values()
            for model, price in each.prices.items()
        },
        free=frozenset(each.name for each in providers.values() if each.kind is ProviderKind.PRACTICE),
    )


def configured(budgets: Budgets, target: Target) -> Limits:
    """What the configuration says about a target."""
    match target.kind:
        case Kind.PROJECT:
            return budgets.project
        case Kind.CARD:
            return budgets.each_card
        case Kind.AGENT:
            return budgets.agents.get(target.name, money.NO_LIMITS)


def effective(budgets: Budgets, chosen: Mapping[Target, SetLimits], target: Target) -> Limits:
    """What holds: what an owner set takes the place of all that the configuration says about the same target."""
    found = chosen.get(target)
    return found.limits if found is not None else configured(budgets, target)


def hold(tx: Tx, one: Purse, exchange_id: str, wanted: Wanted) -> TimeLeft | None:
    """Keep what a call may come to; returns how long it may take, None where no budget says.

    Raises SpentError, HeldError; then nothing is kept.
    """
    made = _most(one, exchange_id, wanted)
    chosen = budget_rows.limits(tx, one.project_id)
    others = budget_rows.holds(tx, one.project_id)
    left: list[TimeLeft] = []
    for target in one.targets:
        limits = effective(one.budgets, chosen, target)
        if limits.empty:
            continue
        spent = budget_rows.spent(tx, one.project_id, target)
        same = [each for each in others if target in each.targets]
        _check(target, limits, spent, made=made, others=same, currency=one.budgets.currency)
        if limits.seconds is not None:
            left.append(TimeLeft(target=target, seconds=limits.seconds - spent.milliseconds / 1000))
    budget_rows.hold(tx, made)
    return min(left, key=lambda each: each.seconds) if left else None


def settle(tx: Tx, one: Purse, exchange_id: str, outcome: Outcome[Answer], *, milliseconds: int) -> None:
    """Put what a call came to in the place of what it held, and warn where little is left."""
    kept = budget_rows.held(tx, exchange_id)
    if kept is None:
        return
    used = _used(one, kept, outcome)
    chosen = budget_rows.limits(tx, one.project_id)
    limited = [(target, effective(one.budgets, chosen, target)) for target in one.targets]
    before = _standing(tx, one, limited)
    budget_rows.let_go(tx, kept, used, milliseconds=milliseconds)
    after = _standing(tx, one, limited)
    for target, was in before.items():
        _warn(tx, one, target, before=was, after=after[target])


def settle_unknown(tx: Tx, project_id: str) -> None:
    """Of calls whose server is gone nobody knows what they used: what they held counts."""
    for kept in budget_rows.holds(tx, project_id):
        budget_rows.let_go(tx, kept, _unknown(kept), milliseconds=0)


def note_spent(tx: Tx, one: Purse, error: SpentError) -> None:
    """Tell that a budget has ended work."""
    _tell(tx, one, error.target, feed.Event.BUDGET_SPENT, what=error.what, percent=100)


def time_over(target: Target) -> SpentError:
    """The minutes of a budget ended while a call was made."""
    said = f"The minutes of the budget of {target.phrase} were spent while a model was asked."
    return SpentError(f"{said} {ADVICE}", target=target, what=What.MINUTES)


def sides(limits: Limits, spent: Spent) -> tuple[Side, ...]:
    """Each limit there is with what was used of it."""
    found: list[Side] = []
    if limits.tokens is not None:
        found.append(Side(what=What.TOKENS, used=spent.tokens, limit=limits.tokens))
    if limits.micros is not None:
        found.append(Side(what=What.MONEY, used=spent.micros, limit=limits.micros))
    if limits.seconds is not None:
        found.append(Side(what=What.MINUTES, used=spent.milliseconds, limit=limits.seconds * 1000))
    return tuple(found)


def shown(side: Side, currency: str) -> str:
    """What is used of a limit, for reading."""
    match side.what:
        case What.TOKENS:
            return f"{side.used:,} of {side.limit:,} tokens"
        case What.MONEY:
            return f"{money.amount(side.used)} of {money.amount(side.limit)} {currency}"
        case What.MINUTES:
            return f"{side.used / 60_000:.1f} of {side.limit // 60_000} minutes"


def _standing(tx: Tx, one: Purse, limited: Sequence[tuple[Target, Limits]]) -> Mapping[Target, tuple[Side, ...]]:
    return {
        target: sides(limits, budget_rows.spent(tx, one.project_id, target))
        for target, limits in limited
        if not limits.empty
    }


def _check(target: Target, limits: Limits, spent: Spent, *, made: Hold, others: Sequence[Hold], currency: str) -> None:
    wanted = {What.TOKENS: made.tokens, What.MONEY: made.micros, What.MINUTES: 1}
    busy = {What.TOKENS: sum(each.tokens for each in others), What.MONEY: sum(each.micros for each in others)}
    for side in sides(limits, spent):
        more = wanted[side.what]
        # A call that costs nothing is held back by time alone: a model without a price has no money to count.
        if not more:
            continue
        if side.used + more > side.limit:
            message = f"The budget of {target.phrase} is spent: {_because(side, more, currency)}. {ADVICE}"
            raise SpentError(message, target=target, what=side.what)
        if side.used + busy.get(side.what, 0) + more > side.limit:
            raise HeldError


def _because(side: Side, more: int, currency: str) -> str:
    used = f"{shown(side, currency)} are used"
    match side.what:
        case What.TOKENS:
            return f"{used}, and the next call may take {more:,}"
        case What.MONEY:
            return f"{used}, and the next call may cost {money.amount(more)}"
        case What.MINUTES:
            return used


def _most(one: Purse, exchange_id: str, wanted: Wanted) -> Hold:
    """The dearest of the candidates; practice costs nothing."""
    asked = [each for each in wanted.candidates if each.provider not in one.free]
    first = (asked or list(wanted.candidates))[0]
    input_tokens, output_tokens = (wanted.input_tokens, wanted.output_tokens) if asked else (0, 0)
    costs = [
        one.prices[each].cost_micros(input_tokens=input_tokens, output_tokens=output_tokens)
        for each in asked
        if each in one.prices
    ]
    return Hold(
        exchange_id=exchange_id,
        project_id=one.project_id,
        card_id=one.card_id,
        agent=one.agent,
        candidate=first,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        micros=max(costs, default=0),
        priced=bool(costs) or not asked,
    )


def _used(one: Purse, kept: Hold, outcome: Outcome[Answer]) -> Used:
    answer, error = outcome.value, outcome.error
    if answer is None:
        never = isinstance(error, NoTurn) or (isinstance(error, ModelError) and not _may_have_cost(error))
        sent = error.sent if isinstance(error, ModelError) else None
        if never:
            return Used(candidate=sent.candidate if sent is not None else kept.candidate)
        return _unknown(kept)
    candidate = answer.sent.candidate if answer.sent is not None else kept.candidate
    if candidate.provider in one.free:
        return Used(candidate=candidate)
    usage = answer.usage
    given = usage.input_tokens if usage.input_tokens is not None else kept.input_tokens
    taken = usage.output_tokens if usage.output_tokens is not None else _length(answer)
    cached = usage.cached_tokens or 0
    price = one.prices.get(candidate)
    return Used(
        candidate=candidate,
        input_tokens=given,
        output_tokens=taken,
        cached_tokens=cached,
        unpriced_tokens=0 if price is not None else given + taken,
        micros=(
            price.cost_micros(input_tokens=given, output_tokens=taken, cached_tokens=cached) if price is not None else 0
        ),
    )


def _may_have_cost(error: ModelError) -> bool:
    return isinstance(error, SpentError) or (error.sent is not None and isinstance(error, _COST_UNKNOWN))


def _unknown(kept: Hold) -> Used:
    return Used(
        candidate=kept.candidate,
        unknown_tokens=kept.tokens,
        unpriced_tokens=0 if kept.priced else kept.tokens,
        micros=kept.micros,
        unknown=kept.tokens > 0,
    )


def _length(answer: Answer) -> int:
    """About how many tokens an answer has whose provider does not count."""
    size = len(answer.text.encode("utf-8", "surrogatepass"))
    size += sum(len(each.arguments.encode("utf-8", "surrogatepass")) for each in answer.calls)
    return sizing.estimate_tokens(size)


def _warn(tx: Tx, one: Purse, target: Target, *, before: Sequence[Side], after: Sequence[Side]) -> None:
    for was, now in zip(before, after, strict=True):
        if was.percent < money.WARNED_PERCENT <= now.percent:
            _tell(tx, one, target, feed.Event.BUDGET_WARNED, what=now.what, percent=now.percent)


def _tell(tx: Tx, one: Purse, target: Target, event: feed.Event, *, what: What, percent: int) -> None:
    scope = scopes.project(one.project_id)
    evidence.add(
        tx,
        scope,
        evidence.Lane.EVENTS,
        event=event.value,
        actor=f"agent:{one.agent}",
        subject=f"{target.kind.value}:{target.name}" if target.name else target.kind.value,
        detail={"what": what.value, "percent": percent, "card_id": one.card_id},
    )
    feed.add(tx, scope, event, topic="budget")
