"""A desk for one agent at work: a real instance, a conversation, and a model that answers what it is told to."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from support import instance
from support.instance import Instance
from workstead.accounts import grants
from workstead.accounts.grants import Grant
from workstead.agents import budgets, conversations, shortening, summaries, task
from workstead.agents.conversations import Conversation, NewRow, Row, RowKind
from workstead.agents.models import capacity
from workstead.agents.models.shape import Answer, Call, Finish, Request, Role, ToolSchema, Transport
from workstead.agents.shown import Shown
from workstead.agents.summarizer import Route as SummaryRoute
from workstead.agents.tools.tool import Act, Acted, CallSite, Tool, ToolResult
from workstead.agents.turns import Turns, result_row
from workstead.kernel import scopes
from workstead.kernel.access import AgentProof
from workstead.kernel.canonical import Json
from workstead.kernel.transaction import Tx
from workstead.work.cards import Result
from workstead.work.workflow.graph import (
    EMIT_RESULT,
    AgentNode,
    AgentSpec,
    Candidate,
    Capabilities,
    Compaction,
    Edge,
    Network,
    NodeTarget,
    Prompt,
    Provider,
    ProviderKind,
    Route,
    Session,
)
from workstead.work.workflow.money import Budgets

CARD = "project"
AGENT = "planner"
ACTIVATION = "activation-1"


PROVIDER = Provider(
    name="practice",
    kind=ProviderKind.PRACTICE,
    models=("practice",),
    priority=0,
    base_url=None,
    key=None,
    capabilities={},
)


@dataclass(kw_only=True)
class Model:
    """Answers in the order given, and keeps what it was asked; the last answer ends the task."""

    answers: list[Answer | BaseException]
    asked: list[Request] = field(default_factory=list)
    before: Callable[[], Awaitable[None]] | None = None

    async def complete(self, request: Request) -> Answer:
        """The next answer, or what is raised instead of one."""
        self.asked.append(request)
        if self.before is not None:
            await self.before()
        answer = self.answers[len(self.asked) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer


@dataclass(kw_only=True)
class Desk:
    """finished: what was handed to be judged. verdicts: given in order, accepted when there is none left."""

    instance: Instance
    project_id: str
    conversation: Conversation
    proof: AgentProof
    window_tokens: int = 10_000_000
    compaction: Compaction = field(default_factory=Compaction)
    provider: Provider = PROVIDER
    summarizer: Transport | None = None
    prepared: str = "The garden."
    records: tuple[Shown, ...] = ()
    finished: list[task.Finish] = field(default_factory=list)
    verdicts: list[task.Verdict] = field(default_factory=list)
    budgets: Budgets = field(default_factory=Budgets)
    halted: list[str] = field(default_factory=list)

    @property
    def scope(self) -> str:
        """The project's lock scope."""
        return scopes.project(self.project_id)

    def turns(self, model: Transport, *tools: Tool) -> Turns:
        """The loop over a model and tools."""
        one = self.step(*tools)
        return Turns(one, effects=self.instance.effects, transport=model, means=self.means(model))

    def step(self, *tools: Tool, conversation: Conversation | None = None) -> task.Task:
        """The step that the agent is at."""
        return task.Task(
            proof=self.proof,
            project_id=self.project_id,
            card_id=CARD,
            card_title="Garden",
            activation_id=ACTIVATION,
            conversation=conversation or self.conversation,
            agent=SPEC,
            route=ROUTE,
            node=NODE,
            entry="BACKLOG",
            instructions="Plan the garden.",
            tools={tool.name: tool for tool in tools},
            schemas=tuple(tool.schema for tool in tools),
            host=task.TaskHost(
                gate=_nothing, prepare=self._prepare, deliver=_nothing, finish=self._finish, halt=self._halt
            ),
            purse=budgets.purse(
                self.project_id, card_id=CARD, agent=AGENT, budgets=self.budgets, providers={"practice": self.provider}
            ),
        )

    def means(self, model: Transport) -> shortening.Means:
        """What shortens: a window so large that nothing is, unless `window_tokens` says otherwise."""
        known = {"practice": Capabilities(context_window_tokens=self.window_tokens)}
        providers = {"practice": replace(self.provider, capabilities=known)}
        writers = replace(ROUTE, max_tokens=summaries.MAX_TOKENS)
        route = SummaryRoute(
            room=capacity.room(writers, providers, self.compaction),
            candidates=ROUTE.candidates,
            max_tokens=summaries.MAX_TOKENS,
            transport=lambda: self.summarizer or model,
        )
        return shortening.Means(room=capacity.room(ROUTE, providers, self.compaction), summaries=route)

    def rows(self) -> tuple[Row, ...]:
        """The conversation as it is stored."""
        return self.instance.effects.glance(lambda tx: conversations.rows_after(tx, self.conversation.id, limit=99_999))

    def append(self, *rows: NewRow) -> None:
        """Let rows stand in the conversation."""
        with instance.transaction(self.instance.path) as tx:
            conversations.append(tx, self.conversation, rows, activation_id=ACTIVATION)

    def end_grant(self) -> None:
        """Take the agent's right away, as Stop does."""
        with instance.transaction(self.instance.path) as tx:
            grants.end_activation(tx, ACTIVATION)

    def results(self) -> list[tuple[str | None, object]]:
        """Of every result row: the id of its call, and the result."""
        return [
            (row.call_id, row.content["result"])
            for row in self.rows()
            if row.kind is RowKind.TOOL_RESULT and isinstance(row.content, dict)
        ]

    async def _halt(self, reason: str) -> None:
        self.halted.append(reason)

    def _prepare(self, _tx: Tx) -> task.Prepared:
        return task.Prepared(text=self.prepared, children={}, records=self.records)

    async def _finish(self, call: task.Finish) -> task.Verdict:
        """As acceptance does: the verdict and the row that answers the call are one commit."""
        self.finished.append(call)
        verdict = self.verdicts.pop(0) if self.verdicts else ACCEPTED
        answer = ToolResult(success=isinstance(verdict, task.Accepted), error="not yet")
        row = result_row(call.row_id, call_id=call.call_id, name=EMIT_RESULT, result=answer)

        def job(tx: Tx) -> None:
            conversations.append(tx, self.conversation, [row], activation_id=ACTIVATION)

        await self.instance.effects.settle(self.scope, job)
        return verdict


PROMPT = Prompt(reference="fix", path="prompts/fix.md", text="Look again.")
SPEC = AgentSpec(
    name=AGENT,
    session=Session.CARD,
    prompt=None,
    tools=(),
    model_route="think",
    skills=False,
    can_create_children=False,
    record_writes=(),
    network=Network.NONE,
)
ROUTE = Route(
    name="think",
    candidates=(Candidate(provider="practice", model="practice"),),
    temperature=0.0,
    max_tokens=4096,
)
EDGE = Edge(outcome="done", target=NodeTarget(node="plan"), prompt=None, pending_notifications=None)
NODE = AgentNode(
    name="plan",
    agent=AGENT,
    agent_prompt=PROMPT,
    prompt=PROMPT,
    correction_prompt=PROMPT,
    requirements={},
    initialize_records=(),
    descendant_context=None,
    edges={"done": EDGE},
    creatable_types=(),
    activatable_types=(),
)
ACCEPTED = task.Accepted(
    edge=EDGE,
    outcome="done",
    summary="Planned.",
    result=Result(executor="agent:planner", node="plan", outcome="done", summary="Planned."),
)


@contextmanager
def opened(path: Path, *, window_tokens: int = 10_000_000, summarizer: Transport | None = None) -> Iterator[Desk]:
    """A fresh instance whose planner has just begun an activation."""
    path.mkdir(exist_ok=True)
    found = instance.founded(path / "workstead.sqlite3")
    with instance.transaction(found.path) as tx:
        grant = Grant(
            id=tx.new_id(),
            project_id=found.project.id,
            run_id="run-1",
            activation_id=ACTIVATION,
            card_id=CARD,
            agent=AGENT,
            person_id=found.operator.person.id,
            operations=frozenset(),
        )
        grants.add(tx, grant)
        conversation = conversations.ensure(tx, found.project.id, agent=AGENT, card_id=CARD)
        conversations.append(tx, conversation, [begin()], activation_id=ACTIVATION)
    with instance.opened(found.path) as running:
        yield Desk(
            instance=running,
            project_id=found.project.id,
            conversation=conversation,
            proof=AgentProof(grant_id=grant.id),
            window_tokens=window_tokens,
            summarizer=summarizer,
        )


def begin() -> NewRow:
    """The row an activation begins with."""
    return NewRow(kind=RowKind.ACTIVATION, role=Role.USER, content={"activation_id": ACTIVATION})


def said(text: str) -> NewRow:
    """A row of text."""
    return NewRow(kind=RowKind.TEXT, role=Role.ASSISTANT, content={"text": text})


def called(call_id: str, *, tool: str = "read") -> NewRow:
    """A row of a call."""
    content: Json = {"id": f"model-{call_id}", "arguments": "{}"}
    return NewRow(kind=RowKind.TOOL_CALL, role=Role.ASSISTANT, content=content, call_id=call_id, tool=tool)


def answered(call_id: str, *, tool: str = "read") -> NewRow:
    """The row of its result."""
    return result_row(call_id, call_id=f"model-{call_id}", name=tool, result=ToolResult(success=True))


def calls(*names: str) -> Answer:
    """An answer that calls tools without arguments, in this order."""
    made = tuple(Call(id=f"call-{index}", name=name, arguments="{}") for index, name in enumerate(names))
    return Answer(text="", calls=made, finish=Finish.CALLS)


def ends() -> Answer:
    """An answer that ends the task."""
    return calls(EMIT_RESULT)


def tool(name: str, act: Act | None = None, *, deadline_s: float = 900.0, changes: bool = False) -> Tool:
    """A tool that does what it is given, or nothing."""
    schema = ToolSchema(name=name, description=name, parameters={"type": "object"})
    return Tool(schema=schema, act=act or _fine, deadline_s=deadline_s, changes=changes)


def raising(error: BaseException) -> Act:
    """An act that raises."""

    async def act(_site: CallSite, _given: Mapping[str, object]) -> Acted:
        raise error

    return act


def kinds(rows: Sequence[Row]) -> list[str]:
    """What the rows are, in order."""
    return [row.kind.value for row in rows]


async def _fine(_site: CallSite, _given: Mapping[str, object]) -> Acted:
    return Acted(result=ToolResult(success=True, data="fine"))


async def _nothing() -> None:
    """Nothing is held and nothing waits."""
