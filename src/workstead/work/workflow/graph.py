"""The compiled configuration: what a run reads. Frozen, complete, checked; it knows nothing of YAML."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from workstead.work.workflow.lifecycle import Entry
from workstead.work.workflow.money import Budgets, Price

# Edges that every node has without being configured.
EXECUTION_FAILED = "execution:failed"
EXECUTION_BLOCKED = "execution:blocked"
NOTIFICATION_INTERRUPT = "notification:interrupt"

EMIT_RESULT = "emit_result"
MAX_SUMMARY_CHARS = 2000
MAX_CORRECTIONS = 16


class Terminal(StrEnum):
    """How an activation may end by its graph."""

    BLOCKED = "BLOCKED"
    DONE = "DONE"
    FAILED = "FAILED"


class Mode(StrEnum):
    """How a node meets a record: a fresh draft, or whatever stands there."""

    CLEAN = "clean"
    CONTINUE = "continue"


class Gate(StrEnum):
    """What must be true of a record when the node ends: it has text, or it has text written in this node."""

    EXISTS = "exists"
    UPDATED = "updated"


class Session(StrEnum):
    """Where an agent's conversation lives: one for the project, or one per card."""

    CARD = "card"
    GLOBAL = "global"


class Network(StrEnum):
    """What commands may reach: only their own loopback, or whatever the machine reaches."""

    FULL = "full"
    NONE = "none"


class ProviderKind(StrEnum):
    """The wire a provider speaks; `practice` is the deterministic agent that needs no key."""

    ANTHROPIC = "anthropic"
    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "openai-responses"
    PRACTICE = "practice"


class Snap(StrEnum):
    """What becomes of the older round that only partly fits what is kept when a conversation is shortened."""

    COMPACT = "compact_straddler"
    KEEP = "keep_straddler_verbatim"


class KeySource(StrEnum):
    """Where a provider's key is kept; the configuration only ever names it."""

    ENV = "env"
    SECRET = "secret"  # noqa: S105 - a word of the format


class CardFact(StrEnum):
    """What an action's argument may take from the card it runs for."""

    CARD_ID = "card_id"
    CARD_TITLE = "card_title"
    CARD_TYPE = "card_type"
    NODE_ID = "node_id"


class Comparison(StrEnum):
    """How a case compares a field of an action's outcome."""

    EQ = "eq"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A text as one site uses it: fragments are in; only the placeholders of a run are still open.

    path: the source it came from. compactable: False protects it across compaction; with a key only the
    newest occurrence of that key.
    """

    reference: str
    path: str
    text: str
    compactable: bool = True
    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class AgentSpec:
    """A configured participant. prompt: only of global agents; a card agent's stands at its nodes."""

    name: str
    session: Session
    prompt: Prompt | None
    tools: tuple[str, ...]
    model_route: str
    skills: bool
    can_create_children: bool
    record_writes: tuple[str, ...]
    network: Network

    def may_write(self, record: str) -> bool:
        """Whether one of its patterns covers the record. A `*` stands for any part of the stem."""
        return any(pattern_covers(pattern, record) for pattern in self.record_writes)


@dataclass(frozen=True, kw_only=True)
class KeyName:
    """The name of a provider's key, never the key."""

    source: KeySource
    name: str


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a model can take; None where the configuration is silent. reasoning: it gives some that is sent back."""

    context_window_tokens: int | None = None
    max_output_tokens: int | None = None
    reasoning: bool = False


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A service that answers model calls. capabilities: of every model in `models`. prices: of those that have one."""

    name: str
    kind: ProviderKind
    models: tuple[str, ...]
    priority: int
    base_url: str | None
    key: KeyName | None
    capabilities: Mapping[str, Capabilities]
    prices: Mapping[str, Price] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One way to answer a call."""

    provider: str
    model: str


@dataclass(frozen=True, kw_only=True)
class Route:
    """What an agent's calls use. candidates: in the order to try, equivalents and failover included.

    temperature: None leaves it to the provider; some models take none. used: the part of a context window that is
    used, the compaction's `context_utilization_fraction`.
    """

    name: str
    candidates: tuple[Candidate, ...]
    temperature: float | None
    max_tokens: int
    used: float = 0.80


@dataclass(frozen=True, kw_only=True)
class Compaction:
    """When and how conversations are shortened (W14). summarizer: None lets the agent's own route write summaries.

    trigger, tail: parts of what a request's input may have; above the first a conversation is shortened, about the
    second stays word for word.
    """

    used: float = 0.80
    trigger: float = 0.90
    tail: float = 0.25
    snap: Snap = Snap.KEEP
    summarizer: Candidate | None = None


@dataclass(frozen=True, kw_only=True)
class Oversight:
    """The periodic look at a running project."""

    enabled: bool
    agent: str
    interval_s: int


@dataclass(frozen=True, kw_only=True)
class OutsideServer:
    """A server the folder proposes; it stays a disabled proposal until a person enables it (S2)."""

    name: str
    command: tuple[str, ...]
    url: str | None


@dataclass(frozen=True, kw_only=True)
class RecordSpec:
    """A named Markdown text of a card type. initialization: its starter, with fragments in, macros open."""

    name: str
    schema: str
    bootstrap: bool
    initialization: str | None


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """What a node needs of one record."""

    mode: Mode
    gate: Gate


@dataclass(frozen=True, kw_only=True)
class DescendantContext:
    """Records of every card below that a node is shown."""

    records: tuple[str, ...]
    require_unchanged_until_accept: bool


@dataclass(frozen=True, kw_only=True)
class NodeTarget:
    """The edge goes on at another node, or at the same one again."""

    node: str


@dataclass(frozen=True, kw_only=True)
class TerminalTarget:
    """The edge ends the activation.

    promote_node: the node whose latest accepted result becomes the card's; None: the edge's own.
    """

    status: Terminal
    promote_node: str | None
    export_records: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PendingNotifications:
    """Where a DONE result of a node that is not the recipient's goes while notices wait."""

    node: str
    prompt: Prompt


@dataclass(frozen=True, kw_only=True)
class Edge:
    """What one outcome leads to. prompt: handed to the next node; only of edges that lead to one."""

    outcome: str
    target: NodeTarget | TerminalTarget
    prompt: Prompt | None
    pending_notifications: PendingNotifications | None


@dataclass(frozen=True, kw_only=True)
class Case:
    """One typed test on a field of an action's outcome."""

    id: str
    field: str
    test: Comparison
    value: int
    edge: Edge


@dataclass(frozen=True, kw_only=True)
class ActionEdge:
    """What one outcome of an action leads to: the first case that holds, otherwise the rest."""

    outcome: str
    cases: tuple[Case, ...]
    otherwise: Edge

    def choose(self, fields: Mapping[str, int]) -> Edge:
        """The edge for an outcome with these fields."""
        return next((case.edge for case in self.cases if _holds(case, fields)), self.otherwise)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Every edge it may take."""
        return (*(case.edge for case in self.cases), self.otherwise)


@dataclass(frozen=True, kw_only=True)
class ShellRun:
    """Input of the action `shell.run`, version 1: `bash -c SCRIPT` in the project's folder.

    args: literals, or facts of the card. cwd: relative to the folder. artifacts: files the script leaves.
    """

    script: str
    args: tuple[str | CardFact, ...]
    cwd: str
    env: Mapping[str, str]
    artifacts: tuple[str, ...]
    timeout_s: int
    grace_s: int
    network: Network


@dataclass(frozen=True, kw_only=True)
class AgentNode:
    """A step done by an agent.

    agent_prompt: the agent's own text for this card type; it has `{{contractDescription}}` once.
    creatable_types, activatable_types: what its agent may create and start from here.
    """

    name: str
    agent: str
    agent_prompt: Prompt
    prompt: Prompt
    correction_prompt: Prompt
    requirements: Mapping[str, Requirement]
    initialize_records: tuple[str, ...]
    descendant_context: DescendantContext | None
    edges: Mapping[str, Edge]
    creatable_types: tuple[str, ...]
    activatable_types: tuple[str, ...]

    @property
    def outcomes(self) -> tuple[str, ...]:
        """What `emit_result` accepts, in the order configured."""
        return tuple(self.edges)

    @property
    def all_edges(self) -> tuple[Edge, ...]:
        """Every configured edge."""
        return tuple(self.edges.values())


@dataclass(frozen=True, kw_only=True)
class ActionNode:
    """A step done by a command. output_record: takes its standard output, as if written in this node."""

    name: str
    action: Literal["shell.run"]
    version: Literal[1]
    input: ShellRun
    output_record: str | None
    edges: Mapping[str, ActionEdge]

    @property
    def requirements(self) -> Mapping[str, Requirement]:
        """The output record must have been written; an action needs no other."""
        if self.output_record is None:
            return {}
        return {self.output_record: Requirement(mode=Mode.CONTINUE, gate=Gate.UPDATED)}

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Every outcome of the action."""
        return tuple(self.edges)

    @property
    def all_edges(self) -> tuple[Edge, ...]:
        """Every configured edge."""
        return tuple(edge for choice in self.edges.values() for edge in choice.edges)


@dataclass(frozen=True, kw_only=True)
class EntrySpec:
    """Where an activation starts. prompt: always there for STOPPED."""

    node: str
    prompt: Prompt | None


@dataclass(frozen=True, kw_only=True)
class Hook:
    """A command after the outcome is committed; advice only, it never changes the result."""

    input: ShellRun
    statuses: frozenset[Terminal]


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """The graph of a card type."""

    notification_recipient: str
    entries: Mapping[Entry, EntrySpec]
    nodes: Mapping[str, AgentNode | ActionNode]
    after_activation_commit: Hook | None

    @property
    def interrupt_node(self) -> str:
        """Where an urgent notice takes a running activation."""
        return self.entries[Entry.STOPPED].node


@dataclass(frozen=True, kw_only=True)
class CardType:
    """What a card of this type may hold, what it writes, how it is worked on."""

    name: str
    permitted_child_types: tuple[str, ...]
    records: Mapping[str, RecordSpec]
    workflow: Workflow

    @property
    def bootstrap_record(self) -> str:
        """The record that a new card's brief becomes."""
        return next(record.name for record in self.records.values() if record.bootstrap)


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Everything a run of a project uses, pinned by the digest of its sources.

    variables: names of the `WORKSTEAD_VAR_*` the source asks for.
    """

    digest: str
    agents: Mapping[str, AgentSpec]
    routes: Mapping[str, Route]
    providers: Mapping[str, Provider]
    card_types: Mapping[str, CardType]
    analyst_agent: str | None
    oversight: Oversight | None
    outside_servers: Mapping[str, OutsideServer]
    variables: tuple[str, ...]
    compaction: Compaction = Compaction()
    budgets: Budgets = field(default_factory=Budgets)


def pattern_covers(pattern: str, record: str) -> bool:
    """Whether a writer's pattern covers a record's name; a `*` stands for any part of the stem."""
    head, star, tail = pattern.partition("*")
    if not star:
        return pattern == record
    return len(record) >= len(head) + len(tail) and record.startswith(head) and record.endswith(tail)


def _holds(case: Case, fields: Mapping[str, int]) -> bool:
    actual = fields[case.field]
    match case.test:
        case Comparison.EQ:
            return actual == case.value
        case Comparison.GT:
            return actual > case.value
        case Comparison.GTE:
            return actual >= case.value
        case Comparison.LT:
            return actual < case.value
        case Comparison.LTE:
            return actual <= case.value
