"""Budgets as rows: limits that an owner set, what was spent, and what calls that are made right now hold."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from sqlalchemy import bindparam, delete, insert, select, update

from workstead.agents.tables import budget, budget_hold, budget_use, usage_day
from workstead.kernel.store import Row, prepared
from workstead.kernel.transaction import Tx
from workstead.work.workflow import identity
from workstead.work.workflow.graph import Candidate
from workstead.work.workflow.money import Limits


class Kind(StrEnum):
    """What a budget is of."""

    AGENT = "agent"
    CARD = "card"  # with everything below it
    PROJECT = "project"


@dataclass(frozen=True, kw_only=True, order=True)
class Target:
    """What a budget is of. name: the card's id or the agent's name; empty for the project."""

    kind: Kind
    name: str = ""

    @property
    def phrase(self) -> str:
        """What a sentence calls it."""
        match self.kind:
            case Kind.PROJECT:
                return "the project"
            case Kind.CARD:
                return f"{self.name} and what is below it"
            case Kind.AGENT:
                return f"the agent {self.name}"


PROJECT = Target(kind=Kind.PROJECT)


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What came together. unpriced_tokens: those of models without a price; they are in `tokens`, not in `micros`.

    unknown_calls: of which nobody knows what they used; what they held counts.
    """

    calls: int = 0
    unknown_calls: int = 0
    tokens: int = 0
    unpriced_tokens: int = 0
    micros: int = 0
    milliseconds: int = 0


@dataclass(frozen=True, kw_only=True)
class Hold:
    """What one call may come to at most, kept while it is made."""

    exchange_id: str
    project_id: str
    card_id: str
    agent: str
    candidate: Candidate
    input_tokens: int
    output_tokens: int
    micros: int
    priced: bool

    @property
    def tokens(self) -> int:
        """Both ways."""
        return self.input_tokens + self.output_tokens

    @property
    def targets(self) -> tuple[Target, ...]:
        """Whose budgets it counts for."""
        return targets_of(self.card_id, self.agent)


@dataclass(frozen=True, kw_only=True)
class Used:
    """What one call came to. unknown: nobody knows, and what it held counts."""

    candidate: Candidate
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    unknown_tokens: int = 0
    unpriced_tokens: int = 0
    micros: int = 0
    unknown: bool = False

    @property
    def tokens(self) -> int:
        """All that count."""
        return self.input_tokens + self.output_tokens + self.unknown_tokens


@dataclass(frozen=True, kw_only=True)
class SetLimits:
    """Limits that an owner set."""

    limits: Limits
    person: str
    at: str


_LIMITS = prepared(
    select(
        budget.c.kind, budget.c.name, budget.c.tokens, budget.c.micros, budget.c.seconds, budget.c.person, budget.c.at
    )
    .where(budget.c.project_id == bindparam("k_project_id"))
    .order_by(budget.c.kind, budget.c.name)
)
_FORGET = prepared(
    delete(budget).where(
        budget.c.project_id == bindparam("k_project_id"),
        budget.c.kind == bindparam("k_kind"),
        budget.c.name == bindparam("k_name"),
    )
)
_SET = prepared(insert(budget))
_COUNTED = (
    budget_use.c.calls,
    budget_use.c.unknown_calls,
    budget_use.c.tokens,
    budget_use.c.unpriced_tokens,
    budget_use.c.micros,
    budget_use.c.milliseconds,
)
_USE_KEY = (
    budget_use.c.project_id == bindparam("k_project_id"),
    budget_use.c.kind == bindparam("k_kind"),
    budget_use.c.name == bindparam("k_name"),
)
_SPENT = prepared(select(*_COUNTED).where(*_USE_KEY))
_ADD_USE = prepared(insert(budget_use))
_MORE_USE = prepared(
    update(budget_use).where(*_USE_KEY).values({one: one + bindparam(f"more_{one.name}") for one in _COUNTED})
)
_HOLD = prepared(insert(budget_hold))
_LET_GO = prepared(delete(budget_hold).where(budget_hold.c.exchange_id == bindparam("k_exchange_id")))
_HOLD_COLUMNS = (
    budget_hold.c.exchange_id,
    budget_hold.c.project_id,
    budget_hold.c.card_id,
    budget_hold.c.agent,
    budget_hold.c.provider,
    budget_hold.c.model,
    budget_hold.c.input_tokens,
    budget_hold.c.output_tokens,
    budget_hold.c.micros,
    budget_hold.c.priced,
)
_HELD = prepared(select(*_HOLD_COLUMNS).where(budget_hold.c.exchange_id == bindparam("k_exchange_id")))
_HOLDS = prepared(select(*_HOLD_COLUMNS).where(budget_hold.c.project_id == bindparam("k_project_id")))
_DAY_COUNTED = (
    usage_day.c.calls,
    usage_day.c.unknown_calls,
    usage_day.c.input_tokens,
    usage_day.c.output_tokens,
    usage_day.c.cached_tokens,
    usage_day.c.unknown_tokens,
    usage_day.c.unpriced_tokens,
    usage_day.c.micros,
    usage_day.c.milliseconds,
)
_DAY_KEYS = (
    usage_day.c.project_id,
    usage_day.c.day,
    usage_day.c.card_id,
    usage_day.c.agent,
    usage_day.c.provider,
    usage_day.c.model,
)
_ADD_DAY = prepared(insert(usage_day))
_MORE_DAY = prepared(
    update(usage_day)
    .where(*(key == bindparam(f"k_{key.name}") for key in _DAY_KEYS))
    .values({one: one + bindparam(f"more_{one.name}") for one in _DAY_COUNTED})
)


def targets_of(card_id: str, agent: str) -> tuple[Target, ...]:
    """Whose budgets a call counts for, the project's first. The project's own card has the project's."""
    above = [one for one in (*reversed(identity.ancestors_of(card_id)), card_id) if one != identity.ROOT]
    return (PROJECT, *(Target(kind=Kind.CARD, name=one) for one in above), Target(kind=Kind.AGENT, name=agent))


def limits(tx: Tx, project_id: str) -> Mapping[Target, SetLimits]:
    """Every limit that an owner set in a project."""
    return {
        Target(kind=Kind(cast("str", kind)), name=cast("str", name)): SetLimits(
            limits=Limits(
                tokens=cast("int | None", tokens),
                micros=cast("int | None", micros),
                seconds=cast("int | None", seconds),
            ),
            person=cast("str", person),
            at=cast("str", at),
        )
        for kind, name, tokens, micros, seconds, person, at in tx.all(_LIMITS, k_project_id=project_id)
    }


def set_limits(tx: Tx, project_id: str, target: Target, *, chosen: Limits | None, person: str) -> None:
    """Write an owner's limits in the place of those before; None: the configuration's hold again."""
    tx.run(_FORGET, k_project_id=project_id, k_kind=target.kind.value, k_name=target.name)
    if chosen is not None:
        tx.run(
            _SET,
            project_id=project_id,
            kind=target.kind.value,
            name=target.name,
            tokens=chosen.tokens,
            micros=chosen.micros,
            seconds=chosen.seconds,
            person=person,
            at=tx.at,
        )


def spent(tx: Tx, project_id: str, target: Target) -> Spent:
    """What was spent so far."""
    row = tx.one(_SPENT, k_project_id=project_id, k_kind=target.kind.value, k_name=target.name)
    return _spent(row) if row is not None else Spent()


def hold(tx: Tx, one: Hold) -> None:
    """Keep what a call may come to."""
    tx.run(
        _HOLD,
        exchange_id=one.exchange_id,
        project_id=one.project_id,
        card_id=one.card_id,
        agent=one.agent,
        provider=one.candidate.provider,
        model=one.candidate.model,
        input_tokens=one.input_tokens,
        output_tokens=one.output_tokens,
        micros=one.micros,
        priced=int(one.priced),
    )


def held(tx: Tx, exchange_id: str) -> Hold | None:
    """What a call holds; None when it holds nothing any more."""
    row = tx.one(_HELD, k_exchange_id=exchange_id)
    return _hold(row) if row is not None else None


def holds(tx: Tx, project_id: str) -> tuple[Hold, ...]:
    """What the calls hold that are made now."""
    return tuple(_hold(row) for row in tx.all(_HOLDS, k_project_id=project_id))


def let_go(tx: Tx, one: Hold, used: Used, *, milliseconds: int) -> None:
    """Put what a call came to in the place of what it held."""
    tx.run(_LET_GO, k_exchange_id=one.exchange_id)
    counted = {
        "calls": 1,
        "unknown_calls": int(used.unknown),
        "unpriced_tokens": used.unpriced_tokens,
        "micros": used.micros,
        "milliseconds": milliseconds,
    }
    for target in one.targets:
        key = {"project_id": one.project_id, "kind": target.kind.value, "name": target.name}
        _more(tx, key, counted | {"tokens": used.tokens}, day=False)
    key = {
        "project_id": one.project_id,
        "day": tx.at[:10],
        "card_id": one.card_id,
        "agent": one.agent,
        "provider": used.candidate.provider,
        "model": used.candidate.model,
    }
    tokens = {
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cached_tokens": used.cached_tokens,
        "unknown_tokens": used.unknown_tokens,
    }
    _more(tx, key, counted | tokens, day=True)


def _more(tx: Tx, key: Mapping[str, str], counted: Mapping[str, int], *, day: bool) -> None:
    named = {f"k_{name}": value for name, value in key.items()}
    more = {f"more_{name}": value for name, value in counted.items()}
    if not tx.run(_MORE_DAY if day else _MORE_USE, **named, **more):
        tx.run(_ADD_DAY if day else _ADD_USE, **key, **counted)


def _spent(row: Row) -> Spent:
    calls, unknown_calls, tokens, unpriced_tokens, micros, milliseconds = cast("tuple[int, ...]", row)
    return Spent(
        calls=calls,
        unknown_calls=unknown_calls,
        tokens=tokens,
        unpriced_tokens=unpriced_tokens,
        micros=micros,
        milliseconds=milliseconds,
    )


def _hold(row: Row) -> Hold:
    exchange_id, project_id, card_id, agent, provider, model, input_tokens, output_tokens, micros, priced = row
    return Hold(
        exchange_id=cast("str", exchange_id),
        project_id=cast("str", project_id),
        card_id=cast("str", card_id),
        agent=cast("str", agent),
        candidate=Candidate(provider=cast("str", provider), model=cast("str", model)),
        input_tokens=cast("int", input_tokens),
        output_tokens=cast("int", output_tokens),
        micros=cast("int", micros),
        priced=bool(priced),
    )
