"""What the pages of agents, model calls and budgets are given, made from what operations answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from workstead.doors.web import views
from workstead.doors.web.place import Place
from workstead.doors.web.rendering import View
from workstead.work.workflow.money import amount


@dataclass(frozen=True, kw_only=True)
class AgentLine:
    """A configured agent. facts: terms and values besides its tools."""

    name: str
    route: str
    tools: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class CandidateLine:
    """Whom a route asks. why: what stands in the way, in sentences; empty when nothing does."""

    name: str
    kind: str
    address: str
    key_source: str
    key_name: str
    standing: str
    wait: str
    why: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class RouteLine:
    """A route with its candidates, in the order in which they are asked."""

    name: str
    agents: str
    candidates: tuple[CandidateLine, ...]


@dataclass(frozen=True, kw_only=True)
class AgentsView(View):
    """Who works in a project, and whom each asks."""

    TEMPLATE: ClassVar[str] = "agents.html"

    place: Place
    agents: tuple[AgentLine, ...]
    routes: tuple[RouteLine, ...]


@dataclass(frozen=True, kw_only=True)
class CallLine:
    """One model call. status: done, failed, interrupted, unknown or running. failure: its word."""

    id: str
    status: str
    at: str
    agent: str
    card_id: str
    model: str
    purpose: str
    took: str
    tokens: str
    failure: str


@dataclass(frozen=True, kw_only=True)
class CallsView(View):
    """Model calls, newest first. chosen: the filter, empty texts for all. older: the address of the page after."""

    TEMPLATE: ClassVar[str] = "exchanges.html"

    place: Place
    calls: tuple[CallLine, ...]
    chosen: Mapping[str, str]
    filtered: bool
    agents: tuple[str, ...]
    providers: tuple[str, ...]
    older: str


@dataclass(frozen=True, kw_only=True)
class CallView(View):
    """One model call. failure: happened, then, advice. links: title and address of what belongs to it."""

    TEMPLATE: ClassVar[str] = "exchange.html"

    place: Place
    call: CallLine
    facts: tuple[tuple[str, str], ...]
    failure: tuple[str, str, str] | None
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class BudgetLine:
    """One budget. standing: open, warned, spent or unlimited. percent: of the limit that is nearest to its end."""

    name: str
    standing: str
    percent: int | None
    sentence: str
    source: str
    held: str


@dataclass(frozen=True, kw_only=True)
class UsageLine:
    """One sum."""

    key: str
    calls: str
    tokens: str
    cached: str
    money: str
    time: str


@dataclass(frozen=True, kw_only=True)
class BudgetsView(View):
    """What may be spent and what was. sides: what usage can be summed up by, with addresses."""

    TEMPLATE: ClassVar[str] = "budgets.html"

    place: Place
    budgets: tuple[BudgetLine, ...]
    usage: tuple[UsageLine, ...]
    by: str
    sides: tuple[tuple[str, str], ...]
    agents: tuple[str, ...]
    currency: str
    key: str


@dataclass(frozen=True, kw_only=True)
class RefusalLine:
    """A card that a content policy blocked. row: the address of the marker. calls: the addresses of both calls."""

    card_id: str
    agent: str
    at: str
    model: str
    row: str
    calls: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RefusalsView(View):
    """Where content policies blocked cards, newest first. older: pass as offset."""

    TEMPLATE: ClassVar[str] = "refusals.html"

    place: Place
    refusals: tuple[RefusalLine, ...]
    older: int | None


def agent(one: Mapping[str, Any]) -> AgentLine:
    """An agent as `list_agents` answers it."""
    may = [name for name, given in (("skills", one["skills"]), ("new cards", one["can_create_children"])) if given]
    facts = (
        ("works at", ", ".join(one["nodes"])),
        ("conversation", f"one per {one['session']}"),
        ("network", one["network"]),
        ("may write", ", ".join(one["writes"])),
        ("may use", ", ".join(may)),
    )
    return AgentLine(
        name=one["name"],
        route=one["route"],
        tools=tuple(one["tools"]),
        facts=tuple((term, value) for term, value in facts if value),
    )


def route(one: Mapping[str, Any], currency: str) -> RouteLine:
    """A route as `list_models` answers it."""
    return RouteLine(
        name=one["name"],
        agents=", ".join(one["agents"]),
        candidates=tuple(_candidate(each, currency) for each in one["candidates"]),
    )


def call(one: Mapping[str, Any]) -> CallLine:
    """A call as `list_exchanges` answers it."""
    sums = [one["input_tokens"], one["output_tokens"]]
    known = any(each is not None for each in sums)
    return CallLine(
        id=one["exchange_id"],
        status=one["ended"] or "running",
        at=str(one["at"])[:19].replace("T", " "),
        agent=one["agent"],
        card_id=one["card_id"],
        model=f"{one['provider']}:{one['model']}",
        purpose=one["purpose"],
        took=views.seconds(one["milliseconds"] / 1000) if one["milliseconds"] is not None else "",
        tokens=f"{number(sums[0])} in, {number(sums[1])} out" if known else "",
        failure=one["failure"] or "",
    )


def budget(one: Mapping[str, Any], currency: str) -> BudgetLine:
    """A budget as `get_budgets` answers it."""
    held = []
    if one["held_tokens"]:
        held.append(f"{number(one['held_tokens'])} tokens")
    if one["held_micros"]:
        held.append(money(one["held_micros"], currency))
    source = {"configuration": "set by the configuration", "owner": f"set by {one['set_by']}"}
    return BudgetLine(
        name="The project" if one["kind"] == "project" else f"{one['kind']} {one['name']}",
        standing=one["standing"],
        percent=one["percent"],
        sentence=one["sentence"],
        source=source.get(one["source"], ""),
        held=" and ".join(held),
    )


def usage(one: Mapping[str, Any], currency: str) -> UsageLine:
    """A sum as `list_usage` answers it."""
    calls = number(one["calls"]) + (f" ({one['unknown_calls']} unknown)" if one["unknown_calls"] else "")
    return UsageLine(
        key=one["key"] or "the project",
        calls=calls,
        tokens=f"{number(one['input_tokens'])} in, {number(one['output_tokens'])} out",
        cached=number(one["cached_tokens"]),
        money=money(one["micros"], currency),
        time=views.seconds(one["milliseconds"] / 1000),
    )


def refusal(one: Mapping[str, Any], root: str) -> RefusalLine:
    """A refusal as `list_refusals` answers it."""
    return RefusalLine(
        card_id=one["card_id"],
        agent=one["agent"],
        at=views.moment(one["at"]),
        model=f"{one['provider']}:{one['model']}",
        row=f"{root}/cards/{one['card_id']}/conversations/{one['agent']}?row={one['row']}",
        calls=tuple(f"{root}/exchanges/{each}" for each in one["exchanges"]),
    )


def number(value: int | None) -> str:
    """A number as people read it."""
    return "?" if value is None else f"{value:,}"


def money(micros: int, currency: str) -> str:
    """An amount, with as many decimals as it needs and two at least."""
    return f"{amount(micros)} {currency}"


def _candidate(one: Mapping[str, Any], currency: str) -> CandidateLine:
    facts: list[tuple[str, str]] = []
    if one["window_tokens"]:
        facts.append(("window", f"{number(one['window_tokens'])} tokens"))
    if one["output_tokens"]:
        facts.append(("output", f"{number(one['output_tokens'])} tokens"))
    if one["input_micros"] is not None:
        both = f"{amount(one['input_micros'])} in, {amount(one['output_micros'])} out"
        facts.append(("a million tokens", f"{both} {currency}"))
    why = one["why"]
    return CandidateLine(
        name=f"{one['provider']}:{one['model']}",
        kind=str(one["kind"]).replace("_", " "),
        address=one["base_url"] or "",
        key_source=one["key_source"] or "",
        key_name=one["key_name"] or "",
        standing=one["standing"],
        wait=views.seconds(one["wait_s"]) if one["wait_s"] else "",
        why=" ".join(filter(None, (why["happened"], why["advice"]))) if why else "",
        facts=tuple(facts),
    )
