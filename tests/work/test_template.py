"""The classic template: what `init` writes compiles, and its graphs are those of the table."""

import pytest

from workstead import errors
from workstead.work import configuration, template
from workstead.work.workflow import graph
from workstead.work.workflow.graph import NodeTarget, TerminalTarget
from workstead.work.workflow.lifecycle import Entry

# The table of the template, written by hand: node, agent, required record, outcomes; `>` leads to a node.
_PLAN = ("planner", "status.md continue")
_REVIEW = ("reviewer", "review.md clean")
_ENDS = {"blocked": "BLOCKED", "failed": "FAILED"}
_PROJECT_PLAN = {"assess_completion": ">assess-completion", "admit_review": ">review"} | _ENDS
_GOAL_PLAN = {"complete_direct": "DONE", "admit_review": ">review"} | _ENDS
_GRAPHS = {
    "project": {
        "plan": (*_PLAN, _PROJECT_PLAN),
        "recover": (*_PLAN, _PROJECT_PLAN),
        "review": (*_REVIEW, {"approved": ">assess-completion", "revision_required": ">plan"} | _ENDS),
        "assess-completion": (
            *_PLAN,
            {"replan": ">plan", "admit_review": ">review", "complete_direct": "DONE"}
            | {"complete_reviewed": "DONE review"}
            | _ENDS,
        ),
    },
    "goal": {
        "plan": (*_PLAN, _GOAL_PLAN),
        "recover": (*_PLAN, _GOAL_PLAN),
        "review": (
            *_REVIEW,
            {"approved": "DONE >handle-notifications", "revision_required": ">plan"} | _ENDS,
        ),
        "handle-notifications": (*_PLAN, {"admit_review": ">review"} | _ENDS),
    },
}
_LEAVES = ("architecture", "code", "test", "doc", "data", "research", "ops")
_LEAF = {"execute": ("executor", "status.md continue", {"done": "DONE"} | _ENDS)}


@pytest.fixture(scope="module")
def classic() -> graph.Configuration:
    files = template.materialise()
    compiled = configuration.compile_sources(configuration.gather(files.get), {})
    assert compiled.warnings == ()
    return compiled.configuration


def _target(edge: graph.Edge) -> str:
    match edge.target:
        case NodeTarget(node=node):
            return f">{node}"
        case TerminalTarget(status=status, promote_node=promoted):
            pending = edge.pending_notifications and f">{edge.pending_notifications.node}"
            return " ".join(part for part in (status.value, promoted, pending) if part)


@pytest.mark.covers("W01", "W05")
@pytest.mark.parametrize("name", ["project", "goal", *_LEAVES])
def test_the_graph_of_each_type_is_the_one_of_the_table(classic: graph.Configuration, name: str) -> None:
    """Duty: facts 4.12, classic: nodes, agents, requirements, outcomes and targets, exactly."""
    found = {}
    for node in classic.card_types[name].workflow.nodes.values():
        assert isinstance(node, graph.AgentNode)
        ((record, need),) = node.requirements.items()
        assert need.gate is graph.Gate.UPDATED
        edges = {outcome: _target(edge) for outcome, edge in node.edges.items()}
        found[node.name] = (node.agent, f"{record} {need.mode}", edges)
        for edge in node.edges.values():
            if isinstance(edge.target, TerminalTarget):
                assert edge.target.export_records == (record,)
            else:
                assert edge.prompt is not None
    assert found == _GRAPHS.get(name, _LEAF)


@pytest.mark.covers("W01")
def test_types_children_records_and_entries_are_those_of_the_table(classic: graph.Configuration) -> None:
    """Duty: facts 4.12; nine types in order, leaves below, entries and recipients."""
    assert tuple(classic.card_types) == ("project", "goal", *_LEAVES)
    for name, card_type in classic.card_types.items():
        plans = name in {"project", "goal"}
        reviewed = plans or name == "architecture"
        assert card_type.permitted_child_types == (("goal", *_LEAVES) if plans else ())
        assert list(card_type.records) == ["brief.md", "status.md"] + ["review.md"] * reviewed
        assert card_type.bootstrap_record == "brief.md"
        workflow = card_type.workflow
        assert workflow.notification_recipient == ("planner" if plans else "executor")
        first, stopped = ("plan", "recover") if plans else ("execute", "execute")
        entries = {entry: spec.node for entry, spec in workflow.entries.items()}
        assert entries == dict.fromkeys(Entry, first) | {Entry.STOPPED: stopped}
        assert workflow.interrupt_node == stopped


@pytest.mark.covers("W01")
@pytest.mark.parametrize("name", ["project", "goal"])
def test_a_review_sees_the_status_of_everything_below(classic: graph.Configuration, name: str) -> None:
    """Duty: facts 4.12; unchanged until accepted."""
    review = classic.card_types[name].workflow.nodes["review"]
    assert isinstance(review, graph.AgentNode)
    context = graph.DescendantContext(records=("status.md",), require_unchanged_until_accept=True)
    assert review.descendant_context == context


@pytest.mark.covers("K19")
def test_the_shipped_agents_reach_no_network_and_ask_for_no_trust(classic: graph.Configuration) -> None:
    """Duty: S1, shipped templates say `network: none`; S2."""
    assert list(classic.agents) == ["planner", "executor", "reviewer"]
    assert {agent.network for agent in classic.agents.values()} == {graph.Network.NONE}
    assert configuration.needs_trust(classic) == ()
    assert {"run_command", "apply_patch"}.isdisjoint(classic.agents["planner"].tools)
    assert {"run_command", "apply_patch"}.isdisjoint(classic.agents["reviewer"].tools)


@pytest.mark.covers("W01")
def test_every_shipped_prompt_is_used_and_every_used_one_is_shipped() -> None:
    """Duty: spec, prompt packaging closure."""
    files = template.materialise()
    sources = configuration.gather(files.get)
    assert set(sources.prompts) == {path for path in files if path.startswith("prompts/")}


def test_the_product_brings_its_prompts_when_the_folder_has_none() -> None:
    """Duty: facts 4.11; bundled prompts come last."""
    files = {path: raw for path, raw in template.materialise().items() if not path.startswith("prompts/")}
    sources = configuration.gather(files.get)
    assert all(path.startswith("bundled/prompts/") for path in sources.prompts)
    configuration.compile_sources(sources, {})


def test_captured_output_is_kept_out_of_git() -> None:
    """Duty: design, work: captures and scratch are git-ignored."""
    assert b"work/" in template.materialise()[".gitignore"].splitlines()


@pytest.mark.parametrize(("name", "profile", "code"), [
    ("paad", "practice", "template_unknown"),
    ("classic", "gold", "profile_unknown"),
])  # fmt: skip
def test_an_unknown_template_or_profile_is_refused(name: str, profile: str, code: str) -> None:
    """Duty: our decision."""
    with pytest.raises(errors.Refusal) as refusal:
        template.materialise(name, profile=profile)
    assert refusal.value.code == code


@pytest.mark.parametrize("path", ["bundled/../../template.py", "bundled/prompts", "bundled//etc/passwd"])
def test_only_prompts_are_read_from_the_package(path: str) -> None:
    """Duty: S3, path tricks lead nowhere."""
    assert template.read_bundled(path) is None
