"""Capacity: how much the requests of a route may hold, and what exactly one holds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import floor

from workstead.agents.models import attempt, openai_chat, sizing
from workstead.agents.models.attempt import Endpoint
from workstead.agents.models.shape import Request
from workstead.agents.models.transports import WIRES
from workstead.work.workflow.graph import Candidate, Capabilities, Compaction, Provider, Route

ASSUMED_WINDOW_TOKENS = 125_000
"""What a route's window is taken for when the configuration names none."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """What the input of a request may have, by the candidate that takes most. tokens: 0 where none takes any.

    trigger_tokens: where a conversation is shortened ahead. tail_tokens: about what then stays word for word.
    """

    endpoint: Endpoint
    tokens: int
    compaction: Compaction

    @property
    def trigger_tokens(self) -> int:
        """A request that is larger is shortened before it is needed."""
        return floor(self.compaction.trigger * self.tokens)

    @property
    def tail_tokens(self) -> int:
        """What of the newest rows stays, about."""
        return floor(self.compaction.tail * self.tokens)

    def tokens_of(self, request: Request) -> int:
        """What a request is taken for, by its exact bytes as that candidate's wire writes them."""
        return sizing.estimate_tokens(len(attempt.plan(self.endpoint, request).body))

    def at_most(self, tokens: int) -> "Room":
        """The room when a provider has refused a request of this size, whatever its window was thought to be."""
        return replace(self, tokens=min(self.tokens, floor(self.compaction.used * tokens)))


def room(route: Route, providers: Mapping[str, Provider], compaction: Compaction) -> Room:
    """The room of a route, by whichever of its candidates takes most."""
    rooms = [_room(candidate, route, providers, compaction) for candidate in route.candidates]
    stated = [each for each, known in rooms if known]
    return max(stated or [each for each, _ in rooms], key=lambda each: each.tokens)


def most_output(candidate: Candidate, providers: Mapping[str, Provider]) -> int | None:
    """How many tokens of output a model gives at most, None where the configuration is silent."""
    return _capabilities(candidate, providers).max_output_tokens


def _room(
    candidate: Candidate, route: Route, providers: Mapping[str, Provider], compaction: Compaction
) -> tuple[Room, bool]:
    provider = providers[candidate.provider]
    # Practice has no wire of its own and is measured by the plainest.
    wire = WIRES.get(provider.kind, openai_chat.WIRE)
    endpoint = Endpoint(provider=provider, model=candidate.model, wire=wire)
    known = _capabilities(candidate, providers)
    window, most = known.context_window_tokens, known.max_output_tokens
    tokens = 0
    if most is None or route.max_tokens <= most:
        usable = sizing.usable_tokens(
            window or ASSUMED_WINDOW_TOKENS, max_tokens=route.max_tokens, used=compaction.used
        )
        tokens = max(0, usable)
    return Room(endpoint=endpoint, tokens=tokens, compaction=compaction), window is not None


def _capabilities(candidate: Candidate, providers: Mapping[str, Provider]) -> Capabilities:
    return providers[candidate.provider].capabilities.get(candidate.model, Capabilities())
