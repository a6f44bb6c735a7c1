"""Which transport speaks for which kind of provider: one table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workstead import errors
from workstead.agents.models.practice import Practice
from workstead.agents.models.practice_script import Script
from workstead.agents.models.shape import Transport
from workstead.work.workflow.graph import Provider, ProviderKind


@dataclass(frozen=True, kw_only=True)
class Means:
    """What transports are made of besides the provider. script: what practice plays; None when there is none."""

    script: Script | None = None
    pace_ms: int = 0


def transport_for(provider: Provider, model: str, *, means: Means) -> Transport:
    """The way to ask this model of this provider.

    Raises invalid `model_unknown`; unavailable `provider_kind_unsupported`, `practice_script_missing`.
    """
    if model not in provider.models:
        raise errors.invalid("model_unknown", f"The provider {provider.name!r} has no model {model!r}.")
    build = _BUILDERS.get(provider.kind)
    if build is None:
        message = f"The provider {provider.name!r} is of the kind {provider.kind}, which cannot be asked yet."
        raise errors.unavailable("provider_kind_unsupported", message)
    return build(means)


def _practice(means: Means) -> Transport:
    if means.script is None:
        message = "The practice provider needs a script, practice.yaml, and this project has none."
        raise errors.unavailable("practice_script_missing", message)
    return Practice(means.script, pace_ms=means.pace_ms)


_BUILDERS: Mapping[ProviderKind, Callable[[Means], Transport]] = {
    ProviderKind.PRACTICE: _practice,
}
