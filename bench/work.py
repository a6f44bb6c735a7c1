"""The work room: cards, agents' steps, Stop, the server's start and recovery, and the demo."""

from collections.abc import Iterator

from bench import agent_steps, card_edits, serving, stops
from bench.figures import Figure


def run() -> Iterator[Figure]:
    """Every figure of the work room."""
    yield from serving.start()
    yield from serving.demo()
    yield from serving.recovery()
    yield from stops.run()
    yield from agent_steps.run()
    yield from card_edits.run()
