"""Acceptance: what must hold before a node's result counts, in the spec's order, and all that follows in one commit.

Gates first, without a write: requirements, freshness of what was reviewed, completion of the cards below, promotion,
exports; then the choice about pending notifications; only then records are closed, the result is settled and, at a
terminal edge, the card's own outcome is published.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from workstead import errors
from workstead.accounts import grants
from workstead.agents import conversations, protection, shown, turns
from workstead.agents.conversations import Conversation, NewRow, RowKind
from workstead.agents.models.shape import Role
from workstead.agents.task import EXHAUSTED, Accepted, Finish, Rejected, Verdict
from workstead.agents.tools import result
from workstead.agents.tools.tool import ToolResult
from workstead.kernel.access import Author
from workstead.kernel.transaction import Tx
from workstead.runs import activations, context
from workstead.runs.activations import Activation
from workstead.runs.context import Snapshot
from workstead.runs.runs import Run
from workstead.work import cards, notifications, records
from workstead.work.cards import Card, Export, Result
from workstead.work.notifications import Notification
from workstead.work.workflow import lifecycle
from workstead.work.workflow.graph import (
    EMIT_RESULT,
    AgentNode,
    AgentSpec,
    Edge,
    Gate,
    Mode,
    TerminalTarget,
)
from workstead.work.workflow.lifecycle import Status


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """Where a required record stood when the node was entered; None: it did not exist."""

    head_id: str | None
    revision: int


@dataclass(kw_only=True)
class Position:
    """A live agent node. baselines and snapshot are replaced when the reviewer is shown something newer.

    results: the latest accepted result of each node of this activation, for promotion.
    """

    run: Run
    activation: Activation
    ordinal: int
    node: AgentNode
    agent: AgentSpec
    grant_id: str
    conversation: Conversation
    recipient: bool
    baselines: dict[str, Baseline]
    snapshot: Snapshot | None
    results: Mapping[str, Result] = field(default_factory=dict)


class _NotYet(Exception):  # noqa: N818 - a gate that is not passed; carries its sentence to the correction
    def __init__(self, sentence: str, *, stale: bool = False) -> None:
        super().__init__(sentence)
        self.stale = stale


def finish(tx: Tx, position: Position, call: Finish) -> Verdict:
    """Judge one emit_result; whatever it comes to stands in the conversation when this returns."""
    said = result.read(call.arguments, outcomes=position.node.outcomes)
    if isinstance(said, result.Correction):
        return _reject(tx, position, call, why=said.sentence)
    card = _card(tx, position)
    edge = position.node.edges[said.outcome]
    try:
        _check(tx, position, card, edge)
    except _NotYet as gate:
        if gate.stale and call.left:
            return _reject_stale(tx, position, card, call)
        return _reject(tx, position, call, why=str(gate))
    pending = notifications.pending(tx, card.project_id, card.id)
    terminal = edge.target if isinstance(edge.target, TerminalTarget) else None
    if terminal is not None and pending and position.recipient:
        return _reject_pending(tx, position, card, call, pending=pending)
    conditional = terminal is not None and bool(pending) and edge.pending_notifications is not None
    return _accept(tx, position, card, call, edge=edge, said=said, conditional=conditional)


def close_drafts(tx: Tx, position: Position, card: Card) -> dict[str, int]:
    """Accept the node's written drafts: requirements in their order, then others this activation opened, by name.

    Returns the accepted number of each record the node required or wrote.
    """
    required = list(position.node.requirements)
    others = [name for name in records.names(tx, card.project_id, card.id) if name not in required]
    author = Author(kind="agent", name=position.agent.name)
    numbers: dict[str, int] = {}
    for name in (*required, *others):
        one = records.read(tx, card.project_id, card.id, name)
        if one is None:
            continue
        if one.draft is not None and _closable(position, name, one.draft, required=name in required):
            one = records.accept_draft(tx, card, one, author=author)
            numbers[name] = one.accepted
        elif name in required and one.accepted:
            numbers[name] = one.accepted
    return numbers


def discard_drafts(tx: Tx, card: Card, activation: Activation) -> None:
    """Drop the drafts that an activation opened and nobody accepted, by name."""
    for name in records.names(tx, card.project_id, card.id):
        one = records.read(tx, card.project_id, card.id, name)
        if one is not None and one.draft is not None and one.draft.opened_at >= activation.opened_at:
            records.discard(tx, one)


def prepare_requirements(tx: Tx, card: Card, node: AgentNode) -> dict[str, Baseline]:
    """Open what a node wants clean and note where each required record stands."""
    for name, requirement in node.requirements.items():
        if requirement.mode is Mode.CLEAN:
            records.open_draft(tx, card, name)
    return {name: baseline_of(tx, card, name) for name in node.requirements}


def baseline_of(tx: Tx, card: Card, name: str) -> Baseline:
    """Where a record stands now."""
    one = records.read(tx, card.project_id, card.id, name)
    if one is None:
        return Baseline(head_id=None, revision=0)
    return Baseline(head_id=one.head.head_id, revision=one.head.revision)


def settle_card(tx: Tx, run: Run, activation: Activation, card: Card, *, status: Status, outcome: Result) -> None:
    """The end of an activation: queue cleared, card settled, activation closed, in the caller's transaction."""
    card = notifications.remove(tx, card, notifications.pending(tx, card.project_id, card.id))
    cards.settle(tx, card, status, outcome)
    activations.close(tx, run, activation, ending=status.value)


def _closable(position: Position, name: str, draft: records.Draft, *, required: bool) -> bool:
    if draft.version == 0 or not draft.content.strip():
        return False
    return required or (position.agent.may_write(name) and draft.opened_at >= position.activation.opened_at)


def _check(tx: Tx, position: Position, card: Card, edge: Edge) -> None:
    """Every gate that reads only; raises _NotYet with what is missing."""
    for name, requirement in position.node.requirements.items():
        _check_requirement(tx, position, card, name, gate=requirement.gate)
    wanted = position.node.descendant_context
    if wanted is not None and wanted.require_unchanged_until_accept:
        _, now, _ = context.descendants(tx, card, wanted)
        if now != position.snapshot:
            raise _NotYet("Something below this card changed since you read it.", stale=True)
    if not isinstance(edge.target, TerminalTarget):
        return
    if edge.target.status.value == "DONE":
        _check_completion(tx, card)
    promote = edge.target.promote_node
    if promote is not None and promote not in position.results:
        raise _NotYet(f"{edge.outcome} needs an accepted result of the step `{promote}` in this activation.")
    for name in edge.target.export_records:
        one = records.read(tx, card.project_id, card.id, name)
        if one is None or not _authored(tx, one):
            raise _NotYet(f"{edge.outcome} hands up {name}, which has no text yet; write it first.")


def _check_requirement(tx: Tx, position: Position, card: Card, name: str, *, gate: Gate) -> None:
    one = records.read(tx, card.project_id, card.id, name)
    if one is None or not _authored(tx, one):
        raise _NotYet(f"This step needs {name}, and it has no written text; write {records.url(card.id, name)}.")
    if gate is Gate.UPDATED:
        was = position.baselines[name]
        if one.head.head_id == was.head_id or one.head.revision <= was.revision:
            raise _NotYet(f"This step needs {name} brought up to date; write {records.url(card.id, name)}.")


def _authored(tx: Tx, one: records.Record) -> bool:
    now = records.effective(tx, one)
    return now is not None and now.version > 0 and bool(now.content.strip())


def _check_completion(tx: Tx, card: Card) -> None:
    open_ones = [
        child.id for child in cards.children(tx, card.project_id, card.id) if not lifecycle.is_terminal(child.status)
    ]
    if open_ones:
        raise _NotYet(f"A card ends DONE only when its children have ended; still open: {', '.join(open_ones)}.")


def _accept(
    tx: Tx,
    position: Position,
    card: Card,
    call: Finish,
    *,
    edge: Edge,
    said: result.NodeResult,
    conditional: bool,
) -> Accepted:
    numbers = close_drafts(tx, position, card)
    outcome = Result(
        executor=f"agent:{position.agent.name}",
        node=position.node.name,
        outcome=said.outcome,
        summary=said.summary,
        exports=_exports(card, numbers, tuple(numbers)),
    )
    _append(tx, position, [_settled(call, ToolResult(success=True, data={"accepted": True}))])
    activations.leave(tx, position.activation, ordinal=position.ordinal, outcome=said.outcome, summary=said.summary)
    grants.end(tx, position.grant_id)
    if isinstance(edge.target, TerminalTarget) and not conditional:
        counted = position.results[edge.target.promote_node] if edge.target.promote_node is not None else outcome
        published = Result(
            executor=counted.executor,
            node=counted.node,
            outcome=counted.outcome,
            summary=counted.summary,
            exports=_exports(card, numbers, edge.target.export_records),
        )
        status = Status(edge.target.status.value.lower())
        settle_card(tx, position.run, position.activation, _card(tx, position), status=status, outcome=published)
    return Accepted(edge=edge, outcome=said.outcome, summary=said.summary, conditional=conditional, result=outcome)


def _exports(card: Card, numbers: Mapping[str, int], names: tuple[str, ...]) -> tuple[Export, ...]:
    return tuple(
        Export(name=name, version=numbers[name], url=records.url(card.id, name, version=numbers[name]))
        for name in names
        if name in numbers
    )


def _reject(tx: Tx, position: Position, call: Finish, *, why: str) -> Rejected:
    if not call.left:
        # Nothing is delivered, shown or asked any more: the step ends here.
        _append(tx, position, [_settled(call, ToolResult(success=False, error=EXHAUSTED))])
        return Rejected(reason=EXHAUSTED)
    rows = [
        _settled(call, ToolResult(success=False, error=why)),
        *turns.correction_rows(position.node.correction_prompt, why=why, left=call.left - 1),
    ]
    _append(tx, position, rows)
    return Rejected(reason=why)


def _reject_stale(tx: Tx, position: Position, card: Card, call: Finish) -> Rejected:
    """Drop the verdict on what is gone and show what is there now."""
    wanted = position.node.descendant_context
    if wanted is None:
        raise LookupError("freshness was judged without a selection")
    for name, requirement in position.node.requirements.items():
        if requirement.mode is Mode.CLEAN:
            records.open_draft(tx, card, name)
    position.baselines = {name: baseline_of(tx, card, name) for name in position.node.requirements}
    text, position.snapshot, below = context.descendants(tx, card, wanted)
    why = "Something below this card changed since you read it; your open review was discarded. Judge it as it is now."
    _append(
        tx,
        position,
        [
            _settled(call, ToolResult(success=False, error=why)),
            NewRow(kind=RowKind.CONTEXT, role=Role.USER, content={"text": text}),
            *([shown.new_row(below)] if below else []),
            *turns.correction_rows(position.node.correction_prompt, why=why, left=call.left - 1),
        ],
    )
    return Rejected(reason=why)


def _reject_pending(
    tx: Tx, position: Position, card: Card, call: Finish, *, pending: tuple[Notification, ...]
) -> Rejected:
    """Notices defeat the result: deliver exactly these, remove exactly these, consider again."""
    why = f"New notices arrived before {EMIT_RESULT} was accepted; read them and decide again."
    if not call.left:
        return _reject(tx, position, call, why=why)
    failed = ToolResult(success=False, error=why, data={"reason": "pending_notifications"})
    _append(
        tx,
        position,
        [
            _settled(call, failed),
            *notice_rows(pending),
            *turns.correction_rows(position.node.correction_prompt, why=why, left=call.left - 1),
        ],
    )
    notifications.remove(tx, card, pending)
    return Rejected(reason=why)


def notice_rows(pending: tuple[Notification, ...]) -> list[NewRow]:
    """Notices as rows, in order."""
    return [
        NewRow(
            kind=RowKind.NOTIFICATION,
            role=Role.USER,
            content=protection.of_person(f"Notice ({one.source}, {one.created_at}): {one.content}") | {"id": one.id},
        )
        for one in pending
    ]


def _settled(call: Finish, settled: ToolResult) -> NewRow:
    return turns.result_row(call.row_id, call_id=call.call_id, name=EMIT_RESULT, result=settled)


def _append(tx: Tx, position: Position, rows: list[NewRow]) -> None:
    conversations.append(tx, position.conversation, rows, activation_id=position.activation.id)


def _card(tx: Tx, position: Position) -> Card:
    card = cards.read(tx, position.activation.project_id, position.activation.card_id)
    if card is None or card.status is not Status.RUNNING:
        raise errors.conflict("card_not_running", f"{position.activation.card_id} is not running any more.")
    return card
