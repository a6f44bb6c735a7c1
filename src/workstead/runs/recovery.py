"""Recovery: what was interrupted is settled leaf to root and never replayed; the same code at start and at Run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workstead.accounts import grants
from workstead.accounts.projects import Project
from workstead.agents import conversations, exchanges, process_rows, turns
from workstead.agents.conversations import Conversation, NewRow, RowKind
from workstead.agents.models.shape import Role
from workstead.agents.tools import activate
from workstead.agents.tools.tool import ToolResult
from workstead.kernel import canonical, faults
from workstead.kernel.canonical import Json
from workstead.kernel.effects import Effects, Ended
from workstead.kernel.transaction import Tx
from workstead.runs import activations, runs
from workstead.runs.runs import Ending, Run, Wanted
from workstead.work import cards
from workstead.work.cards import CardRow
from workstead.work.workflow import identity
from workstead.work.workflow.lifecycle import Status
from workstead.workspace import child, processes
from workstead.workspace.child import Ending as ProcessEnding

_CHANGES_NOTHING = frozenset(
    {
        "diff_card_versions",
        "get_card",
        "get_card_version",
        "get_tree",
        "glob",
        "grep",
        "list_card_versions",
        "list_cards",
        "read",
        "read_record_version",
        "wait_process",
    }
)
_NOTICE = (
    "What this conversation was doing was interrupted. Calls without a recorded result may or may not have had an "
    "effect and will not be repeated; look before you act again."
)


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """What a recovery found. processes: how many left-over processes were proven gone."""

    cards: tuple[str, ...]
    processes: int


async def settle(effects: Effects, project: Project, *, run: Run | None) -> Recovered:
    """Settle everything of a project that no live activation owns: processes, effects, conversations, cards.

    run: the run whose rows are closed with it; None when only cards are to be put right. Raises whatever the store
    raises; then what was settled stays settled and the next start goes on from there.
    """
    gone = await _end_processes(effects, project)
    await effects.settle(project.scope, lambda tx: _settle_effects(tx, effects, project, run))
    running = await effects.read(lambda tx: cards.with_status(tx, project.id, Status.RUNNING))
    deepest_first = sorted(running, key=lambda row: identity.creation_order(row.id), reverse=True)
    deepest_first.sort(key=lambda row: identity.depth_of(row.id), reverse=True)
    for index, row in enumerate(deepest_first):
        if index:
            faults.point("recovery.half")
        await effects.settle(project.scope, _stop(project, row, run))
    return Recovered(cards=tuple(row.id for row in deepest_first), processes=gone)


def settle_calls(tx: Tx, conversation: Conversation, *, activation_id: str) -> int:
    """Give every call of the last answer that has no result its one permanent result; returns how many."""
    open_calls = conversations.open_calls(tx, conversation)
    if not open_calls:
        return 0
    rows = [_settled(tx, conversation, row) for row in open_calls]
    conversations.append(tx, conversation, [*rows, _notice()], activation_id=activation_id)
    return len(open_calls)


async def interrupted_run(effects: Effects, project: Project, run: Run) -> Recovered:
    """Settle a run whose server is gone, and end it: a restart starts nothing. One that was to stop has stopped."""
    recovered = await settle(effects, project, run=run)
    stopping = run.wanted is Wanted.STOP
    ending = Ending.STOPPED if stopping else Ending.INTERRUPTED
    how = "The server went away while it stopped" if stopping else "The server went away"

    def job(tx: Tx) -> None:
        runs.end(tx, run, ending, reason=f"{how}; what ran was settled. Run again to go on.")

    await effects.settle(project.scope, job)
    return recovered


async def _end_processes(effects: Effects, project: Project) -> int:
    """Prove that no process of an earlier start is alive, and say so in its row."""
    left = await effects.read(lambda tx: _left_over(tx, effects, project))
    for row in left:
        proven = child.prove_ended(row.birth)
        reason = "the server went away; its result is unknown" if proven else "it could not be proven gone"
        ended = processes.Ended(ending=ProcessEnding(kind="killed", reason=reason))

        def job(tx: Tx, row: process_rows.ProcessRow = row, ended: processes.Ended = ended) -> None:
            process_rows.end(tx, scope=project.scope, card_id=row.card_id, process_id=row.id, ended=ended)

        await effects.settle(project.scope, job)
    return len(left)


def _left_over(tx: Tx, effects: Effects, project: Project) -> tuple[process_rows.ProcessRow, ...]:
    """What nobody looks after: a command of an assistant is looked after by its effect, also while a run starts."""
    rows = process_rows.unended(tx, project.id)
    return tuple(row for row in rows if not effects.under_way(tx, row.activation_id))


def _settle_effects(tx: Tx, effects: Effects, project: Project, run: Run | None) -> None:
    """Claims of a start that is gone are unknown; the run's agents may do nothing any more."""
    for one in effects.unsettled(tx, project.scope):
        effects.end(tx, project.scope, one.id, ended=Ended.UNKNOWN, subject=one.subject)
    exchanges.end_unknown(tx, project.id)
    if run is not None:
        grants.end_run(tx, run.id)


def _stop(project: Project, row: CardRow, run: Run | None) -> Callable[[Tx], None]:
    def job(tx: Tx) -> None:
        card = cards.read(tx, project.id, row.id)
        if card is None or card.status is not Status.RUNNING:
            return
        open_ones = [one for one in activations.of_card(tx, project.id, row.id) if one.closed_at is None]
        activation_id = open_ones[-1].id if open_ones else ""
        agent = _at_work(tx, activation_id)
        for conversation in conversations.of_card(tx, project.id, row.id):
            settled = settle_calls(tx, conversation, activation_id=activation_id)
            if not settled and conversation.agent == agent:
                # It waited for its model: no call to settle, but it must know that it was interrupted.
                conversations.append(tx, conversation, [_notice()], activation_id=activation_id)
        for one in open_ones:
            owner = run if run is not None and run.id == one.run_id else runs.read(tx, one.run_id)
            if owner is not None:
                activations.close(tx, owner, one, ending=Status.STOPPED.value)
        cards.set_status(tx, card, Status.STOPPED)

    return job


def _at_work(tx: Tx, activation_id: str) -> str | None:
    """The agent whose node had been entered and not left."""
    visits = activations.visits(tx, activation_id)
    if not visits or visits[-1].outcome is not None:
        return None
    kind, _, name = visits[-1].executor.partition(":")
    return name if kind == "agent" else None


def _notice() -> NewRow:
    return NewRow(kind=RowKind.RECOVERED, role=Role.USER, content={"text": _NOTICE})


def _settled(tx: Tx, conversation: Conversation, row: conversations.Row) -> NewRow:
    content = row.content if isinstance(row.content, dict) else {}
    child = _activated(tx, conversation, content) if row.tool == activate.NAME else None
    if child is not None:
        # Not unknown: what the child came to stands on its card.
        error = f"{row.tool} was interrupted; {child.id} is {child.status.value} now. Look at it before you go on."
        data: Json = {"interrupted": True, "card_id": child.id, "outcome": child.status.value}
        outcome = ToolResult(success=False, error=error, data=data)
    elif row.tool in _CHANGES_NOTHING:
        error = f"{row.tool} was interrupted; nothing was changed. Call it again if you still need it."
        outcome = ToolResult(success=False, error=error, data={"interrupted": True})
    else:
        error = (
            "The activation ended without a recorded result. Effects may or may not have happened; the call will "
            "not be repeated."
        )
        outcome = ToolResult(success=False, error=error, data={"outcome_unknown": True})
    call_id = str(content.get("id", ""))
    return turns.result_row(row.call_id or "", call_id=call_id, name=row.tool or "", result=outcome)


def _activated(tx: Tx, conversation: Conversation, content: Mapping[str, Json]) -> CardRow | None:
    """The card that an activate_card names, if its arguments can be read and there is one."""
    try:
        arguments = canonical.parse(str(content.get("arguments")))
    except ValueError:
        return None
    card_id = arguments.get("card_id") if isinstance(arguments, dict) else None
    return cards.row(tx, conversation.project_id, card_id) if isinstance(card_id, str) else None
