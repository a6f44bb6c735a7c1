"""Compiles who takes part: agents, model routes, providers, proposed servers."""

from collections.abc import Mapping
from dataclasses import dataclass

from workstead.work.workflow import budgets, catalog, grammar, graph
from workstead.work.workflow.prompts import Library
from workstead.work.workflow.reading import At

_MAX_TOKENS = 10_000_000


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent with what its nodes still need: which prompt, and whether that one may be compacted."""

    spec: graph.AgentSpec
    prompt_reference: str
    prompt_compactable: bool
    at: At


@dataclass(frozen=True, kw_only=True)
class Models:
    """Who answers model calls."""

    routes: Mapping[str, graph.Route]
    providers: Mapping[str, graph.Provider]


def read_agents(at: At, *, routes: Mapping[str, graph.Route], library: Library) -> dict[str, Agent]:
    """Every agent of the source."""
    return {name: _agent(name, each, routes=routes, library=library) for name, each in at.named(grammar.AGENT).items()}


def read_models(models: At | None, providers: At | None) -> Models:
    """Routes with their candidates resolved against the providers."""
    known = {}
    if providers is not None:
        known = {name: _provider(name, at) for name, at in providers.named(grammar.PROVIDER).items()}
    if models is None:
        return Models(routes={}, providers=known)
    fields = models.fields(["routes"], ["profiles", "equivalents", "failover"])
    order = _Order.read(fields)
    routes = {}
    if "routes" in fields:
        named = fields["routes"].named(grammar.ROUTE)
        routes = {name: _route(name, at, order=order, providers=known) for name, at in named.items()}
    return Models(routes=routes, providers=known)


def read_servers(at: At | None) -> dict[str, graph.OutsideServer]:
    """The outside servers a folder proposes."""
    if at is None:
        return {}
    return {name: _server(name, each) for name, each in at.named(grammar.SERVER).items()}


def read_oversight(at: At | None, agents: Mapping[str, Agent]) -> graph.Oversight | None:
    """The periodic look at a run, None where the source has none."""
    if at is None:
        return None
    fields = at.fields(["enabled", "agent"], ["interval_s"])
    agent = read_global_agent(fields.get("agent"), agents)
    interval_s = fields["interval_s"].integer(minimum=60, maximum=604_800) if "interval_s" in fields else 7200
    enabled = "enabled" in fields and fields["enabled"].boolean()
    return graph.Oversight(enabled=enabled, agent=agent or "", interval_s=interval_s)


def read_global_agent(at: At | None, agents: Mapping[str, Agent]) -> str | None:
    """The name of an agent whose conversation is global."""
    if at is None:
        return None
    name = at.name(grammar.AGENT)
    if at.missing(name, "agent", agents):
        return name or None
    if agents[name].spec.session is not graph.Session.GLOBAL:
        at.fail(f"The agent `{name}` works on cards; this needs one with `session: global`.")
    return name


def read_prompt_use(at: At | None) -> tuple[str, bool]:
    """Reference and compactability of a site that takes no compaction key."""
    if at is None:
        return "", True
    fields = at.fields(["reference"], ["compactable"])
    reference = fields["reference"].name(grammar.PROMPT) if "reference" in fields else ""
    return reference, fields["compactable"].boolean() if "compactable" in fields else True


def _agent(name: str, at: At, *, routes: Mapping[str, graph.Route], library: Library) -> Agent:
    required = ["prompt", "tools", "model_route", "session", "network"]
    fields = at.fields(required, ["skills", "can_create_children", "record_writes"])
    session = graph.Session.CARD
    if "session" in fields:
        session = fields["session"].choice(graph.Session, default=graph.Session.CARD)
    reference, compactable = read_prompt_use(fields.get("prompt"))
    route = fields["model_route"].name(grammar.ROUTE) if "model_route" in fields else ""
    if route:
        fields["model_route"].missing(route, "model route", routes)
    prompt = None
    if reference and session is graph.Session.GLOBAL:
        prompt = _global_prompt(fields["prompt"], reference, compactable=compactable, library=library)
    network = graph.Network.NONE
    if "network" in fields:
        network = fields["network"].choice(graph.Network, default=graph.Network.NONE)
    writes = fields["record_writes"].names(grammar.RECORD_WRITER) if "record_writes" in fields else ()
    spec = graph.AgentSpec(
        name=name,
        session=session,
        prompt=prompt,
        tools=_tools(fields.get("tools"), session),
        model_route=route,
        skills="skills" in fields and fields["skills"].boolean(),
        can_create_children="can_create_children" in fields and fields["can_create_children"].boolean(),
        record_writes=writes,
        network=network,
    )
    return Agent(spec=spec, prompt_reference=reference, prompt_compactable=compactable, at=at)


def _global_prompt(at: At, reference: str, *, compactable: bool, library: Library) -> graph.Prompt | None:
    found = library.global_agent(reference)
    if found is None:
        at.fail(f"There is no prompt `{reference}`; write prompts/agents/_shared/{reference}.md.")
        return None
    return graph.Prompt(reference=reference, path=found[0], text=found[1], compactable=compactable)


def _tools(at: At | None, session: graph.Session) -> tuple[str, ...]:
    if at is None:
        return ()
    items = [(item, item.name(grammar.TOOL)) for item in at.items()]
    known = dict.fromkeys(catalog.TOOLS[session])
    for item, tool in items:
        if tool == graph.EMIT_RESULT:
            item.fail("`emit_result` is never listed; every step of a card gets it by itself, last.")
        elif tool and tool not in known and any(tool in tools for tools in catalog.TOOLS.values()):
            item.fail(f"The tool `{tool}` is not for agents with `session: {session}`.")
        else:
            item.missing(tool, "tool", known)
    return at.unique(items)


def _provider(name: str, at: At) -> graph.Provider:
    optional = ["priority", "base_url", "key", "capabilities", "model_capabilities", "prices"]
    fields = at.fields(["kind", "models"], optional)
    kind = graph.ProviderKind.PRACTICE
    if "kind" in fields:
        kind = fields["kind"].choice(graph.ProviderKind, default=graph.ProviderKind.PRACTICE)
    models = fields["models"].names(grammar.MODEL) if "models" in fields else ()
    base_url = fields["base_url"].name(grammar.URL) if "base_url" in fields else None
    if kind is graph.ProviderKind.PRACTICE:
        for key in ("base_url", "key"):
            if key in fields:
                fields[key].fail(f"A practice provider reaches nothing and takes no `{key}`; remove it.")
    elif base_url is None:
        at.fail(f"A provider of the kind `{kind}` needs its `base_url`.")
    return graph.Provider(
        name=name,
        kind=kind,
        models=models,
        priority=fields["priority"].integer(minimum=0, maximum=1000) if "priority" in fields else 0,
        base_url=base_url,
        key=_key(fields.get("key")),
        capabilities=_capabilities(fields, models),
        prices=budgets.read_prices(fields.get("prices"), models),
    )


def _key(at: At | None) -> graph.KeyName | None:
    text = at.name(grammar.KEY) if at is not None else ""
    if not text:
        return None
    source, _, name = text.partition(":")
    return graph.KeyName(source=graph.KeySource(source), name=name)


def _capabilities(fields: Mapping[str, At], models: tuple[str, ...]) -> dict[str, graph.Capabilities]:
    shared = graph.Capabilities()
    if "capabilities" in fields:
        shared = _capability(fields["capabilities"], shared)
    found = dict.fromkeys(models, shared)
    if "model_capabilities" in fields:
        for model, at in fields["model_capabilities"].named(grammar.MODEL).items():
            if not at.missing(model, "model of this provider", found):
                found[model] = _capability(at, shared)
    return found


def _capability(at: At, shared: graph.Capabilities) -> graph.Capabilities:
    fields = at.fields([], ["context_window_tokens", "max_output_tokens", "reasoning"])

    def tokens(key: str, otherwise: int | None) -> int | None:
        return fields[key].integer(minimum=1, maximum=_MAX_TOKENS) if key in fields else otherwise

    return graph.Capabilities(
        context_window_tokens=tokens("context_window_tokens", shared.context_window_tokens),
        max_output_tokens=tokens("max_output_tokens", shared.max_output_tokens),
        reasoning=fields["reasoning"].boolean() if "reasoning" in fields else shared.reasoning,
    )


@dataclass(frozen=True, kw_only=True)
class _Order:
    """How a route's models grow into everything to try."""

    profiles: Mapping[str, tuple[str, ...]]
    equivalents: tuple[tuple[str, ...], ...]
    failover: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, fields: Mapping[str, At]) -> "_Order":
        profiles: dict[str, tuple[str, ...]] = {}
        if "profiles" in fields:
            for name, at in fields["profiles"].named(grammar.PROFILE).items():
                lists = at.fields(["preferred"], ["allowed"])
                models = [m for key in ("preferred", "allowed") if key in lists for m in _models(lists[key])]
                profiles[name] = tuple(dict.fromkeys(models))
        equivalents: tuple[tuple[str, ...], ...] = ()
        if "equivalents" in fields:
            equivalents = tuple(_models(item) for item in fields["equivalents"].items())
        failover: dict[str, tuple[str, ...]] = {}
        if "failover" in fields:
            failover = {m: _models(at) for m, at in fields["failover"].named(grammar.MODEL).items()}
        return cls(profiles=profiles, equivalents=equivalents, failover=failover)

    def expand(self, models: tuple[str, ...]) -> tuple[str, ...]:
        """The models, then their equivalents, then what they fail over to; each once."""
        equal = [other for model in models for group in self.equivalents if model in group for other in group]
        first = tuple(dict.fromkeys((*models, *equal)))
        later = [other for model in first for other in self.failover.get(model, ())]
        return tuple(dict.fromkeys((*first, *later)))


def _models(at: At) -> tuple[str, ...]:
    return at.names(grammar.MODEL)


def _route(name: str, at: At, *, order: _Order, providers: Mapping[str, graph.Provider]) -> graph.Route:
    fields = at.fields(["max_tokens"], ["candidates", "profile", "temperature"])
    models: tuple[str, ...] = ()
    if ("candidates" in fields) == ("profile" in fields):
        at.fail("A route has either `candidates` or a `profile`.")
    elif "candidates" in fields:
        models = _models(fields["candidates"])
    else:
        profile = fields["profile"].name(grammar.PROFILE)
        if not fields["profile"].missing(profile, "profile", order.profiles):
            models = order.profiles[profile]
    candidates = _candidates(order.expand(models), providers)
    tokens = fields["max_tokens"].integer(minimum=1, maximum=_MAX_TOKENS) if "max_tokens" in fields else 1
    if models and not candidates:
        at.fail(f"No provider lists `{models[0]}`; add it to the `models` of a provider.")
    return graph.Route(
        name=name,
        candidates=candidates,
        temperature=fields["temperature"].number(minimum=0, maximum=2) if "temperature" in fields else None,
        max_tokens=tokens,
    )


def _candidates(models: tuple[str, ...], providers: Mapping[str, graph.Provider]) -> tuple[graph.Candidate, ...]:
    ranked = sorted(providers.values(), key=lambda provider: -provider.priority)
    return tuple(
        graph.Candidate(provider=provider.name, model=model)
        for model in models
        for provider in ranked
        if model in provider.models
    )


def _server(name: str, at: At) -> graph.OutsideServer:
    fields = at.fields([], ["command", "url"])
    if ("command" in fields) == ("url" in fields):
        at.fail("An outside server has either a `command` (a list: program, then arguments) or a `url`.")
    command: tuple[str, ...] = ()
    if "command" in fields:
        command = tuple(item.text() for item in fields["command"].items())
        if not command:
            fields["command"].fail("The command needs at least the program to start.")
    url = fields["url"].name(grammar.URL) if "url" in fields else None
    return graph.OutsideServer(name=name, command=command, url=url)
