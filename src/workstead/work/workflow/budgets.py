"""Compiles prices and budgets."""

from collections.abc import Mapping, Sequence

from workstead.work.workflow import grammar, money
from workstead.work.workflow.money import Budgets, Limits, Price
from workstead.work.workflow.reading import At

MAX_TOKENS = 10**15
MAX_MINUTES = 10_000_000
_LIMITS = ("tokens", "money", "minutes")


def read(at: At | None, agents: Mapping[str, object]) -> Budgets:
    """The budgets of the source; none where it has none."""
    if at is None:
        return Budgets()
    fields = at.fields([], ["currency", "project", "each_card", "agents"])
    found: dict[str, Limits] = {}
    if "agents" in fields:
        for name, each in fields["agents"].named(grammar.AGENT).items():
            if not each.missing(name, "agent", agents):
                found[name] = _limits(each)
    return Budgets(
        currency=(fields["currency"].name(grammar.CURRENCY) if "currency" in fields else "") or Budgets().currency,
        project=_limits(fields.get("project")),
        each_card=_limits(fields.get("each_card")),
        agents=found,
    )


def read_prices(at: At | None, models: Sequence[str]) -> dict[str, Price]:
    """The prices of a provider's models, for a million tokens."""
    found: dict[str, Price] = {}
    if at is None:
        return found
    for model, each in at.named(grammar.MODEL).items():
        if each.missing(model, "model of this provider", dict.fromkeys(models)):
            continue
        fields = each.fields(["input", "output"], ["cached"])
        if "input" in fields and "output" in fields:
            found[model] = Price(
                input_micros=_money(fields["input"]),
                output_micros=_money(fields["output"]),
                cached_micros=_money(fields["cached"]) if "cached" in fields else None,
            )
    return found


def _limits(at: At | None) -> Limits:
    if at is None:
        return money.NO_LIMITS
    fields = at.fields([], _LIMITS)
    minutes = fields["minutes"].integer(minimum=1, maximum=MAX_MINUTES) if "minutes" in fields else None
    return Limits(
        tokens=fields["tokens"].integer(minimum=1, maximum=MAX_TOKENS) if "tokens" in fields else None,
        micros=_money(fields["money"]) if "money" in fields else None,
        seconds=minutes * 60 if minutes is not None else None,
    )


def _money(at: At) -> int:
    """An amount as it is written: a float would not be what the file says."""
    micros = money.parse_micros(at.written())
    if micros is None:
        at.fail("This must be an amount such as `12` or `0.25`, with six decimals at most.")
    return micros or 0
