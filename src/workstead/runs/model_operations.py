"""Operations of agents and models: who works in a project, whom each may ask, and how those stand right now (W15)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from workstead.accounts import projects
from workstead.agents.models.attempt import Endpoint
from workstead.agents.models.availability import Availability, Standing, State
from workstead.agents.models.transports import WIRES
from workstead.kernel.access import Caller, Permission
from workstead.kernel.operations import AnyOperation, Effect, Operation
from workstead.kernel.transaction import Tx
from workstead.runs import effective
from workstead.runs.exchange_operations import FailureView, explained
from workstead.work.pages import PageRead, Slice, fit
from workstead.work.rules import PEOPLES_DOORS, lock
from workstead.work.workflow.graph import AgentNode, AgentSpec, Candidate, Configuration, Provider, Route

Ask = Callable[[Endpoint], tuple[State, float]]
"""How a candidate stands now, and for how many seconds more it is left alone."""


class ListAgents(PageRead):
    """Who works in a project."""


class ListModels(PageRead):
    """Whom a project's routes ask."""


@dataclass(frozen=True, kw_only=True)
class AgentView:
    """A configured agent. nodes: where it works, as `type/node`. writes: patterns of the records it may write."""

    name: str
    route: str
    session: str
    network: str
    tools: tuple[str, ...]
    skills: bool
    can_create_children: bool
    writes: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AgentList:
    """The agents of the configuration that runs, ran last or was accepted. next: copy it back as `position`."""

    agents: tuple[AgentView | Slice, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class CandidateView:
    """Whom a route may ask. standing: healthy (worth asking), cooling or blocked for `wait_s` seconds because of `why`.

    key_source, key_name: `secret` or `env` and a name, never the key. Prices are for a million tokens, in millionths
    of the currency; None where the configuration has none. Window and output are tokens; None where it is silent.
    """

    provider: str
    model: str
    kind: str
    base_url: str | None
    key_source: str | None
    key_name: str | None
    standing: Standing
    wait_s: int
    why: FailureView | None
    window_tokens: int | None
    output_tokens: int | None
    input_micros: int | None
    output_micros: int | None


@dataclass(frozen=True, kw_only=True)
class RouteView:
    """A route. candidates: in the order in which they are asked. agents: who uses it."""

    name: str
    max_tokens: int
    agents: tuple[str, ...]
    candidates: tuple[CandidateView, ...]


@dataclass(frozen=True, kw_only=True)
class ModelList:
    """The routes of the same configuration. next: copy it back as `position`."""

    currency: str
    routes: tuple[RouteView | Slice, ...]
    total: int
    next: str | None


def operations(availability: Availability | None) -> tuple[AnyOperation, ...]:
    """The two operations. availability: of this process; None where nothing was asked (printed tables)."""
    return (
        Operation(
            name="list_agents",
            summary="Who works in a project, with what tools, and which route its calls take.",
            input=ListAgents,
            output=AgentList,
            permissions=frozenset({Permission.RUNS_READ}),
            effect=Effect.READ,
            doors=PEOPLES_DOORS,
            handler=list_agents,
            lock=lock,
        ),
        Operation(
            name="list_models",
            summary="Whom a project's routes ask, how each stands right now, and what it costs.",
            input=ListModels,
            output=ModelList,
            permissions=frozenset({Permission.RUNS_READ}),
            effect=Effect.READ,
            doors=PEOPLES_DOORS,
            handler=partial(list_models, partial(_asked, availability)),
            lock=lock,
        ),
    )


def list_agents(tx: Tx, caller: Caller, args: ListAgents) -> AgentList:
    """A page of agents; none before a configuration was accepted."""
    found = effective.configuration(tx, projects.visible(tx, caller, args.project))
    nodes = _nodes(found) if found is not None else {}
    agents = [_agent(each, nodes.get(each.name, ())) for each in found.agents.values()] if found is not None else []
    page = fit(agents, args)
    return AgentList(agents=page.items, total=page.total, next=page.next)


def list_models(ask: Ask, tx: Tx, caller: Caller, args: ListModels) -> ModelList:
    """A page of routes; none before a configuration was accepted."""
    found = effective.configuration(tx, projects.visible(tx, caller, args.project))
    routes = [_route(found, each, ask) for each in found.routes.values()] if found is not None else []
    page = fit(routes, args)
    currency = found.budgets.currency if found is not None else ""
    return ModelList(currency=currency, routes=page.items, total=page.total, next=page.next)


def _asked(availability: Availability | None, endpoint: Endpoint) -> tuple[State, float]:
    if availability is None:
        return State(), 0.0
    return availability.now(endpoint.identity), availability.wait_s(endpoint.identity)


def _agent(spec: AgentSpec, nodes: tuple[str, ...]) -> AgentView:
    return AgentView(
        name=spec.name,
        route=spec.model_route,
        session=spec.session.value,
        network=spec.network.value,
        tools=spec.tools,
        skills=spec.skills,
        can_create_children=spec.can_create_children,
        writes=spec.record_writes,
        nodes=nodes,
    )


def _route(found: Configuration, route: Route, ask: Ask) -> RouteView:
    return RouteView(
        name=route.name,
        max_tokens=route.max_tokens,
        agents=tuple(each.name for each in found.agents.values() if each.model_route == route.name),
        candidates=tuple(_candidate(found.providers[each.provider], each, ask) for each in route.candidates),
    )


def _candidate(provider: Provider, candidate: Candidate, ask: Ask) -> CandidateView:
    wire = WIRES.get(provider.kind)
    state, wait_s = State(), 0.0
    if wire is not None:
        state, wait_s = ask(Endpoint(provider=provider, model=candidate.model, wire=wire))
    able = provider.capabilities.get(candidate.model)
    price = provider.prices.get(candidate.model)
    return CandidateView(
        provider=provider.name,
        model=candidate.model,
        kind=provider.kind.value,
        base_url=provider.base_url,
        key_source=provider.key.source.value if provider.key is not None else None,
        key_name=provider.key.name if provider.key is not None else None,
        standing=state.standing,
        wait_s=int(wait_s + 0.999),
        why=explained(state.why) if state.why else None,
        window_tokens=able.context_window_tokens if able is not None else None,
        output_tokens=able.max_output_tokens if able is not None else None,
        input_micros=price.input_micros if price is not None else None,
        output_micros=price.output_micros if price is not None else None,
    )


def _nodes(found: Configuration) -> dict[str, tuple[str, ...]]:
    """Where each agent works."""
    where: dict[str, tuple[str, ...]] = {}
    for card_type in found.card_types.values():
        for node in card_type.workflow.nodes.values():
            if isinstance(node, AgentNode):
                where[node.agent] = (*where.get(node.agent, ()), f"{card_type.name}/{node.name}")
    return where
