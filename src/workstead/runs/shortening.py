"""What a run's conversations are shortened with: the room of an agent's route, and who writes summaries."""

from collections.abc import Callable
from dataclasses import replace

from workstead.agents import summaries
from workstead.agents.models import capacity
from workstead.agents.models.shape import Transport
from workstead.agents.shortening import Means
from workstead.agents.summarizer import Route as Summaries
from workstead.work.workflow.graph import Configuration, Route


def means(configuration: Configuration, route: Route, *, transport_of: Callable[[Route], Transport]) -> Means:
    """For an agent that is answered on this route."""
    writers = _writers(configuration, route)
    room = capacity.room(writers, configuration.providers, configuration.compaction)
    return Means(
        room=capacity.room(route, configuration.providers, configuration.compaction),
        summaries=Summaries(
            room=room,
            candidates=writers.candidates,
            max_tokens=writers.max_tokens,
            transport=lambda: transport_of(writers),
        ),
    )


def _writers(configuration: Configuration, route: Route) -> Route:
    """Whoever the configuration names, otherwise those who answer the agent itself."""
    chosen = configuration.compaction.summarizer
    candidates = (chosen,) if chosen is not None else route.candidates
    most = min(capacity.most_output(each, configuration.providers) or summaries.MAX_TOKENS for each in candidates)
    # No name in a configuration has a colon.
    name = f"{route.name}:summaries" if chosen is None else ":summaries"
    return replace(
        route, name=name, candidates=candidates, temperature=None, max_tokens=min(summaries.MAX_TOKENS, most)
    )
