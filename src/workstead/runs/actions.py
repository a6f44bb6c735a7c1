"""Action nodes: a step done by a contained command; its outcome is what was observed, never what was hoped for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from anyio.abc import TaskGroup

from workstead import errors
from workstead.agents import process_rows
from workstead.agents.task import Accepted, Failed, TaskEnd
from workstead.kernel import faults
from workstead.kernel.access import Author
from workstead.kernel.transaction import Tx
from workstead.runs import acceptance, activations, runs
from workstead.runs.activations import Activation
from workstead.runs.surroundings import Surroundings
from workstead.work import cards, notifications, records
from workstead.work.cards import Card, Export, Result
from workstead.work.workflow import lifecycle
from workstead.work.workflow.graph import ActionNode, CardFact, CardType, Edge, TerminalTarget
from workstead.work.workflow.lifecycle import Status
from workstead.workspace import processes
from workstead.workspace.child import Birth
from workstead.workspace.processes import Ended, ProcessView
from workstead.workspace.spec import Command

OUTPUT_LIMIT_BYTES = records.LIMIT_BYTES


@dataclass(frozen=True, kw_only=True)
class Step:
    """What an action node is entered with."""

    activation: Activation
    kind: CardType
    node: ActionNode
    ordinal: int
    results: Mapping[str, Result]
    group: TaskGroup


@dataclass(frozen=True, kw_only=True)
class _Observed:
    outcome: str
    fields: Mapping[str, int]
    summary: str


async def run(around: Surroundings, step: Step) -> TaskEnd:
    """Run the command, observe its end, take its edge."""
    card = await around.effects.settle(around.scope, lambda tx: _enter(tx, around, step))
    view, timed_out = await _execute(around, step, card)
    if view.status == "failed":
        return Failed(reason=f"The action of `{step.node.name}` could not be started: {view.reason}")
    seen = _observed(view, timed_out=timed_out)
    output = _read_output(around, step, view)
    return await around.effects.settle(around.scope, lambda tx: _settle(tx, around, step, seen=seen, output=output))


def _enter(tx: Tx, around: Surroundings, step: Step) -> Card:
    runs.require_going(tx, around.run)
    card = _card(tx, step.activation)
    executor = f"action:{step.node.action}"
    activations.enter(tx, around.run, step.activation, ordinal=step.ordinal, node=step.node.name, executor=executor)
    if step.node.output_record is not None:
        one = records.read(tx, card.project_id, card.id, step.node.output_record)
        if one is not None and one.draft is not None:
            message = f"{step.node.output_record} has an open draft; the action's output cannot replace it."
            raise errors.conflict("record_draft_open", message)
    return card


async def _execute(around: Surroundings, step: Step, card: Card) -> tuple[ProcessView, bool]:
    """The command to its end; whether it was ended by its deadline."""
    given = step.node.input
    facts = {
        CardFact.CARD_ID: card.id,
        CardFact.CARD_TITLE: card.title,
        CardFact.CARD_TYPE: card.type,
        CardFact.NODE_ID: step.node.name,
    }
    words = [facts[arg] if isinstance(arg, CardFact) else arg for arg in given.args]
    shell = ("bash", "--noprofile", "--norc", "-o", "pipefail", "-c", given.script, "workstead-action")
    process_id = processes.new_id()
    owner = f"{step.activation.id}:{step.ordinal}"

    async def stored(_process_id: str, birth: Birth) -> None:
        faults.point("process.spawned")
        started = process_rows.Started(
            id=process_id,
            scope=around.scope,
            project_id=around.project.id,
            card_id=card.id,
            activation_id=step.activation.id,
            command=given.script,
            cwd=given.cwd,
            birth=birth,
        )
        await around.effects.settle(around.scope, lambda tx: process_rows.add(tx, started))

    async def told(_process_id: str, ended: Ended) -> None:
        faults.point("process.ended")

        def job(tx: Tx) -> None:
            process_rows.end(tx, scope=around.scope, card_id=card.id, process_id=process_id, ended=ended)

        await around.effects.settle(around.scope, job)

    command = Command(
        folder=around.folder.root,
        argv=(*shell, *words),
        cwd=given.cwd,
        network=given.network.value,
        environment={"WORKSTEAD_PROCESS_ID": process_id, "WORKSTEAD_CARD": card.id, **given.env},
    )
    await around.processes.start(
        command,
        owner=owner,
        card=card.id,
        stored=stored,
        told=told,
        group=step.group,
        process_id=process_id,
    )
    view = await around.processes.wait(process_id, owner=owner, timeout_s=given.timeout_s)
    if view.status != "running":
        return view, False
    return await around.processes.kill(process_id, owner=owner, grace_s=given.grace_s), True


def _observed(view: ProcessView, *, timed_out: bool) -> _Observed:
    if timed_out:
        return _Observed(outcome="timed_out", fields={}, summary="The command was ended at its deadline.")
    if view.exit_code is None:
        return _Observed(outcome="signalled", fields={}, summary=f"The command ended by {view.reason}.")
    outcome = "passed" if view.exit_code == 0 else "failed"
    fields = {"exit_code": view.exit_code}
    return _Observed(outcome=outcome, fields=fields, summary=f"The command ended with exit code {view.exit_code}.")


def _read_output(around: Surroundings, step: Step, view: ProcessView) -> str | None:
    """The whole standard output where the node keeps it as a record."""
    if step.node.output_record is None:
        return None
    if not view.stdout.complete:
        raise errors.conflict("output_incomplete", "The command printed more than is kept; it cannot be a record.")
    raw = around.folder.read(view.stdout.path, limit_bytes=OUTPUT_LIMIT_BYTES)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise errors.invalid("output_not_utf8", "The command's output is not UTF-8; it cannot be a record.") from None
    if "\0" in text or not text.strip():
        raise errors.invalid("output_not_text", "The command's output is empty or holds NUL; it cannot be a record.")
    return text


def _settle(tx: Tx, around: Surroundings, step: Step, *, seen: _Observed, output: str | None) -> TaskEnd:
    runs.require_going(tx, around.run)
    card = _card(tx, step.activation)
    exports: tuple[Export, ...] = ()
    executor = f"action:{step.node.action}"
    if output is not None and step.node.output_record is not None:
        name = step.node.output_record
        author = Author(kind="action", name=step.node.action)
        kept = records.accept_text(tx, card, name, text=output, author=author, keep_equal=True)
        exports = (Export(name=name, version=kept.accepted, url=records.url(card.id, name, version=kept.accepted)),)
    edge = step.node.edges[seen.outcome].choose(seen.fields)
    outcome = Result(
        executor=executor, node=step.node.name, outcome=seen.outcome, summary=seen.summary, exports=exports
    )
    waiting = _missing(tx, card, step, edge)
    if waiting is not None:
        return Failed(reason=waiting)
    activations.leave(tx, step.activation, ordinal=step.ordinal, outcome=seen.outcome, summary=seen.summary)
    target = edge.target
    pending = notifications.pending(tx, card.project_id, card.id)
    conditional = isinstance(target, TerminalTarget) and bool(pending) and edge.pending_notifications is not None
    if isinstance(target, TerminalTarget) and not conditional:
        counted = step.results[target.promote_node] if target.promote_node is not None else outcome
        published = replace(counted, exports=tuple(one for one in exports if one.name in target.export_records))
        status = Status(target.status.value.lower())
        acceptance.settle_card(tx, around.run, step.activation, card, status=status, outcome=published)
    return Accepted(edge=edge, outcome=seen.outcome, summary=seen.summary, result=outcome, conditional=conditional)


def _missing(tx: Tx, card: Card, step: Step, edge: Edge) -> str | None:
    """Why a terminal edge cannot be taken; an action has nobody who could correct it."""
    if not isinstance(edge.target, TerminalTarget):
        return None
    promote = edge.target.promote_node
    if promote is not None and promote not in step.results:
        return f"`{step.node.name}` promotes `{promote}`, which has no accepted result in this activation."
    if edge.target.status.value != "DONE":
        return None
    below = cards.children(tx, card.project_id, card.id)
    still = [child.id for child in below if not lifecycle.is_terminal(child.status)]
    return f"`{step.node.name}` would end DONE while {', '.join(still)} have not ended." if still else None


def _card(tx: Tx, activation: Activation) -> Card:
    card = cards.read(tx, activation.project_id, activation.card_id)
    if card is None:
        raise LookupError(f"activation {activation.id} names no card")
    return card
