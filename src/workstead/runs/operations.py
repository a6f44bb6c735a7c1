"""Operations of runs: start, pause, resume, stop, and what a person reads of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import Field, JsonValue

from workstead import errors
from workstead.accounts import projects
from workstead.accounts.projects import Project
from workstead.agents import conversations, process_rows, reasoning
from workstead.agents.conversations import Row, RowKind
from workstead.kernel import evidence
from workstead.kernel.access import Assistant, Caller, Permission, Person
from workstead.kernel.operations import AnyOperation, Door, Effect, Operation
from workstead.kernel.transaction import Tx
from workstead.runs import activations, refusal_history, runs
from workstead.runs.activations import Activation, Visit
from workstead.runs.runs import Ending, Run, State, Wanted
from workstead.work import cards, configurations, pages
from workstead.work import configuration as compiler
from workstead.work.configurations import Gathered
from workstead.work.pages import PageRead, Slice
from workstead.work.rules import PEOPLES_DOORS, ProjectRead, ProjectWrite, lock
from workstead.work.workflow import identity
from workstead.work.workflow.lifecycle import Status, entry_for

_PAGE_ROWS = 100


class StartRun(ProjectWrite):
    """Start work on the project's own card."""


class ControlRun(ProjectWrite):
    """Control the project's live run."""


class GetRun(ProjectRead):
    """The live run, or the newest one."""


class ListRuns(ProjectRead):
    """The newest runs first."""

    offset: int = Field(default=0, ge=0, description="How many to pass over.")


class OfCard(ProjectRead):
    """What belongs to one card."""

    card_id: str = Field(description="The card.")


class ListOfCard(PageRead):
    """What belongs to one card, a page at a time."""

    card_id: str = Field(description="The card.")


class ReadConversation(OfCard):
    """Rows of an agent's conversation on a card."""

    agent: str = Field(description="The agent's name.")
    after: int = Field(default=0, ge=0, description="The number of the last row seen.")


class ListEvidence(ProjectRead):
    """Append-only facts, newest first."""

    lane: evidence.Lane = Field(default=evidence.Lane.CONTROL, description="control, events or outside.")
    before: str = Field(default="~", description="The id of the last one seen.")


@dataclass(frozen=True, kw_only=True)
class RunView:
    """A run as people see it. running: the cards that have a live activation, root first."""

    id: str
    project_id: str
    state: State
    wanted: Wanted
    person: str
    configuration: str
    created_at: str
    ended_at: str | None
    ending: Ending | None
    reason: str | None
    notice: str | None
    running: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RunList:
    """Runs, newest first. next: pass it as offset; None at the end."""

    runs: tuple[RunView, ...]
    next: int | None


@dataclass(frozen=True, kw_only=True)
class ActivationView:
    """One activation of a card with the nodes it visited."""

    id: str
    run_id: str
    entry: str
    direction: str | None
    opened_at: str
    closed_at: str | None
    ending: str | None
    visits: tuple[Visit, ...]


@dataclass(frozen=True, kw_only=True)
class ActivationList:
    """A card's activations, oldest first. total: of all pages. next: pass it as position; None at the end."""

    card_id: str
    activations: tuple[ActivationView | Slice, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class ConversationView:
    """A conversation without its rows."""

    agent: str
    card_id: str
    rows: int
    started_at: str


@dataclass(frozen=True, kw_only=True)
class ConversationList:
    """The conversations on a card. total: of all pages. next: pass it as position; None at the end."""

    conversations: tuple[ConversationView | Slice, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class RowView:
    """A row as people read it."""

    number: int
    kind: str
    role: str
    at: str
    activation_id: str
    call_id: str | None
    tool: str | None
    content: JsonValue


@dataclass(frozen=True, kw_only=True)
class RowPage:
    """Rows in order. next: pass it as `after`; None at the end."""

    rows: tuple[RowView, ...]
    next: int | None


@dataclass(frozen=True, kw_only=True)
class ProcessList:
    """A card's commands, oldest first. total: of all pages. next: pass it as position; None at the end."""

    processes: tuple[process_rows.ProcessRow | Slice, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class FactView:
    """A fact as people read it."""

    id: str
    at: str
    event: str
    actor: str
    subject: str
    detail: dict[str, JsonValue]


@dataclass(frozen=True, kw_only=True)
class EvidenceList:
    """Facts, newest first. next: pass it as before; None at the end."""

    facts: tuple[FactView, ...]
    next: str | None


def gather(tx: Tx, caller: Caller, args: StartRun) -> Gathered:
    """What stands in the folder now; compiled once, here, and pinned for the run."""
    project = projects.visible(tx, caller, args.project)
    return configurations.gather(Path(project.folder))


def start(tx: Tx, caller: Caller, args: StartRun) -> RunView:
    """Write the run that a supervisor picks up.

    Raises `configuration_invalid`, `configuration_untrusted` (what is new, and its digest), `type_missing`,
    `project_not_startable`, `run_live`.
    """
    project = projects.visible(tx, caller, args.project)
    found = cast("Gathered", tx.gathered)
    compiled = found.require()
    asks = compiler.needs_trust(compiled.configuration)
    if asks and not configurations.trusted(tx, project.id, found.digest):
        raise errors.Refusal(
            kind=errors.Kind.NEEDS_REVIEW,
            code="configuration_untrusted",
            message="The project's configuration is new here; look at what it asks for and trust it, then run.",
            details={"digest": found.digest, "needs_trust": list(asks)},
        )
    _check_types(tx, project, frozenset(compiled.configuration.card_types))
    _check_root(tx, project)
    person = caller.owner if isinstance(caller, Assistant) else caller
    if not isinstance(person, Person):
        raise errors.denied("run_needs_person", "A run is started for a person, whose rights its agents borrow.")
    digest = configurations.keep(tx, found.sources)
    made = runs.add(tx, project, person=person, configuration=digest)
    _noted(tx, project, caller, event="runs:run:started", one=made)
    return _view(tx, made)


def pause(tx: Tx, caller: Caller, args: ControlRun) -> RunView:
    """Hold the next model call; what is going on goes on."""
    project, one = _live(tx, caller, args.project)
    if one.wanted is Wanted.STOP:
        raise errors.conflict("run_stopping", "The run is stopping already.")
    _noted(tx, project, caller, event="runs:run:paused", one=one)
    return _view(tx, runs.want(tx, one, Wanted.PAUSE))


def resume(tx: Tx, caller: Caller, args: ControlRun) -> RunView:
    """Let a paused run go on."""
    project, one = _live(tx, caller, args.project)
    if one.wanted is not Wanted.PAUSE:
        raise errors.conflict("run_not_paused", f"The run is {one.state.value}, not paused.", state=one.state.value)
    _noted(tx, project, caller, event="runs:run:resumed", one=one)
    return _view(tx, runs.want(tx, one, Wanted.RUN))


def stop(tx: Tx, caller: Caller, args: ControlRun) -> RunView:
    """Contain everything the run started and end it; asked again, it is the same stop."""
    project, one = _live(tx, caller, args.project)
    _noted(tx, project, caller, event="runs:run:stopped", one=one)
    return _view(tx, runs.want(tx, one, Wanted.STOP))


def get(tx: Tx, caller: Caller, args: GetRun) -> RunView:
    """The live run, else the newest. Raises `not_found` when the project was never run."""
    project = projects.visible(tx, caller, args.project)
    newest = runs.newest(tx, project.id, limit=1)
    if not newest:
        raise errors.not_found("run", project.slug)
    return _view(tx, newest[0])


def listed(tx: Tx, caller: Caller, args: ListRuns) -> RunList:
    """A page of runs."""
    project = projects.visible(tx, caller, args.project)
    found = runs.newest(tx, project.id, limit=_PAGE_ROWS + 1, offset=args.offset)
    more = args.offset + _PAGE_ROWS if len(found) > _PAGE_ROWS else None
    return RunList(runs=tuple(_view(tx, one) for one in found[:_PAGE_ROWS]), next=more)


def card_activations(tx: Tx, caller: Caller, args: ListOfCard) -> ActivationList:
    """A page of what was done on a card, activation by activation."""
    project = projects.visible(tx, caller, args.project)
    card_id = identity.check_card_id(args.card_id)

    def shown(one: Activation) -> ActivationView:
        return ActivationView(
            id=one.id,
            run_id=one.run_id,
            entry=one.entry.value,
            direction=one.direction,
            opened_at=one.opened_at,
            closed_at=one.closed_at,
            ending=one.ending,
            visits=activations.visits(tx, one.id),
        )

    page = pages.fit(pages.Lazy(activations.of_card(tx, project.id, card_id), shown), args, beside=card_id)
    return ActivationList(card_id=card_id, activations=page.items, total=page.total, next=page.next)


def card_conversations(tx: Tx, caller: Caller, args: ListOfCard) -> ConversationList:
    """Which agents have spoken on a card."""
    project = projects.visible(tx, caller, args.project)
    found = conversations.of_card(tx, project.id, identity.check_card_id(args.card_id))
    page = pages.fit(
        [
            ConversationView(agent=one.agent, card_id=one.card_id, rows=one.rows, started_at=one.started_at)
            for one in found
        ],
        args,
    )
    return ConversationList(conversations=page.items, total=page.total, next=page.next)


def read_conversation(tx: Tx, caller: Caller, args: ReadConversation) -> RowPage:
    """A page of a conversation."""
    project = projects.visible(tx, caller, args.project)
    conversation_id = conversations.identity(project.id, agent=args.agent, card_id=args.card_id)
    if conversations.read(tx, conversation_id) is None:
        raise errors.not_found("conversation", f"{args.agent} on {args.card_id}")
    rows = conversations.rows_after(tx, conversation_id, after=args.after, limit=_PAGE_ROWS)
    more = rows[-1].number if len(rows) == _PAGE_ROWS else None
    return RowPage(rows=tuple(_row(row) for row in rows), next=more)


def card_processes(tx: Tx, caller: Caller, args: ListOfCard) -> ProcessList:
    """A page of the commands that were run for a card."""
    project = projects.visible(tx, caller, args.project)
    page = pages.fit(process_rows.of_card(tx, project.id, identity.check_card_id(args.card_id)), args)
    return ProcessList(processes=page.items, total=page.total, next=page.next)


def list_evidence(tx: Tx, caller: Caller, args: ListEvidence) -> EvidenceList:
    """A page of facts."""
    project = projects.visible(tx, caller, args.project)
    found = evidence.listed(tx, project.scope, args.lane, before=args.before, limit=_PAGE_ROWS + 1)
    return EvidenceList(
        facts=tuple(
            FactView(
                id=one.id,
                at=one.at,
                event=one.event,
                actor=one.actor,
                subject=one.subject,
                detail=cast("dict[str, JsonValue]", dict(one.detail)),
            )
            for one in found[:_PAGE_ROWS]
        ),
        next=found[_PAGE_ROWS - 1].id if len(found) > _PAGE_ROWS else None,
    )


def resting(tx: Tx, project: Project) -> bool:
    """Whether no run of the project is going, or it is paused: when people may change its cards."""
    one = runs.live(tx, project.id)
    return one is None or one.state is State.PAUSED


def _live(tx: Tx, caller: Caller, name: str) -> tuple[Project, Run]:
    project = projects.visible(tx, caller, name)
    one = runs.live(tx, project.id)
    if one is None:
        raise errors.conflict("run_not_live", f"{project.name} is not running.")
    return project, one


def _check_types(tx: Tx, project: Project, types: frozenset[str]) -> None:
    """A card whose type is gone refuses the run (S18)."""
    for row in cards.rows(tx, project.id):
        if row.type not in types:
            message = f"{row.id} is of the type {row.type!r}, which the configuration no longer has."
            raise errors.conflict("type_missing", message, card_id=row.id, type=row.type)


def _check_root(tx: Tx, project: Project) -> None:
    root = cards.row(tx, project.id, identity.ROOT)
    # A running card without a live run is what a stop or a crash left; it enters as stopped.
    if root is None or (root.status is not Status.RUNNING and entry_for(root.status) is None):
        state = root.status.value if root is not None else "missing"
        message = f"The project's card is {state}; reopen it or change its brief, then run again."
        raise errors.conflict("project_not_startable", message, status=state)


def _noted(tx: Tx, project: Project, caller: Caller, *, event: str, one: Run) -> None:
    evidence.add(
        tx,
        project.scope,
        evidence.Lane.CONTROL,
        event=event,
        actor=f"{caller.author.kind}:{caller.author.name}",
        subject=one.id,
        detail={"state": one.state.value},
    )


def _view(tx: Tx, one: Run) -> RunView:
    live = sorted(activations.open_ones(tx, one.id), key=lambda each: identity.creation_order(each.card_id))
    return RunView(
        id=one.id,
        project_id=one.project_id,
        state=one.state,
        wanted=one.wanted,
        person=one.person,
        configuration=one.configuration,
        created_at=one.created_at,
        ended_at=one.ended_at,
        ending=one.ending,
        reason=one.reason,
        notice=one.notice,
        running=tuple(each.card_id for each in live),
    )


def _row(row: Row) -> RowView:
    return RowView(
        number=row.number,
        kind=row.kind.value,
        role=row.role.value,
        at=row.at,
        activation_id=row.activation_id,
        call_id=row.call_id,
        tool=row.tool,
        content=reasoning.hidden(row) if row.kind is RowKind.PRIVATE else row.content,
    )


_START = frozenset({Permission.PROJECTS_CONTROL, Permission.PROJECTS_RUN})
_CONTROL = frozenset({Permission.PROJECTS_CONTROL})
_READ = frozenset({Permission.RUNS_READ})
_PEOPLE: frozenset[Door] = PEOPLES_DOORS

# fmt: off
OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(name="start_run", summary="Start work on a project.", input=StartRun, output=RunView,
              permissions=_START, effect=Effect.WRITE, doors=_PEOPLE, handler=start, lock=lock, gather=gather),
    Operation(name="pause_run", summary="Hold the next model call.", input=ControlRun, output=RunView,
              permissions=_CONTROL, effect=Effect.WRITE, doors=_PEOPLE, handler=pause, lock=lock),
    Operation(name="resume_run", summary="Let a paused run go on.", input=ControlRun, output=RunView,
              permissions=_CONTROL, effect=Effect.WRITE, doors=_PEOPLE, handler=resume, lock=lock),
    Operation(name="stop_run", summary="Stop everything the run started.", input=ControlRun, output=RunView,
              permissions=_CONTROL, effect=Effect.WRITE, doors=_PEOPLE, handler=stop, lock=lock),
    Operation(name="get_run", summary="The live run, or the newest.", input=GetRun, output=RunView,
              permissions=_READ, effect=Effect.READ, doors=_PEOPLE, handler=get, lock=lock),
    Operation(name="list_runs", summary="Runs, newest first.", input=ListRuns, output=RunList,
              permissions=_READ, effect=Effect.READ, doors=_PEOPLE, handler=listed, lock=lock),
    Operation(name="list_activations", summary="What was done on a card.", input=ListOfCard, output=ActivationList,
              permissions=_READ, effect=Effect.READ, doors=_PEOPLE, handler=card_activations, lock=lock),
    Operation(name="list_conversations", summary="Conversations on a card.", input=ListOfCard, output=ConversationList,
              permissions=_READ, effect=Effect.READ, doors=_PEOPLE, handler=card_conversations, lock=lock),
    Operation(name="read_conversation", summary="Rows of a conversation.", input=ReadConversation, output=RowPage,
              permissions=_READ, effect=Effect.READ, doors=_PEOPLE, handler=read_conversation, lock=lock),
    Operation(name="list_processes", summary="Commands run for a card.", input=ListOfCard, output=ProcessList,
              permissions=_READ, effect=Effect.READ, doors=_PEOPLE, handler=card_processes, lock=lock),
    Operation(name="list_evidence", summary="What was decided and seen.", input=ListEvidence, output=EvidenceList,
              permissions=_READ, effect=Effect.READ, doors=_PEOPLE, handler=list_evidence, lock=lock),
    *refusal_history.OPERATIONS,
)
# fmt: on
