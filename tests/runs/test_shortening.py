"""What a run's conversations are shortened with follows from its configuration."""

import pytest

from work import folder
from workstead.agents.models.capacity import ASSUMED_WINDOW_TOKENS
from workstead.agents.models.practice import Practice
from workstead.agents.models.practice_script import Script
from workstead.agents.models.shape import Transport
from workstead.agents.shortening import Means
from workstead.runs import shortening
from workstead.work.workflow.graph import Route

PROVIDERS = """\
providers:
  practice: {kind: practice, models: [practice]}
  large: {kind: openai-chat, base_url: "http://127.0.0.1:1/v1", models: [big, small], MODELS}
"""
STATED = (
    "model_capabilities: {big: {context_window_tokens: 100000}, "
    "small: {context_window_tokens: 20000, max_output_tokens: 1024}}"
)


def means(models: str, *, extra: str = "") -> tuple[Means, list[Route]]:
    source = folder.changed("providers:\n  practice: {kind: practice, models: [practice]}\n", PROVIDERS)
    source = folder.changed("MODELS", STATED, source=source)
    source = folder.changed("candidates: [practice]", f"candidates: [{models}]", source=source)
    source = folder.changed("format: 1\n", f"format: 1\n{extra}", source=source)
    configuration = folder.compiled(source).configuration
    asked: list[Route] = []

    def transport_of(route: Route) -> Transport:
        asked.append(route)
        return Practice(Script(scenes=(), names={}))

    made = shortening.means(configuration, configuration.routes["think"], transport_of=transport_of)
    assert asked == []
    made.summaries.transport()
    return made, asked


@pytest.mark.covers("W14")
def test_the_room_is_that_of_the_model_that_takes_most() -> None:
    """facts/work.md 9.4: I = floor(U*C) - O, the largest that is eligible; a smaller one does not count against it."""
    made, asked = means("small, big")
    assert made.room.endpoint.model == "big"
    assert made.room.tokens == 80_000 - 4096
    assert (made.room.trigger_tokens, made.room.tail_tokens) == (68_313, 18_976)
    # Whoever answers writes summaries too, with what the least of them gives.
    assert made.summaries.max_tokens == 1024
    (route,) = asked
    assert [each.model for each in route.candidates] == ["small", "big"]
    assert route.max_tokens == 1024


@pytest.mark.covers("W14")
def test_a_window_that_is_not_stated_is_assumed() -> None:
    """Nothing may grow without end because a configuration is silent."""
    made, _ = means("practice")
    assert made.room.tokens == ASSUMED_WINDOW_TOKENS * 8 // 10 - 4096


@pytest.mark.covers("W14")
def test_the_summarizer_of_the_configuration_writes_for_everybody() -> None:
    """facts/work.md 4.5: one exact candidate, no routing, no failover."""
    extra = "compaction: {summarizer_candidate: {provider: large, model: big}}\n"
    made, (route,) = means("practice", extra=extra)
    assert [(each.provider, each.model) for each in route.candidates] == [("large", "big")]
    assert made.summaries.candidates == route.candidates
    assert made.summaries.room.tokens == 80_000 - 2000
    assert route.temperature is None
