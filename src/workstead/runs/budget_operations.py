"""Operations of budgets: what may be spent and what was, the limits an owner sets, and usage summed up."""

from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from workstead import errors
from workstead.accounts import projects
from workstead.accounts.projects import Project
from workstead.agents import budget_rows, budgets, usage_rows
from workstead.agents.budget_rows import PROJECT, Kind, SetLimits, Spent, Target
from workstead.agents.budgets import Side
from workstead.agents.usage_rows import By, Usage
from workstead.kernel import evidence, feed
from workstead.kernel.access import Caller, Permission
from workstead.kernel.operations import AnyOperation, Effect, Operation
from workstead.kernel.transaction import Tx
from workstead.runs import effective
from workstead.work import cards
from workstead.work.pages import PageRead, Slice, fit
from workstead.work.rules import OWNERS_DOORS, PEOPLES_DOORS, ProjectWrite, lock
from workstead.work.workflow import budgets as compiled
from workstead.work.workflow import identity, money
from workstead.work.workflow.graph import Configuration
from workstead.work.workflow.money import Budgets, Limits

_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_FIRST_DAY = "0000-00-00"


class GetBudgets(PageRead):
    """What may be spent in a project and what was."""


class SetBudget(ProjectWrite):
    """Limit what may be spent. Without `card_id` and `agent` it is the project's; a limit that is absent is none.

    What is set takes the place of all limits that the configuration has for the same target.
    """

    card_id: str | None = Field(default=None, description="A card; what is below it counts, too.")
    agent: str | None = Field(default=None, max_length=64, description="An agent's name, wherever it works.")
    tokens: int | None = Field(default=None, ge=1, le=compiled.MAX_TOKENS, description="Input and output together.")
    money: str | None = Field(default=None, max_length=20, description="An amount such as 12.50.")
    minutes: int | None = Field(
        default=None, ge=1, le=compiled.MAX_MINUTES, description="Of model calls and the tools they use."
    )
    remove: bool = Field(default=False, description="Forget what was set; the configuration's limits hold again.")


class ListUsage(PageRead):
    """What model calls came to."""

    by: By = Field(default=By.DAY, description="What is summed up: project, card, agent, model or day.")
    since: str = Field(default=_FIRST_DAY, pattern=_DAY, description="The first day, as 2026-01-31.")
    card_id: str = Field(default=identity.ROOT, description="Only this card and what is below it.")


class Standing(StrEnum):
    """How a budget stands."""

    OPEN = "open"
    SPENT = "spent"
    UNLIMITED = "unlimited"
    WARNED = "warned"  # 80 % are used


class LimitSource(StrEnum):
    """Who has set the limits."""

    CONFIGURATION = "configuration"
    NOBODY = "nobody"
    OWNER = "owner"


@dataclass(frozen=True, kw_only=True)
class BudgetView:
    """A budget. name: a card's id or an agent's name. Limits are None where there are none; seconds are of work.

    held_tokens, held_micros: of calls that are made now. sentence: all of it for people.
    """

    kind: Kind
    name: str
    standing: Standing
    percent: int | None
    sentence: str
    source: LimitSource
    set_by: str | None
    set_at: str | None
    limit_tokens: int | None
    limit_micros: int | None
    limit_seconds: int | None
    tokens: int
    micros: int
    seconds: int
    held_tokens: int
    held_micros: int
    calls: int
    unknown_calls: int
    unpriced_tokens: int


@dataclass(frozen=True, kw_only=True)
class BudgetList:
    """The project's budget, then those of agents and cards that have limits. next: copy it back as `position`."""

    currency: str
    budgets: tuple[BudgetView | Slice, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class UsageList:
    """Sums, the newest day or the largest use first. A model's key is `provider:model`."""

    currency: str
    by: By
    usage: tuple[Usage | Slice, ...]
    total: int
    next: str | None


def get(tx: Tx, caller: Caller, args: GetBudgets) -> BudgetList:
    """A page of budgets."""
    project = projects.visible(tx, caller, args.project)
    found = _budgets(tx, project)
    page = fit(_views(tx, project, found), args)
    return BudgetList(currency=found.currency, budgets=page.items, total=page.total, next=page.next)


def set_one(tx: Tx, caller: Caller, args: SetBudget) -> BudgetView:
    """Write an owner's limits; they hold from the next model call on.

    Raises `budget_target_unclear`, `budget_money_malformed`, not found for a card or an agent that is not there.
    """
    project = projects.visible(tx, caller, args.project)
    configuration = effective.configuration(tx, project)
    target = _target(tx, project, args, configuration)
    chosen = None if args.remove else _limits(args)
    budget_rows.set_limits(tx, project.id, target, chosen=chosen, person=caller.author.name)
    evidence.add(
        tx,
        project.scope,
        evidence.Lane.CONTROL,
        event=feed.Event.BUDGET_CHANGED.value,
        actor=f"{caller.author.kind}:{caller.author.name}",
        subject=f"{target.kind.value}:{target.name}" if target.name else target.kind.value,
        detail={
            "tokens": chosen.tokens if chosen is not None else None,
            "micros": chosen.micros if chosen is not None else None,
            "seconds": chosen.seconds if chosen is not None else None,
            "removed": args.remove,
        },
    )
    feed.add(tx, project.scope, feed.Event.BUDGET_CHANGED, topic="budget")
    found = configuration.budgets if configuration is not None else Budgets()
    spent = {target: budget_rows.spent(tx, project.id, target)}
    return _View(tx, project, found, spent=spent).of(target)


def list_usage(tx: Tx, caller: Caller, args: ListUsage) -> UsageList:
    """A page of sums."""
    project = projects.visible(tx, caller, args.project)
    card_id = identity.check_card_id(args.card_id)
    page = fit(usage_rows.summed(tx, project.id, args.by, since=args.since, card_id=card_id), args)
    currency = _budgets(tx, project).currency
    return UsageList(currency=currency, by=args.by, usage=page.items, total=page.total, next=page.next)


class _View:
    """What the views of one project are made from."""

    def __init__(self, tx: Tx, project: Project, found: Budgets, *, spent: dict[Target, Spent]) -> None:
        self.chosen = budget_rows.limits(tx, project.id)
        self._found = found
        self._spent = spent
        self._holds = budget_rows.holds(tx, project.id)

    def limited(self, target: Target) -> bool:
        """Whether anything is limited."""
        return not budgets.effective(self._found, self.chosen, target).empty

    def of(self, target: Target) -> BudgetView:
        """One budget."""
        limits = budgets.effective(self._found, self.chosen, target)
        spent = self._spent.get(target, Spent())
        own = self.chosen.get(target)
        sides = budgets.sides(limits, spent)
        percent = max((side.percent for side in sides), default=None)
        standing = _standing(percent)
        held = [one for one in self._holds if target in one.targets]
        return BudgetView(
            kind=target.kind,
            name=target.name,
            standing=standing,
            percent=percent,
            sentence=_sentence(target, standing, sides, spent=spent, currency=self._found.currency),
            source=_source(own, limits),
            set_by=own.person if own is not None else None,
            set_at=own.at if own is not None else None,
            limit_tokens=limits.tokens,
            limit_micros=limits.micros,
            limit_seconds=limits.seconds,
            tokens=spent.tokens,
            micros=spent.micros,
            seconds=spent.milliseconds // 1000,
            held_tokens=sum(one.tokens for one in held),
            held_micros=sum(one.micros for one in held),
            calls=spent.calls,
            unknown_calls=spent.unknown_calls,
            unpriced_tokens=spent.unpriced_tokens,
        )


def _views(tx: Tx, project: Project, found: Budgets) -> list[BudgetView]:
    spent = usage_rows.uses(tx, project.id)
    view = _View(tx, project, found, spent=spent)
    agents = {Target(kind=Kind.AGENT, name=name) for name in found.agents}
    known = sorted(agents | set(view.chosen) | set(spent) - {PROJECT})
    return [view.of(PROJECT), *(view.of(one) for one in known if one != PROJECT and view.limited(one))]


def _standing(percent: int | None) -> Standing:
    if percent is None:
        return Standing.UNLIMITED
    if percent >= 100:
        return Standing.SPENT
    return Standing.WARNED if percent >= money.WARNED_PERCENT else Standing.OPEN


def _source(own: SetLimits | None, limits: Limits) -> LimitSource:
    if own is not None:
        return LimitSource.OWNER
    return LimitSource.NOBODY if limits.empty else LimitSource.CONFIGURATION


def _sentence(target: Target, standing: Standing, sides: tuple[Side, ...], *, spent: Spent, currency: str) -> str:
    if sides:
        said = f"{' and '.join(budgets.shown(side, currency) for side in sides)} are used by {target.phrase}."
    else:
        tokens = f"{spent.tokens:,} tokens and {money.amount(spent.micros)} {currency}"
        said = f"{tokens} are used by {target.phrase}; there is no limit."
    if standing is Standing.SPENT:
        said += f" {budgets.ADVICE}"
    if standing is Standing.WARNED:
        said += " Little is left: raise it before it ends the work."
    if spent.unpriced_tokens:
        said += f" {spent.unpriced_tokens:,} tokens are of models without a price, so their money is not counted."
    if spent.unknown_calls:
        calls = "1 call has" if spent.unknown_calls == 1 else f"{spent.unknown_calls} calls have"
        said += f" {calls} an unknown use and count with the most that was possible."
    return said


def _target(tx: Tx, project: Project, args: SetBudget, configuration: Configuration | None) -> Target:
    if args.card_id is not None and args.agent is not None:
        raise errors.invalid("budget_target_unclear", "Name a card or an agent, or neither for the project.")
    if args.agent is not None:
        if configuration is not None and args.agent not in configuration.agents:
            raise errors.not_found("agent", args.agent)
        return Target(kind=Kind.AGENT, name=args.agent)
    if args.card_id is None or args.card_id == identity.ROOT:
        return PROJECT
    card_id = identity.check_card_id(args.card_id)
    if cards.row(tx, project.id, card_id) is None:
        raise errors.not_found("card", card_id)
    return Target(kind=Kind.CARD, name=card_id)


def _limits(args: SetBudget) -> Limits:
    micros = money.parse_micros(args.money) if args.money is not None else None
    if args.money is not None and micros is None:
        message = "An amount is written as `12` or `0.25`, with six decimals at most."
        raise errors.invalid("budget_money_malformed", message)
    seconds = args.minutes * 60 if args.minutes is not None else None
    return Limits(tokens=args.tokens, micros=micros, seconds=seconds)


def _budgets(tx: Tx, project: Project) -> Budgets:
    found = effective.configuration(tx, project)
    return found.budgets if found is not None else Budgets()


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="get_budgets",
        summary="What may be spent in a project, and what was.",
        input=GetBudgets,
        output=BudgetList,
        permissions=frozenset({Permission.RUNS_READ}),
        effect=Effect.READ,
        doors=PEOPLES_DOORS,
        handler=get,
        lock=lock,
    ),
    Operation(
        name="list_usage",
        summary="What model calls came to, by project, card, agent, model or day.",
        input=ListUsage,
        output=UsageList,
        permissions=frozenset({Permission.RUNS_READ}),
        effect=Effect.READ,
        doors=PEOPLES_DOORS,
        handler=list_usage,
        lock=lock,
    ),
    Operation(
        name="set_budget",
        summary="Limit the tokens, money or minutes of a project, a card or an agent.",
        input=SetBudget,
        output=BudgetView,
        permissions=frozenset({Permission.PROJECT_BUDGET}),
        effect=Effect.WRITE,
        doors=OWNERS_DOORS,
        handler=set_one,
        lock=lock,
    ),
)
