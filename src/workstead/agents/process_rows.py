"""What is kept of a process: its birth, written before anything of it runs, and its end.

Append-only but for the mark that it is open.
"""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import bindparam, insert, literal_column, select, update

from workstead.agents.tables import process, process_end
from workstead.kernel import feed
from workstead.kernel.store import Row, prepared
from workstead.kernel.transaction import Tx
from workstead.workspace.child import Birth, EndKind
from workstead.workspace.processes import Ended


@dataclass(frozen=True, kw_only=True)
class Started:
    """A process that was started. scope: the project's lock scope. cwd: relative to the project's folder."""

    id: str
    scope: str
    project_id: str
    card_id: str
    activation_id: str
    command: str
    cwd: str
    birth: Birth


@dataclass(frozen=True, kw_only=True)
class ProcessRow:
    """A process as its rows say. end: None while nothing is known of it."""

    id: str
    project_id: str
    card_id: str
    activation_id: str
    command: str
    cwd: str
    birth: Birth
    started_at: str
    end: "EndRow | None"


@dataclass(frozen=True, kw_only=True)
class EndRow:
    """How it ended. stdout_complete: the capture holds everything it printed."""

    kind: EndKind
    code: int | None
    signal: int | None
    stdout_bytes: int
    stderr_bytes: int
    stdout_complete: bool
    stderr_complete: bool
    at: str


_ADD = prepared(insert(process))
_END = prepared(insert(process_end))
_CLOSE = prepared(update(process).where(process.c.id == bindparam("k_id")).values(open=literal_column("0")))
_BOTH = select(
    process.c.id,
    process.c.project_id,
    process.c.card_id,
    process.c.activation_id,
    process.c.command,
    process.c.cwd,
    process.c.pid,
    process.c.start_ticks,
    process.c.boot_id,
    process.c.started_at,
    process_end.c.kind,
    process_end.c.code,
    process_end.c.signal,
    process_end.c.stdout_bytes,
    process_end.c.stderr_bytes,
    process_end.c.stdout_complete,
    process_end.c.stderr_complete,
    process_end.c.at,
).select_from(process.outerjoin(process_end, process_end.c.process_id == process.c.id))
_ONE = prepared(_BOTH.where(process.c.id == bindparam("k_id")))
_OF_CARD = prepared(
    _BOTH.where(
        process.c.project_id == bindparam("k_project_id"), process.c.card_id == bindparam("k_card_id")
    ).order_by(process.c.started_at, process.c.id)
)
_OPEN = prepared(
    _BOTH.where(process.c.project_id == bindparam("k_project_id"), process.c.open == literal_column("1")).order_by(
        process.c.started_at, process.c.id
    )
)


def add(tx: Tx, started: Started) -> None:
    """Write a birth."""
    tx.run(
        _ADD,
        id=started.id,
        project_id=started.project_id,
        card_id=started.card_id,
        activation_id=started.activation_id,
        command=started.command,
        cwd=started.cwd,
        pid=started.birth.pid,
        start_ticks=started.birth.start_ticks,
        boot_id=started.birth.boot_id,
        started_at=tx.at,
        open=1,
    )
    _told(tx, started.scope, started.card_id, started.id)


def end(tx: Tx, *, scope: str, card_id: str, process_id: str, ended: Ended) -> None:
    """Write an end. Also used by a recovery, for a process that is proven gone."""
    tx.run(
        _END,
        process_id=process_id,
        kind=ended.ending.kind,
        code=ended.ending.code,
        signal=ended.ending.signal,
        stdout_bytes=ended.stdout_bytes,
        stderr_bytes=ended.stderr_bytes,
        stdout_complete=int(ended.stdout_complete),
        stderr_complete=int(ended.stderr_complete),
        at=tx.at,
    )
    tx.run(_CLOSE, k_id=process_id)
    _told(tx, scope, card_id, process_id)


def read(tx: Tx, process_id: str) -> ProcessRow | None:
    """One process, or None."""
    row = tx.one(_ONE, k_id=process_id)
    return _row(row) if row is not None else None


def of_card(tx: Tx, project_id: str, card_id: str) -> tuple[ProcessRow, ...]:
    """A card's processes, oldest first."""
    return tuple(_row(row) for row in tx.all(_OF_CARD, k_project_id=project_id, k_card_id=card_id))


def unended(tx: Tx, project_id: str) -> tuple[ProcessRow, ...]:
    """The processes of a project whose end nobody has recorded; a recovery proves that they are gone."""
    return tuple(_row(row) for row in tx.all(_OPEN, k_project_id=project_id))


def _told(tx: Tx, scope: str, card_id: str, process_id: str) -> None:
    feed.add(tx, scope, feed.Event.PROCESS_CHANGED, topic=f"cards/{card_id}/processes/{process_id}")


def _row(row: Row) -> ProcessRow:
    identity, project_id, card_id, activation_id, command, cwd, pid, ticks, boot_id, at, *ended = row
    return ProcessRow(
        id=cast("str", identity),
        project_id=cast("str", project_id),
        card_id=cast("str", card_id),
        activation_id=cast("str", activation_id),
        command=cast("str", command),
        cwd=cast("str", cwd),
        birth=Birth(pid=cast("int", pid), start_ticks=cast("int", ticks), boot_id=cast("str", boot_id)),
        started_at=cast("str", at),
        end=_ended(ended) if ended[0] is not None else None,
    )


def _ended(columns: list[str | int | None]) -> EndRow:
    kind, code, signal, stdout_bytes, stderr_bytes, stdout_complete, stderr_complete, at = columns
    return EndRow(
        kind=cast("EndKind", kind),
        code=cast("int | None", code),
        signal=cast("int | None", signal),
        stdout_bytes=cast("int", stdout_bytes),
        stderr_bytes=cast("int", stderr_bytes),
        stdout_complete=bool(stdout_complete),
        stderr_complete=bool(stderr_complete),
        at=cast("str", at),
    )
