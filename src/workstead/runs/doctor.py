"""The doctor: what stands in the way of working here, for whoever asks, and what to do about each point. Only reads."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import Field

from workstead import errors
from workstead.accounts import assistants, projects
from workstead.accounts.assistants import AssistantRow
from workstead.accounts.projects import Project
from workstead.clock import parse_iso
from workstead.kernel import access, scopes
from workstead.kernel.access import Assistant, Caller, Permission
from workstead.kernel.operations import AnyOperation, Effect, Input, Operation
from workstead.kernel.transaction import Tx
from workstead.runs import runs
from workstead.work import cards, configurations
from workstead.work import configuration as compiler
from workstead.work.rules import PEOPLES_DOORS
from workstead.work.workflow.lifecycle import Status
from workstead.workspace import files, levels
from workstead.workspace.spec import Level

EXPIRES_SOON_S = 3 * 86_400

Examine = Callable[[], levels.Doctor]
"""What was found on this machine so far; asked late, when the launcher stands."""
Standing = Literal["good", "look", "bad"]

_NEEDS_A_LOOK = (Status.BLOCKED, Status.FAILED, Status.STOPPED, Status.CHANGED)
_WEAK = frozenset({Level.USER, Level.NONE})


class Consult(Input):
    """What to look at."""

    project: str | None = Field(
        default=None, min_length=1, max_length=200, description="A project's id or short name; else the instance alone."
    )


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One point. standing: good; look: it works, but read this; bad: it stands in the way. advice: what to do."""

    name: str
    standing: Standing
    message: str
    advice: str | None = None


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Every point. well: nothing stands in the way."""

    well: bool
    findings: tuple[Finding, ...]


def consult(examine: Examine, tx: Tx, caller: Caller, args: Consult) -> Findings:
    """Look at the credential, the machine, and the project that is named."""
    found = [*_credential(tx, caller), _isolation(examine())]
    if args.project is not None:
        project = projects.visible(tx, caller, args.project)
        access.require(caller, frozenset({Permission.PROJECTS_READ}), operation="doctor")
        found += [
            *_role(tx, caller),
            _folder(project),
            _configuration(tx, project),
            _run(tx, project),
            _cards(tx, project),
        ]
    else:
        found.append(_reach(tx, caller))
    return Findings(well=all(each.standing != "bad" for each in found), findings=tuple(found))


def unexamined() -> levels.Doctor:
    """What is known before there is a launcher."""
    return levels.Doctor(level=None, floor=Level.NONE, kernel="", missing=(), refused={})


def operations(examine: Examine) -> tuple[AnyOperation, ...]:
    """The operation."""
    return (
        Operation(
            name="doctor",
            summary="Say what stands in the way of working here with this credential, and what to do about it.",
            input=Consult,
            output=Findings,
            permissions=frozenset(),
            effect=Effect.READ,
            doors=PEOPLES_DOORS,
            handler=partial(consult, examine),
            lock=_scope,
        ),
    )


def _scope(tx: Tx, args: Consult) -> str | None:
    return projects.scope_of(tx, args.project) if args.project is not None else scopes.INSTANCE


def _credential(tx: Tx, caller: Caller) -> Iterator[Finding]:
    own = _own(tx, caller)
    if own is None:
        return
    may = ", ".join(sorted(own.permissions)) or "nothing"
    where = "every project its owner sees" if own.projects is None else f"{len(own.projects)} chosen projects"
    only = f", narrowed to {', '.join(sorted(own.operations))}" if own.operations is not None else ""
    left_s = (parse_iso(own.expires_at) - parse_iso(tx.at)).total_seconds()
    soon = left_s < EXPIRES_SOON_S
    yield Finding(
        name="credential",
        standing="look" if soon else "good",
        message=f"{own.name} may use {may}{only}, in {where}, until {own.expires_at}.",
        advice="Ask the person to make a new assistant before it ends." if soon else None,
    )


def _role(tx: Tx, caller: Caller) -> Iterator[Finding]:
    own = _own(tx, caller)
    if own is None:
        return
    lost = sorted(own.permissions - caller.permissions - {Permission.CATALOG_READ})
    if lost:
        yield Finding(
            name="role",
            standing="look",
            message=f"Its owner does not have {', '.join(lost)} in this project, so it does not either.",
            advice="Ask the project's owner for another role, or work where the role is enough.",
        )


def _own(tx: Tx, caller: Caller) -> AssistantRow | None:
    if not isinstance(caller, Assistant):
        return None
    return next((one for one in assistants.of_owner(tx, caller.owner.id) if one.id == caller.id), None)


def _isolation(found: levels.Doctor) -> Finding:
    if found.level is None:
        message = "No command was run yet, so the isolation of commands is not known."
        return Finding(name="isolation", standing="look", message=message, advice="The first command will tell.")
    if found.level in _WEAK:
        missing = ", ".join(found.missing)
        message = f"Commands run at the level {found.level.value}; it lacks: {missing}."
        advice = "Its operator can read docs/boundary.md on what this machine needs for a stronger one."
        return Finding(name="isolation", standing="look", message=message, advice=advice)
    return Finding(name="isolation", standing="good", message=f"Commands run at the level {found.level.value}.")


def _reach(tx: Tx, caller: Caller) -> Finding:
    seen = projects.listed(tx, caller)
    if seen:
        named = ", ".join(one.slug for one in seen[:20])
        return Finding(name="projects", standing="good", message=f"You see {len(seen)} projects: {named}.")
    message = "You see no project."
    advice = "Ask the person to give this credential a project and `projects:read`, or to make a project first."
    return Finding(name="projects", standing="bad", message=message, advice=advice)


def _folder(project: Project) -> Finding:
    try:
        with files.Folder(Path(project.folder)) as folder:
            folder.stat("")
    except errors.Refusal:
        message = "The project's folder is not there, or the server may not read it."
        advice = "Ask its operator to put it back where it was."
        return Finding(name="folder", standing="bad", message=message, advice=advice)
    return Finding(name="folder", standing="good", message="The folder can be read.")


def _configuration(tx: Tx, project: Project) -> Finding:
    try:
        found = configurations.gather(Path(project.folder))
    except errors.Refusal as refused:
        advice = "Put `.workstead/workstead.yaml` back; `workstead init` writes one for a new project."
        return Finding(name="configuration", standing="bad", message=refused.message, advice=advice)
    if found.compiled is None:
        issues = found.refusal.issues if found.refusal is not None else ()
        shown = "; ".join(f"{issue.path}: {issue.message}" for issue in issues[:5])
        message = f"The configuration has {len(issues)} mistakes: {shown}"
        advice = "Correct them in the folder; `get_configuration` names them all."
        return Finding(name="configuration", standing="bad", message=message, advice=advice)
    asks = compiler.needs_trust(found.compiled.configuration)
    if asks and not configurations.trusted(tx, project.id, found.digest):
        message = f"The configuration waits for a person's trust; it asks for: {'; '.join(asks[:5])}."
        advice = "Only a person can accept it, on the project's page; ask them to look at it."
        return Finding(name="configuration", standing="bad", message=message, advice=advice)
    return Finding(name="configuration", standing="good", message="The configuration compiles and may be run.")


def _run(tx: Tx, project: Project) -> Finding:
    newest = runs.newest(tx, project.id, limit=1)
    if not newest:
        return Finding(name="run", standing="good", message="Nothing was run yet.")
    (one,) = newest
    if one.live:
        message = f"A run is {one.state.value}, started by {one.person} at {one.created_at}."
        advice = "Cards and records can be changed while it is paused or stopped."
        return Finding(name="run", standing="look", message=message, advice=advice)
    ending = one.ending.value if one.ending is not None else "unknown"
    said = f" {one.reason}" if one.reason else ""
    return Finding(name="run", standing="good", message=f"The last run ended at {one.ended_at}: {ending}.{said}")


def _cards(tx: Tx, project: Project) -> Finding:
    counts = Counter(row.status for row in cards.rows(tx, project.id))
    waiting = [f"{counts[status]} {status.value}" for status in _NEEDS_A_LOOK if counts[status]]
    if waiting:
        advice = "`list_cards` with that status names them; the guide `runs` says how to find out why."
        message = f"Of {counts.total()} cards {', '.join(waiting)}."
        return Finding(name="cards", standing="look", message=message, advice=advice)
    return Finding(
        name="cards", standing="good", message=f"None of {counts.total()} cards is blocked, failed or stopped."
    )
