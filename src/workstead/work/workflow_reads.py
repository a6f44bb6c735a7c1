"""Reads of workflows: which card types a project has, and the graph that the cards of one follow."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from pydantic import Field

from workstead.accounts import projects
from workstead.kernel.access import Caller
from workstead.kernel.operations import AnyOperation, Effect, Operation
from workstead.kernel.transaction import Tx
from workstead.work import rules
from workstead.work.card_reads import READING
from workstead.work.rules import ProjectRead, Rules
from workstead.work.workflow.graph import ActionNode, AgentNode, Edge, NodeTarget, TerminalTarget


class ListWorkflows(ProjectRead):
    """Which project."""


class GetWorkflow(ProjectRead):
    """Which card type."""

    type: str = Field(min_length=1, max_length=200, description="The card type, as a card's `type` names it.")


@dataclass(frozen=True, kw_only=True)
class WorkflowList:
    """Card types by name."""

    types: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EntryLine:
    """Where an activation starts."""

    entry: str
    node: str


@dataclass(frozen=True, kw_only=True)
class NodeLine:
    """A step. executor: the agent's name, or the action's. records: what must stand before it can end."""

    name: str
    kind: Literal["agent", "action"]
    executor: str
    records: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EdgeLine:
    """What an outcome of a step leads to. target: a node, or how the card ends (DONE, BLOCKED, FAILED)."""

    node: str
    outcome: str
    target: str
    ends: bool


@dataclass(frozen=True, kw_only=True)
class WorkflowGraph:
    """The graph of a card type, in the order configured."""

    type: str
    permitted_child_types: tuple[str, ...]
    entries: tuple[EntryLine, ...]
    nodes: tuple[NodeLine, ...]
    edges: tuple[EdgeLine, ...]


def listed(setting: Rules, tx: Tx, caller: Caller, args: ListWorkflows) -> WorkflowList:
    """The card types of the accepted configuration. Raises `configuration_untrusted`."""
    project = projects.visible(tx, caller, args.project)
    return WorkflowList(types=tuple(sorted(setting.configuration_of(tx, caller, project).card_types)))


def get(setting: Rules, tx: Tx, caller: Caller, args: GetWorkflow) -> WorkflowGraph:
    """The graph of one card type. Raises `invalid` for a type the configuration does not have."""
    project = projects.visible(tx, caller, args.project)
    kind = rules.card_type(setting.configuration_of(tx, caller, project), args.type)
    nodes = kind.workflow.nodes.values()
    return WorkflowGraph(
        type=kind.name,
        permitted_child_types=kind.permitted_child_types,
        entries=tuple(EntryLine(entry=entry.value, node=spec.node) for entry, spec in kind.workflow.entries.items()),
        nodes=tuple(_node(node) for node in nodes),
        edges=tuple(line for node in nodes for line in _edges(node)),
    )


def operations(setting: Rules) -> tuple[AnyOperation, ...]:
    """The reads of workflows."""
    return (
        Operation(
            name="list_workflows",
            summary="List the card types of the accepted configuration.",
            input=ListWorkflows,
            output=WorkflowList,
            permissions=READING,
            effect=Effect.READ,
            doors=rules.PEOPLES_DOORS,
            handler=partial(listed, setting),
            lock=rules.lock,
        ),
        Operation(
            name="get_workflow",
            summary="Look at the workflow of a card type: its steps and what each outcome leads to.",
            input=GetWorkflow,
            output=WorkflowGraph,
            permissions=READING,
            effect=Effect.READ,
            doors=rules.PEOPLES_DOORS,
            handler=partial(get, setting),
            lock=rules.lock,
        ),
    )


def _node(node: AgentNode | ActionNode) -> NodeLine:
    agent = isinstance(node, AgentNode)
    return NodeLine(
        name=node.name,
        kind="agent" if agent else "action",
        executor=node.agent if isinstance(node, AgentNode) else node.action,
        records=tuple(node.requirements),
    )


def _edges(node: AgentNode | ActionNode) -> Iterator[EdgeLine]:
    for edge in node.all_edges:
        yield EdgeLine(node=node.name, outcome=edge.outcome, target=_target(edge), ends=not _leads_on(edge))


def _leads_on(edge: Edge) -> bool:
    return isinstance(edge.target, NodeTarget)


def _target(edge: Edge) -> str:
    match edge.target:
        case NodeTarget(node=node):
            return node
        case TerminalTarget(status=status):
            return status.value
