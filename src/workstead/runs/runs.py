"""Runs: one live execution of a project, from Run to its natural end or Stop; the row a supervisor follows."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import cast

from sqlalchemy import bindparam, insert, select, update

from workstead import errors
from workstead.accounts.projects import Project
from workstead.kernel import feed, scopes
from workstead.kernel.access import Person
from workstead.kernel.store import Row, prepared
from workstead.kernel.transaction import Tx
from workstead.runs.tables import run


class State(StrEnum):
    """What a run is doing."""

    STARTING = "starting"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPING = "stopping"
    ENDED = "ended"


class Wanted(StrEnum):
    """What a person wants of a run."""

    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"


class Ending(StrEnum):
    """How a run ended. The first three are the root card's own result."""

    DONE = "done"
    BLOCKED = "blocked"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"  # the server went away


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run. person: who pressed Run. configuration: the digest pinned for it. reason: one sentence at its end.

    notice: what a person should know about how it started.
    """

    id: str
    project_id: str
    state: State
    wanted: Wanted
    person_id: str
    person: str
    configuration: str
    fence: int
    created_at: str
    ended_at: str | None
    ending: Ending | None
    reason: str | None
    notice: str | None

    @property
    def scope(self) -> str:
        """The project's lock scope."""
        return scopes.project(self.project_id)

    @property
    def live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None


_COLUMNS = (
    run.c.id,
    run.c.project_id,
    run.c.state,
    run.c.wanted,
    run.c.person_id,
    run.c.person,
    run.c.configuration,
    run.c.fence,
    run.c.created_at,
    run.c.ended_at,
    run.c.ending,
    run.c.reason,
    run.c.notice,
)
_ADD = prepared(insert(run))
_READ = prepared(select(*_COLUMNS).where(run.c.id == bindparam("k_id")))
_LIVE = prepared(select(*_COLUMNS).where(run.c.project_id == bindparam("k_project_id"), run.c.ended_at.is_(None)))
_ALL_LIVE = prepared(select(*_COLUMNS).where(run.c.ended_at.is_(None)).order_by(run.c.id))
_NEWEST = prepared(
    select(*_COLUMNS)
    .where(run.c.project_id == bindparam("k_project_id"))
    .order_by(run.c.id.desc())
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)
_SAVE = prepared(
    update(run)
    .where(run.c.id == bindparam("k_id"), run.c.ended_at.is_(None))
    .values(
        state=bindparam("state"),
        wanted=bindparam("wanted"),
        fence=bindparam("fence"),
        ended_at=bindparam("ended_at"),
        ending=bindparam("ending"),
        reason=bindparam("reason"),
        notice=bindparam("notice"),
    )
)


def add(tx: Tx, project: Project, *, person: Person, configuration: str) -> Run:
    """Make a run that a supervisor will pick up. Raises `conflict` while another one lives."""
    there = live(tx, project.id)
    if there is not None:
        message = f"{project.name} is already {there.state.value}; pause, resume or stop that run."
        raise errors.conflict("run_live", message, run_id=there.id, state=there.state.value)
    made = Run(
        id=tx.new_id(),
        project_id=project.id,
        state=State.STARTING,
        wanted=Wanted.RUN,
        person_id=person.id,
        person=person.name,
        configuration=configuration,
        fence=0,
        created_at=tx.at,
        ended_at=None,
        ending=None,
        reason=None,
        notice=None,
    )
    tx.run(
        _ADD,
        id=made.id,
        project_id=made.project_id,
        state=made.state.value,
        wanted=made.wanted.value,
        person_id=made.person_id,
        person=made.person,
        configuration=made.configuration,
        fence=0,
        created_at=made.created_at,
        ended_at=None,
        ending=None,
        reason=None,
        notice=None,
    )
    return _told(tx, made)


def read(tx: Tx, run_id: str) -> Run | None:
    """One run, or None."""
    row = tx.one(_READ, k_id=run_id)
    return _run(row) if row is not None else None


def live(tx: Tx, project_id: str) -> Run | None:
    """The project's live run, or None."""
    row = tx.one(_LIVE, k_project_id=project_id)
    return _run(row) if row is not None else None


def all_live(tx: Tx) -> tuple[Run, ...]:
    """Every live run of the instance."""
    return tuple(_run(row) for row in tx.all(_ALL_LIVE))


def newest(tx: Tx, project_id: str, *, limit: int = 20, offset: int = 0) -> tuple[Run, ...]:
    """The project's runs, newest first."""
    rows = tx.all(_NEWEST, k_project_id=project_id, k_limit=limit, k_offset=offset)
    return tuple(_run(row) for row in rows)


def want(tx: Tx, one: Run, wanted: Wanted) -> Run:
    """Write what a person wants; the supervisor follows. Stop is never taken back."""
    if one.wanted is wanted or one.wanted is Wanted.STOP:
        return one
    return save(tx, replace(one, wanted=wanted))


def move(tx: Tx, one: Run, state: State) -> Run:
    """Write what the run is doing now, keeping what was wanted meanwhile."""
    fresh = read(tx, one.id) or one
    return save(tx, replace(fresh, state=state)) if fresh.state is not state else fresh


def note(tx: Tx, one: Run, notice: str) -> Run:
    """Write what a person should know about how it started."""
    fresh = read(tx, one.id) or one
    return save(tx, replace(fresh, notice=notice))


def end(tx: Tx, one: Run, ending: Ending, *, reason: str) -> Run:
    """Write how it ended; what has ended is not ended again."""
    fresh = read(tx, one.id) or one
    if not fresh.live:
        return fresh
    return save(tx, replace(fresh, state=State.ENDED, ended_at=tx.at, ending=ending, reason=reason))


def require_going(tx: Tx, one: Run) -> None:
    """Raise `unauthenticated` once the run is being stopped or has ended: nothing late may still count."""
    now = read(tx, one.id)
    if now is None or not now.live or now.state is State.STOPPING:
        raise errors.unauthenticated("This run has been stopped.")


def save(tx: Tx, one: Run) -> Run:
    """Write the row and tell the feed."""
    tx.run(
        _SAVE,
        k_id=one.id,
        state=one.state.value,
        wanted=one.wanted.value,
        fence=one.fence,
        ended_at=one.ended_at,
        ending=one.ending.value if one.ending is not None else None,
        reason=one.reason,
        notice=one.notice,
    )
    return _told(tx, one)


def _told(tx: Tx, one: Run) -> Run:
    feed.add(tx, one.scope, feed.Event.RUN_CHANGED, topic="run")
    tx.wakes.add(scopes.INSTANCE)
    return one


def _run(row: Row) -> Run:
    (
        run_id,
        project_id,
        state,
        wanted,
        person_id,
        person,
        configuration,
        fence,
        created_at,
        ended_at,
        ending,
        reason,
        notice,
    ) = row
    return Run(
        id=cast("str", run_id),
        project_id=cast("str", project_id),
        state=State(cast("str", state)),
        wanted=Wanted(cast("str", wanted)),
        person_id=cast("str", person_id),
        person=cast("str", person),
        configuration=cast("str", configuration),
        fence=cast("int", fence),
        created_at=cast("str", created_at),
        ended_at=cast("str | None", ended_at),
        ending=Ending(cast("str", ending)) if ending is not None else None,
        reason=cast("str | None", reason),
        notice=cast("str | None", notice),
    )
