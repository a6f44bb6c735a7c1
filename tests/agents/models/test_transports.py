"""Which transport a route gets."""

import pytest

from workstead import errors
from workstead.agents.models import routing, transports
from workstead.agents.models.availability import Availability
from workstead.agents.models.practice import Practice
from workstead.agents.models.practice_script import compile_script
from workstead.agents.models.routing import Routed
from workstead.outbound.client import Client
from workstead.testing import SetClock
from workstead.work.workflow.graph import Candidate, Provider, ProviderKind, Route

SCRIPT = compile_script(b"- when: {agent: a, node: n}\n  turns: [{calls: [{read: {}}]}]")


@pytest.fixture
def means() -> routing.Means:
    clock = SetClock()
    return routing.Means(
        client=Client(), availability=Availability(clock=clock), key_of=lambda key: key.name, clock=clock
    )


def providers(*kinds: ProviderKind) -> dict[str, Provider]:
    return {
        kind.value: Provider(
            name=kind.value, kind=kind, models=("m",), priority=0, base_url="http://[::1]", key=None, capabilities={}
        )
        for kind in kinds
    }


def route(*kinds: ProviderKind) -> Route:
    candidates = tuple(Candidate(provider=kind.value, model="m") for kind in kinds)
    return Route(name="r", candidates=candidates, temperature=None, max_tokens=10)


def test_practice_is_played_from_its_script(means: routing.Means) -> None:
    """architecture.md: routes, tools and transports are explicit tables."""
    kinds = (ProviderKind.PRACTICE, ProviderKind.ANTHROPIC)
    made = transports.transport_for(
        route(*kinds), providers(*kinds), means=transports.Means(routing=means, script=SCRIPT)
    )
    assert isinstance(made, Practice)


@pytest.mark.parametrize("kind", [kind for kind in ProviderKind if kind is not ProviderKind.PRACTICE])
def test_every_other_kind_is_asked_over_its_wire(kind: ProviderKind, means: routing.Means) -> None:
    """A configuration may name every kind."""
    made = transports.transport_for(route(kind), providers(kind), means=transports.Means(routing=means))
    assert isinstance(made, Routed)


def test_practice_without_a_script_is_refused(means: routing.Means) -> None:
    """A refusal says what is missing; nothing falls back on something else."""
    kind = ProviderKind.PRACTICE
    with pytest.raises(errors.Refusal) as refused:
        transports.transport_for(route(kind), providers(kind), means=transports.Means(routing=means))
    assert refused.value.code == "practice_script_missing"
