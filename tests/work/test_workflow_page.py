"""The page docs/workflow.md: what it shows compiles, and what it lists is what there is."""

import re
from pathlib import Path

import pytest

from work import folder
from workstead.work import yaml_source
from workstead.work.workflow import catalog, graph

PAGE = (Path(__file__).parents[2] / "docs" / "workflow.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.partition(":")[0])
def test_every_example_is_strict_yaml(block: str) -> None:
    """House style 69: what is documented is there."""
    assert yaml_source.parse(block.encode(), name="page").issues == ()


def test_the_page_lists_every_tool_an_agent_may_have() -> None:
    """House style 69: no tool is undocumented."""
    rows = re.search(r"### Tools\n(.*?)\n`emit_result`", PAGE, re.DOTALL)
    assert rows is not None
    documented = set(re.findall(r"`([a-z_]+)`", rows[1]))
    assert documented == {tool for tools in catalog.TOOLS.values() for tool in tools}


@pytest.mark.parametrize("name", [kind.value for kind in graph.ProviderKind])
def test_the_page_names_every_kind_of_provider(name: str) -> None:
    """House style 69."""
    assert f"`{name}`" in PAGE


def test_the_models_of_the_page_compile() -> None:
    """The example of routes, profiles, equivalents and failover works as shown."""
    models = next(block for block in BLOCKS if block.startswith("models:"))
    source = re.sub(r"models:\n.*?(?=providers:)", models, folder.YAML, flags=re.DOTALL)
    source = source.replace("model_route: think", "model_route: planner").replace(
        "models: [practice]", "models: [big-model, big-model-eu, small-model]"
    )
    routes = folder.compiled(source).configuration.routes
    assert [each.model for each in routes["planner"].candidates] == ["big-model", "big-model-eu", "small-model"]


def test_the_nodes_of_the_page_compile() -> None:
    """The agent node and the action node work as shown."""
    review, check = (next(block for block in BLOCKS if block.startswith(name)) for name in ("review:", "check:"))
    review = review.replace("agent: reviewer", "agent: judge").replace("node: plan", "node: steer")
    check = check.replace("node: report", "node: steer").replace("node: repair", "node: steer")
    nodes = review.replace("review:", "looked:", 1) + check.replace("check:", "made:", 1)
    text = "".join(f"        {line}\n" for line in nodes.splitlines())
    source = folder.changed("  task:\n", text + "  task:\n")
    records = (
        "review.md: {schema: review.v1, initialization: {template: x}}\n      check-report.md: {schema: report.v1}"
    )
    source = folder.changed("review.md: {schema: review.v1}", records, source=source)
    ways = "look: {target: {node: looked}}\n            make: {target: {node: made}}\n            ready: {target"
    source = folder.changed("ready: {target", ways, source=source)
    prompts = folder.PROMPTS | {
        f"prompts/process/_shared/{name}.md": "x" for name in ("review", "correct-review", "review-to-plan")
    }
    compiled = folder.compiled(source, prompts=prompts).configuration.card_types["project"].workflow
    assert list(compiled.nodes) == ["steer", "check", "looked", "made"]
