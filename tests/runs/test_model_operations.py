"""Agents and models as people find them: who works where, whom each asks, and how those stand right now (W15)."""

from pathlib import Path

import pytest

from support import instance, workplace
from support.workplace import result, write
from work import folder
from work.office import write_folder
from workstead.agents.models.attempt import Endpoint
from workstead.agents.models.availability import Availability, Standing
from workstead.agents.models.transports import WIRES
from workstead.kernel.operations import Door, Operations
from workstead.runs import model_operations
from workstead.testing import SetClock
from workstead.work import configurations

COVERS_MODULES = ("runs/effective.py",)

ASKED = folder.changed(
    "practice: {kind: practice, models: [practice]}",
    'practice: {kind: anthropic, models: [practice], base_url: "http://127.0.0.1:9", key: "secret:the-key", '
    "capabilities: {context_window_tokens: 200000, max_output_tokens: 8000}, "
    "prices: {practice: {input: 3, output: 15}}}",
)


@pytest.mark.covers("W15")
@pytest.mark.both_databases
async def test_agents_say_where_they_work_and_with_what(tmp_path: Path) -> None:
    """The configuration that ran, not the one that stands in the folder now."""
    async with workplace.opened(tmp_path, lines={"steer": [[write("status.md", "S"), result("stuck")]]}) as shed:
        await shed.run()
        found = await shed.ask("list_agents")
        models = await shed.ask("list_models")
    lead = next(one for one in found.agents if one.name == "lead")
    assert "emit_result" not in lead.tools
    assert {"read", "write"} <= set(lead.tools)
    assert any(node.endswith("/steer") for node in lead.nodes)
    assert found.total == len(found.agents)
    (route,) = [one for one in models.routes if one.name == lead.route]
    assert "lead" in route.agents
    assert [one.standing for one in route.candidates] == [Standing.HEALTHY] * len(route.candidates)


@pytest.mark.covers("W15")
async def test_a_candidate_that_rests_says_why_and_for_how_long(tmp_path: Path) -> None:
    """Availability is of what is really asked; the key is named, never shown."""
    found = instance.founded(tmp_path / "workstead.sqlite3")
    clock = SetClock()
    availability = Availability(clock=clock)
    place = write_folder(tmp_path / "orchard", source=ASKED)
    gathered = configurations.gather(place)
    assert gathered.compiled is not None
    provider = gathered.compiled.configuration.providers["practice"]
    endpoint = Endpoint(provider=provider, model="practice", wire=WIRES[provider.kind])
    with instance.transaction(found.path) as tx:
        digest = configurations.keep(tx, gathered.sources)
        configurations.trust(tx, found.project, digest, person="Ada")
    with instance.opened(found.path, operations=model_operations.operations(availability)) as live:

        async def candidate() -> model_operations.CandidateView:
            given = {"project": "garden"}
            answer = await live.operations.run(found.operator.proof, "list_models", given, door=Door.CLI)
            one: model_operations.CandidateView = answer.routes[0].candidates[0]
            return one

        ready = await candidate()
        availability.rest(endpoint.identity, Standing.BLOCKED, seconds=90, why="rate_limit")
        resting = await candidate()
        clock.advance(seconds=91)
        again = await candidate()
    assert (ready.standing, ready.wait_s, ready.why) == (Standing.HEALTHY, 0, None)
    assert (ready.key_source, ready.key_name) == ("secret", "the-key")
    assert (ready.window_tokens, ready.output_tokens) == (200_000, 8_000)
    assert (ready.input_micros, ready.output_micros) == (3_000_000, 15_000_000)
    assert (resting.standing, resting.wait_s) == (Standing.BLOCKED, 90)
    assert resting.why is not None
    assert resting.why.happened == "The provider takes no more requests for now."
    assert (again.standing, again.why) == (Standing.HEALTHY, None)


@pytest.mark.covers("W15")
async def test_before_a_configuration_was_accepted_there_is_nobody(tmp_path: Path) -> None:
    """An empty page, no refusal."""
    found = instance.founded(tmp_path / "workstead.sqlite3")
    with instance.opened(found.path, operations=model_operations.operations(None)) as live:
        run: Operations = live.operations
        for name, of in (("list_agents", "agents"), ("list_models", "routes")):
            answer = await run.run(found.operator.proof, name, {"project": "garden"}, door=Door.CLI)
            assert getattr(answer, of) == ()
