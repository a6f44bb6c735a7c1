"""Compiles when and how conversations are shortened."""

from collections.abc import Mapping

from workstead.work.workflow import grammar, graph
from workstead.work.workflow.reading import At

_OPTIONAL = (
    "enabled",
    "context_utilization_fraction",
    "trigger_fraction",
    "tail_fraction",
    "snap",
    "summarizer_candidate",
)
_LEAST = 0.05


def read(at: At | None, providers: Mapping[str, graph.Provider]) -> graph.Compaction:
    """The settings of the source, or what holds where it has none."""
    usual = graph.Compaction()
    if at is None:
        return usual
    fields = at.fields([], _OPTIONAL)
    if "enabled" in fields and not fields["enabled"].boolean():
        fields["enabled"].fail("Conversations are always shortened when they must be; remove this line.")
    trigger = _fraction(fields.get("trigger_fraction"), usual.trigger)
    tail = fields["tail_fraction"].number(minimum=0, maximum=1) if "tail_fraction" in fields else usual.tail
    if tail > trigger > _LEAST:
        fields.get("tail_fraction", at).fail("`tail_fraction` is at most `trigger_fraction`.")
    return graph.Compaction(
        used=_fraction(fields.get("context_utilization_fraction"), usual.used),
        trigger=trigger,
        tail=tail,
        snap=fields["snap"].choice(graph.Snap, default=usual.snap) if "snap" in fields else usual.snap,
        summarizer=_candidate(fields.get("summarizer_candidate"), providers),
    )


def _fraction(at: At | None, usual: float) -> float:
    return at.number(minimum=_LEAST, maximum=1) if at is not None else usual


def _candidate(at: At | None, providers: Mapping[str, graph.Provider]) -> graph.Candidate | None:
    if at is None:
        return None
    fields = at.fields(["provider", "model"])
    provider = fields["provider"].name(grammar.PROVIDER) if "provider" in fields else ""
    model = fields["model"].name(grammar.MODEL) if "model" in fields else ""
    if not provider or not model or fields["provider"].missing(provider, "provider", providers):
        return None
    if fields["model"].missing(model, "model of this provider", dict.fromkeys(providers[provider].models)):
        return None
    return graph.Candidate(provider=provider, model=model)
