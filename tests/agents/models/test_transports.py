"""Which transport a provider gets."""

import pytest

from workstead import errors
from workstead.agents.models import transports
from workstead.agents.models.practice import Practice
from workstead.agents.models.practice_script import compile_script
from workstead.work.workflow.graph import Provider, ProviderKind

SCRIPT = compile_script(b"- when: {agent: a, node: n}\n  turns: [{calls: [{read: {}}]}]")


def provider(kind: ProviderKind) -> Provider:
    return Provider(name="mine", kind=kind, models=("m",), priority=0, base_url=None, key=None, capabilities={})


def test_practice_is_played_from_its_script() -> None:
    """architecture.md: routes, tools and transports are explicit tables."""
    means = transports.Means(script=SCRIPT)
    assert isinstance(transports.transport_for(provider(ProviderKind.PRACTICE), "m", means=means), Practice)


@pytest.mark.parametrize(
    ("kind", "model", "script", "code"),
    [
        (ProviderKind.PRACTICE, "other", True, "model_unknown"),
        (ProviderKind.PRACTICE, "m", False, "practice_script_missing"),
        (ProviderKind.ANTHROPIC, "m", True, "provider_kind_unsupported"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_a_run(
    kind: ProviderKind, model: str, *, script: bool, code: str
) -> None:
    """A refusal names the provider; nothing falls back on something else."""
    means = transports.Means(script=SCRIPT if script else None)
    with pytest.raises(errors.Refusal) as refused:
        transports.transport_for(provider(kind), model, means=means)
    assert refused.value.code == code
