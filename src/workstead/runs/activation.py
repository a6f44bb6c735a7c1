"""An activation: one card carried from an entry of its graph to a terminal; graph position lives only here."""

from collections.abc import Mapping
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from workstead import errors
from workstead.accounts import grants
from workstead.agents.task import Accepted, Blocked, Failed, TaskEnd
from workstead.agents.tools.tool import Acted, ToolResult
from workstead.agents.tools.workbench import Activation as Wanted
from workstead.kernel import faults
from workstead.kernel.access import Agent, AgentProof, Caller
from workstead.kernel.canonical import Json
from workstead.kernel.transaction import Tx
from workstead.logger import get_logger
from workstead.runs import acceptance, actions, activations, context, node, runs
from workstead.runs.activations import Activation
from workstead.runs.context import Transition
from workstead.runs.surroundings import Surroundings
from workstead.work import cards
from workstead.work.cards import Card, Result
from workstead.work.workflow import admission, lifecycle
from workstead.work.workflow.graph import AgentNode, CardType, Edge, NodeTarget, Prompt
from workstead.work.workflow.lifecycle import Entry, Status

_log = get_logger()


@dataclass(frozen=True, kw_only=True)
class CardEnd:
    """How a card's activation ended: done, blocked or failed, with its result."""

    card_id: str
    status: Status
    result: Result


async def run(around: Surroundings, activation: Activation) -> CardEnd:
    """Carry the card to its end. Raises `unauthenticated` when the run was stopped meanwhile.

    Everything the card started ends with this; whatever goes wrong inside becomes the card's failure.
    """
    card = await around.effects.look(lambda tx: _card(tx, activation))
    walk = _Walk(around, activation, kind=around.type_of(card.type))
    try:
        async with anyio.create_task_group() as group:
            end = await walk.run(group)
            # The leader's end ends what it left behind.
            group.cancel_scope.cancel()
    except Exception as failure:  # noqa: BLE001 - whatever a command of the card ran into must not end the server
        stopped, others = _split(failure)
        if stopped is not None and others is None:
            raise stopped from None
        _log.exception("activation failed", id=activation.id)
        return await walk.fail()
    return end


class _Walk:
    """The walk through one graph."""

    def __init__(self, around: Surroundings, activation: Activation, *, kind: CardType) -> None:
        self._around = around
        self._activation = activation
        self._kind = kind
        self._results: dict[str, Result] = {}
        self._ordinal = 0
        self._at = ""

    async def run(self, group: TaskGroup) -> CardEnd:
        """From the entry to a terminal. group: its end ends every command that the card started."""
        workflow = self._kind.workflow
        entry = workflow.entries[self._activation.entry]
        at, transition = entry.node, context.by_entry(self._activation.entry, entry)
        while True:
            self._at = at
            end = await self._visit(at, transition, group=group)
            if not isinstance(end, Accepted):
                return await self._end_by_runtime(at, end)
            self._results[at] = end.result
            if isinstance(end.edge.target, NodeTarget) or end.conditional:
                at, transition = _follow(at, end)
                self._ordinal += 1
                continue
            return await self._ended()

    async def fail(self) -> CardEnd:
        """End the card after something beside its walk broke; an end that was published before stands."""
        if (await self._around.effects.look(self._read_card)).status is not Status.RUNNING:
            return await self._ended()
        trace_id = f"{self._activation.id}:{self._ordinal}"
        reason = f"The step `{self._at}` failed inside the server (id {trace_id})."
        return await self._end_by_runtime(self._at, Failed(reason=reason))

    async def _visit(self, at: str, transition: Transition, *, group: TaskGroup) -> TaskEnd:
        chosen = self._kind.workflow.nodes[at]
        try:
            if isinstance(chosen, AgentNode):
                visit = node.Visit(
                    activation=self._activation,
                    kind=self._kind,
                    node=chosen,
                    ordinal=self._ordinal,
                    transition=transition,
                    results=dict(self._results),
                    activate=self._activate,
                    group=group,
                )
                return await node.run(self._around, visit)
            step = actions.Step(
                activation=self._activation,
                kind=self._kind,
                node=chosen,
                ordinal=self._ordinal,
                results=dict(self._results),
                group=group,
            )
            return await actions.run(self._around, step)
        except errors.Refusal as refusal:
            if refusal.kind is errors.Kind.UNAUTHENTICATED:
                raise
            return Blocked(reason=f"{at}: {refusal.message}")
        except Exception:  # noqa: BLE001 - the agent loop: a broken node is the card's failure, not the server's
            trace_id = f"{self._activation.id}:{self._ordinal}"
            _log.exception("node failed", node=at, id=trace_id)
            return Failed(reason=f"The step `{at}` failed inside the server (id {trace_id}).")

    async def _activate(self, proof: AgentProof, wanted: Wanted) -> Acted:
        """activate_card: admit and open the child in one commit, run it, report its outcome."""

        def admit(tx: Tx, caller: Caller) -> Activation:
            return _open_child(tx, self._around, self._activation, caller=caller, wanted=wanted)

        child = await self._around.effects.act_as(proof, self._around.scope, admit)
        end = await run(self._around, child)
        faults.point("child.done")
        return Acted(result=_child_result(end))

    async def _end_by_runtime(self, at: str, end: TaskEnd) -> CardEnd:
        """The code-owned edges: execution:blocked and execution:failed."""
        status = Status.BLOCKED if isinstance(end, Blocked) else Status.FAILED
        reason = end.reason if not isinstance(end, Accepted) else end.summary
        outcome = Result(executor="runtime", node=at, outcome=f"execution:{status.value}", summary=reason)

        def job(tx: Tx) -> None:
            runs.require_going(tx, self._around.run)
            grants.end_activation(tx, self._activation.id)
            activations.leave(tx, self._activation, ordinal=self._ordinal, outcome=outcome.outcome, summary=reason)
            card = self._read_card(tx)
            acceptance.discard_drafts(tx, card, self._activation)
            acceptance.settle_card(tx, self._around.run, self._activation, card, status=status, outcome=outcome)

        await self._around.effects.settle(self._around.scope, job)
        return CardEnd(card_id=self._activation.card_id, status=status, result=outcome)

    async def _ended(self) -> CardEnd:
        """What the accepted terminal edge has published."""
        card = await self._around.effects.look(self._read_card)
        if card.result is None:
            raise LookupError(f"{card.id} ended without a result")
        return CardEnd(card_id=card.id, status=card.status, result=card.result)

    def _read_card(self, tx: Tx) -> Card:
        return _card(tx, self._activation)


def open_root(tx: Tx, around: Surroundings) -> Activation:
    """Set the project's own card running and open its activation. Raises `conflict` when it has no entry."""
    card = cards.read(tx, around.project.id, "project")
    entry = lifecycle.entry_for(card.status) if card is not None else None
    if card is None or entry is None:
        state = card.status.value if card is not None else "missing"
        message = f"The project's card is {state}; reopen it, then run again."
        raise errors.conflict("project_not_startable", message, status=state)
    return _open(tx, around, card, entry=entry, parent=None, direction=None)


def _split(failure: Exception) -> tuple[errors.Refusal | None, BaseException | None]:
    """The refusal that a stopped run is told by, and whatever else went wrong."""
    if isinstance(failure, errors.Refusal):
        return failure, None
    if not isinstance(failure, ExceptionGroup):
        return None, failure
    refusals, others = failure.split(errors.Refusal)
    return _first(refusals) if refusals is not None else None, others


def _first(group: ExceptionGroup[errors.Refusal]) -> errors.Refusal:
    """The first refusal of a group, however deep it stands."""
    found = group.exceptions[0]
    return _first(found) if isinstance(found, ExceptionGroup) else found


def _open_child(tx: Tx, around: Surroundings, parent: Activation, *, caller: Caller, wanted: Wanted) -> Activation:
    if not isinstance(caller, Agent) or caller.activation_id != parent.id:
        raise errors.unauthenticated("This agent's activation has ended.")
    card = cards.find(tx, around.project, wanted.card_id)
    needed = [cards.row(tx, around.project.id, one) for one in card.depends_on]
    workflow = around.type_of(_type_of(tx, around, parent)).workflow
    types = {
        name
        for each in workflow.nodes.values()
        if isinstance(each, AgentNode) and each.agent == caller.name
        for name in each.activatable_types
    }
    entry = admission.admit_activate(
        admission.Planner(card_id=parent.card_id, activatable_types=tuple(sorted(types))),
        _facts(card.id, kind=card.type, status=card.status),
        dependencies=[_facts(one.id, kind=one.type, status=one.status) for one in needed if one is not None],
    )
    return _open(tx, around, card, entry=entry, parent=parent, direction=wanted.instructions)


def _open(
    tx: Tx, around: Surroundings, card: Card, *, entry: Entry, parent: Activation | None, direction: str | None
) -> Activation:
    cards.set_status(tx, card, Status.RUNNING)
    return activations.open_one(
        tx,
        around.run,
        card_id=card.id,
        parent_id=parent.id if parent is not None else None,
        entry=entry,
        direction=direction,
    )


def _card(tx: Tx, activation: Activation) -> Card:
    card = cards.read(tx, activation.project_id, activation.card_id)
    if card is None:
        raise LookupError(f"activation {activation.id} names no card")
    return card


def _type_of(tx: Tx, around: Surroundings, activation: Activation) -> str:
    card = cards.row(tx, around.project.id, activation.card_id)
    if card is None:
        raise LookupError(f"activation {activation.id} names no card")
    return card.type


def _facts(card_id: str, *, kind: str, status: Status) -> admission.Card:
    return admission.Card(card_id=card_id, card_type=kind, status=status)


def _follow(at: str, end: Accepted) -> tuple[str, Transition]:
    edge: Edge = end.edge
    urls = tuple(export.url for export in end.result.exports)
    if end.conditional and edge.pending_notifications is not None:
        target: str = edge.pending_notifications.node
        prompt: Prompt | None = edge.pending_notifications.prompt
    elif isinstance(edge.target, NodeTarget):
        target, prompt = edge.target.node, edge.prompt
    else:
        raise LookupError(f"{edge.outcome} leads nowhere")
    return target, context.by_edge(node=at, outcome=end.outcome, summary=end.summary, urls=urls, prompt=prompt)


def _child_result(end: CardEnd) -> ToolResult:
    exports: list[Json] = [{"name": one.name, "url": one.url} for one in end.result.exports]
    data: Mapping[str, Json] = {
        "card_id": end.card_id,
        "outcome": end.status.value,
        "summary": end.result.summary,
        "result": {"node": end.result.node, "outcome": end.result.outcome, "records": exports},
    }
    return ToolResult(success=True, data=dict(data))
