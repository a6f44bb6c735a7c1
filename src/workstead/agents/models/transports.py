"""Which transport speaks for a route: practice plays its script, every other kind is asked over its wire."""

from collections.abc import Mapping
from dataclasses import dataclass

from workstead import errors
from workstead.agents.models import anthropic, openai_chat, openai_responses, routing
from workstead.agents.models.attempt import Endpoint
from workstead.agents.models.practice import Practice
from workstead.agents.models.practice_script import Script
from workstead.agents.models.routing import Routed
from workstead.agents.models.shape import Transport
from workstead.agents.models.wire import Wire
from workstead.work.workflow.graph import Provider, ProviderKind, Route

WIRES: Mapping[ProviderKind, Wire] = {
    ProviderKind.ANTHROPIC: anthropic.WIRE,
    ProviderKind.OPENAI_CHAT: openai_chat.WIRE,
    ProviderKind.OPENAI_RESPONSES: openai_responses.WIRE,
}


@dataclass(frozen=True, kw_only=True)
class Means:
    """What transports are made of besides the route. script: what practice plays; None when there is none."""

    routing: routing.Means
    script: Script | None = None
    pace_ms: int = 0


def needs_script(route: Route, providers: Mapping[str, Provider]) -> bool:
    """Whether practice answers for this route: it does where it comes first, and then nobody else is asked."""
    return _first(route, providers).kind is ProviderKind.PRACTICE


def transport_for(route: Route, providers: Mapping[str, Provider], *, means: Means) -> Transport:
    """The way to ask what a route names. Raises unavailable `practice_script_missing`."""
    if needs_script(route, providers):
        if means.script is None:
            message = "The practice provider needs a script, practice.yaml, and this project has none."
            raise errors.unavailable("practice_script_missing", message)
        return Practice(means.script, pace_ms=means.pace_ms)
    endpoints = [
        Endpoint(provider=provider, model=candidate.model, wire=WIRES[provider.kind])
        for candidate in route.candidates
        if (provider := providers[candidate.provider]).kind in WIRES
    ]
    return Routed(endpoints, means=means.routing, used=route.used)


def _first(route: Route, providers: Mapping[str, Provider]) -> Provider:
    return providers[route.candidates[0].provider]
