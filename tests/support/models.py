"""Builders for model calls: endpoints of a loopback server, a request, a route whose waits pass at once."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from support.model_server import Api
from workstead.agents.models import transports
from workstead.agents.models.attempt import Endpoint
from workstead.agents.models.availability import Availability
from workstead.agents.models.refused_requests import Keep, forget
from workstead.agents.models.routing import Means, Routed
from workstead.agents.models.shape import Message, Request, Role, Situation, ToolSchema
from workstead.outbound.calls import Limits
from workstead.outbound.client import Client
from workstead.testing import SetClock
from workstead.work.workflow.graph import Capabilities, KeyName, KeySource, Provider, ProviderKind

KINDS: dict[Api, ProviderKind] = {
    "chat": ProviderKind.OPENAI_CHAT,
    "messages": ProviderKind.ANTHROPIC,
    "responses": ProviderKind.OPENAI_RESPONSES,
}
KEY = "sk-test-0123456789abcdef"
# A busy machine is no slow provider.
PATIENT = Limits(connect_s=10, inactivity_s=30, silence_s=30, deadline_s=60)
# For a provider that is silent on purpose; an answer of a busy machine still comes in time.
QUICK = Limits(connect_s=10, inactivity_s=0.75, silence_s=1.25, deadline_s=30)
SITUATION = Situation(agent="a", card_id="project", card_title="t", node="n", entry="BACKLOG", turns=0, children={})
ECHO = ToolSchema(
    name="echo",
    description="Say it again.",
    parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


def endpoint(
    url: str, api: Api = "chat", *, name: str = "local", model: str = "m1", capabilities: Capabilities | None = None
) -> Endpoint:
    """One candidate of a loopback server."""
    provider = Provider(
        name=name,
        kind=KINDS[api],
        models=(model,),
        priority=0,
        base_url=url,
        key=KeyName(source=KeySource.SECRET, name=name),
        capabilities={model: capabilities or Capabilities()},
    )
    return Endpoint(provider=provider, model=model, wire=transports.WIRES[KINDS[api]])


def asking(*messages: Message, max_tokens: int = 100, temperature: float | None = 0.5) -> Request:
    """A request with one tool."""
    return Request(
        model="m1",
        instructions="Be brief.",
        messages=messages or (Message(role=Role.USER, text="Hello."),),
        tools=(ECHO,),
        max_tokens=max_tokens,
        temperature=temperature,
        situation=SITUATION,
    )


@dataclass(kw_only=True)
class Route:
    """A route and what it waited for. waited_s: every wait in order."""

    clock: SetClock
    means: Means
    waited_s: list[float] = field(default_factory=list)

    def over(self, *endpoints: Endpoint) -> Routed:
        """The transport over these candidates."""
        return Routed(endpoints, means=self.means)


@asynccontextmanager
async def route(
    *, limits: Limits = PATIENT, key_of: Callable[[KeyName], str] = lambda _: KEY, keep: Keep = forget
) -> AsyncIterator[Route]:
    """Real calls, and waits that pass at once."""
    clock = SetClock()
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(round(seconds, 3))
        clock.advance(seconds=seconds)

    client = Client()
    means = Means(
        client=client,
        availability=Availability(clock=clock),
        key_of=key_of,
        clock=clock,
        limits=limits,
        sleep=sleep,
        keep=keep,
    )
    try:
        yield Route(clock=clock, means=means, waited_s=waited)
    finally:
        await client.aclose()
