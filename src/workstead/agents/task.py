"""A node task: everything one agent needs at one node, and how a task can end."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from workstead.agents.budgets import Purse
from workstead.agents.conversations import Conversation
from workstead.agents.models.shape import Child, ToolSchema
from workstead.agents.shown import Shown
from workstead.agents.tools.tool import Tool
from workstead.kernel import scopes
from workstead.kernel.access import AgentProof
from workstead.kernel.transaction import Tx
from workstead.work.cards import Result
from workstead.work.workflow.graph import EMIT_RESULT, AgentNode, AgentSpec, Edge, Route

EXHAUSTED = f"{EMIT_RESULT} was not accepted: the node corrective budget is exhausted."


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What is put before the history of every call, read anew each time: card, brief, direction, the node's text.

    records: those that stand in the text.
    """

    text: str
    children: Mapping[str, Child]
    records: tuple[Shown, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Finish:
    """A call of emit_result. row_id: its row. call_id: the id the model gave it. left: corrections before this one."""

    row_id: str
    call_id: str
    arguments: str
    left: int


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """The node's result, accepted and recorded. edge: where it leads. result: what a later node may promote."""

    edge: Edge
    outcome: str
    summary: str
    result: Result
    conditional: bool = False  # the edge's alternative for pending notifications was taken


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """Not accepted; the reason and the correction, if any is left, already stand in the conversation."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Blocked:
    """The task cannot go on and somebody must look: the code-owned edge to BLOCKED."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Failed:
    """The task failed for good: the code-owned edge to FAILED."""

    reason: str


Verdict = Accepted | Rejected
TaskEnd = Accepted | Blocked | Failed


@dataclass(frozen=True, kw_only=True)
class TaskHost:
    """What runs lends to the turn loop.

    gate: returns when a model call may be made (it parks while paused). prepare: what is put before the history.
    deliver: delivers pending notifications when this node may take them. finish: judges a result. halt: stops the run
    for a reason that people read, and waits to be stopped with it.
    """

    gate: Callable[[], Awaitable[None]]
    prepare: Callable[[Tx], Prepared]
    deliver: Callable[[], Awaitable[None]]
    finish: Callable[[Finish], Awaitable[Verdict]]
    halt: Callable[[str], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Task:
    """One agent at one node of one activation. instructions: the agent's text with the node's contract in.

    purse: what its model calls are paid from.
    schemas: the tools as the model sees them, emit_result last.
    """

    proof: AgentProof
    project_id: str
    card_id: str
    card_title: str
    activation_id: str
    conversation: Conversation
    agent: AgentSpec
    route: Route
    node: AgentNode
    entry: str
    instructions: str
    tools: Mapping[str, Tool]
    schemas: tuple[ToolSchema, ...]
    host: TaskHost
    purse: Purse

    @property
    def scope(self) -> str:
        """The lock scope of the project."""
        return scopes.project(self.project_id)
