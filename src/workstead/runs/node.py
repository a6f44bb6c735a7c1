"""One visit of one agent node: entry in one commit, then the turn loop with what runs lends to it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from anyio.abc import TaskGroup

from workstead.accounts import grants
from workstead.accounts.grants import Grant
from workstead.agents import budgets, conversations, protection, shown, turns
from workstead.agents.conversations import NewRow, RowKind
from workstead.agents.models.shape import Role
from workstead.agents.task import Finish, Prepared, Task, TaskEnd, TaskHost, Verdict
from workstead.agents.tools import catalog, result
from workstead.agents.tools.tool import Acted, CallSite
from workstead.agents.tools.workbench import Activation as Wanted
from workstead.agents.tools.workbench import Workbench
from workstead.kernel.access import AgentProof, Caller
from workstead.kernel.transaction import Tx
from workstead.runs import acceptance, activations, context, halting, recovery, runs, shortening
from workstead.runs.acceptance import Position
from workstead.runs.activations import Activation
from workstead.runs.context import Transition
from workstead.runs.surroundings import Surroundings
from workstead.work import cards, notifications, records
from workstead.work.cards import Card, Result
from workstead.work.workflow import prompts
from workstead.work.workflow.graph import EMIT_RESULT, AgentNode, AgentSpec, CardType

ActivateChild = Callable[[AgentProof, Wanted], Awaitable[Acted]]


@dataclass(frozen=True, kw_only=True)
class Visit:
    """What a node is entered with. results: of earlier nodes of this activation. activate: runs a child card."""

    activation: Activation
    kind: CardType
    node: AgentNode
    ordinal: int
    transition: Transition
    results: Mapping[str, Result]
    activate: ActivateChild
    group: TaskGroup


async def run(around: Surroundings, visit: Visit) -> TaskEnd:
    """Enter the node, work until its result is accepted or the task ends otherwise."""
    spec = around.configuration.agents[visit.node.agent]
    position = await around.effects.settle(around.scope, lambda tx: _enter(tx, around, visit, spec=spec))
    proof = AgentProof(grant_id=position.grant_id)
    card = await around.effects.look(lambda tx: _card(tx, visit.activation))
    bench = Workbench(
        spec=spec,
        project_id=around.project.id,
        card_id=card.id,
        folder=around.folder,
        processes=around.processes,
        operations=around.operations,
        effects=around.effects,
        redactor=around.redactor,
        activate=_activating(visit, proof),
        group=visit.group,
    )
    tools = catalog.build(bench)
    one = Task(
        proof=proof,
        project_id=around.project.id,
        card_id=card.id,
        card_title=card.title,
        activation_id=visit.activation.id,
        conversation=position.conversation,
        agent=spec,
        route=around.configuration.routes[spec.model_route],
        node=visit.node,
        entry=visit.activation.entry.value,
        instructions=_instructions(visit, card),
        tools=tools,
        schemas=(*(tool.schema for tool in tools.values()), result.schema(visit.node.outcomes)),
        host=_task_host(around, visit, position, proof),
        purse=budgets.purse(
            around.project.id,
            card_id=card.id,
            agent=spec.name,
            budgets=around.configuration.budgets,
            providers=around.configuration.providers,
        ),
    )
    transport = around.transport_of(one.route)
    means = shortening.means(around.configuration, one.route, transport_of=around.transport_of)
    try:
        loop = turns.Turns(one, effects=around.effects, transport=transport, means=means, partials=around.partials)
        return await loop.run()
    finally:
        await around.processes.end_owner(visit.activation.id)


def _enter(tx: Tx, around: Surroundings, visit: Visit, *, spec: AgentSpec) -> Position:
    """Grant, visit, records, conversation and everything the agent is told at entry, in one commit."""
    runs.require_going(tx, around.run)
    card = _card(tx, visit.activation)
    grant = Grant(
        id=tx.new_id(),
        project_id=around.project.id,
        run_id=around.run.id,
        activation_id=visit.activation.id,
        card_id=card.id,
        agent=spec.name,
        person_id=around.run.person_id,
        operations=catalog.operations(spec),
    )
    grants.add(tx, grant)
    executor = f"agent:{spec.name}"
    activations.enter(tx, around.run, visit.activation, ordinal=visit.ordinal, node=visit.node.name, executor=executor)
    _initialize(tx, card, visit)
    baselines = acceptance.prepare_requirements(tx, card, visit.node)
    conversation = conversations.ensure(tx, around.project.id, agent=spec.name, card_id=card.id)
    recovery.settle_calls(tx, conversation, activation_id=visit.activation.id)
    rows = [_activation_row(around, visit, card)]
    snapshot = None
    recipient = visit.kind.workflow.notification_recipient == spec.name
    if recipient:
        waiting = notifications.pending(tx, card.project_id, card.id)
        rows += acceptance.notice_rows(waiting)
        card = notifications.remove(tx, card, waiting)
    if visit.node.descendant_context is not None:
        text, snapshot, below = context.descendants(tx, card, visit.node.descendant_context)
        rows.append(_context(text))
        rows += [shown.new_row(below)] if below else []
    rows += _transition_rows(visit.transition)
    conversations.append(tx, conversation, rows, activation_id=visit.activation.id)
    return Position(
        run=around.run,
        activation=visit.activation,
        ordinal=visit.ordinal,
        node=visit.node,
        agent=spec,
        grant_id=grant.id,
        conversation=conversation,
        recipient=recipient,
        baselines=baselines,
        snapshot=snapshot,
        results=visit.results,
    )


def _initialize(tx: Tx, card: Card, visit: Visit) -> None:
    for name in visit.node.initialize_records:
        text = prompts.render_initialization(
            visit.kind.records[name],
            card_type=card.type,
            card_id=card.id,
            card_title=card.title,
            node=visit.node.name,
        )
        records.initialize(tx, card, name, text=text)


def _activation_row(around: Surroundings, visit: Visit, card: Card) -> NewRow:
    """Historical instruction evidence: what was prepared for this activation, once per node visit."""
    return NewRow(
        kind=RowKind.ACTIVATION,
        role=Role.USER,
        content={
            "activation_id": visit.activation.id,
            "run_id": around.run.id,
            "card": {"id": card.id, "type": card.type, "title": card.title},
            "node": visit.node.name,
            "node_text": visit.node.prompt.text,
            "role_text": _instructions(visit, card),
            "entry": visit.activation.entry.value,
            "direction": visit.activation.direction,
            "configuration": around.configuration.digest,
            "tools": [*around.configuration.agents[visit.node.agent].tools, EMIT_RESULT],
        },
    )


def _transition_rows(transition: Transition) -> list[NewRow]:
    rows = [_context(transition.text)] if transition.text is not None else []
    if transition.prompt is not None:
        content = protection.of_prompt(transition.prompt)
        rows.append(NewRow(kind=RowKind.CONTEXT, role=Role.USER, content=content))
    return rows


def _context(text: str) -> NewRow:
    return NewRow(kind=RowKind.CONTEXT, role=Role.USER, content={"text": text})


def _instructions(visit: Visit, card: Card) -> str:
    return prompts.render_agent_prompt(visit.node, card_type=card.type, card_id=card.id, card_title=card.title)


def _activating(visit: Visit, proof: AgentProof) -> Callable[[CallSite, Wanted], Awaitable[Acted]]:
    async def activate(_site: CallSite, wanted: Wanted) -> Acted:
        return await visit.activate(proof, wanted)

    return activate


def _task_host(around: Surroundings, visit: Visit, position: Position, proof: AgentProof) -> TaskHost:
    def prepare(tx: Tx) -> Prepared:
        card = _card(tx, visit.activation)
        return context.prepare(tx, card, visit.kind, node=visit.node, activation=visit.activation)

    async def deliver() -> None:
        """Pending notices reach the recipient before its next turn; nothing is written while none wait."""
        project_id, card_id = around.project.id, visit.activation.card_id
        if not position.recipient or not await around.effects.look(
            lambda tx: notifications.pending(tx, project_id, card_id)
        ):
            return

        def job(tx: Tx, _caller: Caller) -> None:
            waiting = notifications.pending(tx, project_id, card_id)
            rows = acceptance.notice_rows(waiting)
            conversations.append(tx, position.conversation, rows, activation_id=visit.activation.id)
            notifications.remove(tx, _card(tx, visit.activation), waiting)

        await around.effects.act_as(proof, around.scope, job)

    async def finish(call: Finish) -> Verdict:
        return await around.effects.act_as(
            proof, around.scope, lambda tx, _caller: acceptance.finish(tx, position, call)
        )

    return TaskHost(
        gate=around.gate.passed, prepare=prepare, deliver=deliver, finish=finish, halt=partial(halting.halt, around)
    )


def _card(tx: Tx, activation: Activation) -> Card:
    card = cards.read(tx, activation.project_id, activation.card_id)
    if card is None:
        raise LookupError(f"activation {activation.id} names no card")
    return card
