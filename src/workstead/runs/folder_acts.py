"""Acts in a project's folder by an assistant: one claim, one settlement, one answer for a key (K05, K06, S1)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from workstead import errors
from workstead.accounts import projects
from workstead.accounts.projects import Project
from workstead.kernel import access, evidence, receipts, scopes
from workstead.kernel.access import Caller, Permission
from workstead.kernel.acts import Asked
from workstead.kernel.canonical import Json
from workstead.kernel.effects import Effects, Ended, Outcome
from workstead.kernel.evidence import Lane
from workstead.kernel.receipts import Kept, Key
from workstead.kernel.transaction import Tx
from workstead.work.rules import ProjectWrite
from workstead.workspace.launcher import Launcher

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Means:
    """What acts in folders are done with."""

    effects: Effects
    launcher: Launcher


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """An act that was admitted. id: its effect."""

    id: str
    project: Project
    caller: Caller
    key: Key


@dataclass(frozen=True, kw_only=True)
class Done(Generic[R]):
    """What an act came to. kept: what a repeat of its key is answered from. told: the facts that evidence keeps."""

    answer: R
    kept: Kept
    subject: str
    told: dict[str, Json]


@dataclass(frozen=True, kw_only=True)
class Doing(Generic[R]):
    """How one act is done. act: raises a refusal where it did nothing. again: its answer from what was kept."""

    name: str
    event: str
    permissions: frozenset[Permission]
    deadline_s: float
    act: Callable[[Claimed], Awaitable[Done[R]]]
    again: Callable[[Project, Kept], Awaitable[R]]


@dataclass(frozen=True, kw_only=True)
class _Ended(Generic[R]):
    """What was recorded. refused: nothing was done."""

    answer: R | None = None
    refused: errors.Refusal | None = None
    failed: BaseException | None = None


class _KnownKey(Exception):  # noqa: N818 - the way out of a claim that must not be made again
    def __init__(self, project: Project, kept: Kept) -> None:
        super().__init__()
        self.project = project
        self.kept = kept


async def perform(means: Means, asked: Asked[ProjectWrite], doing: Doing[R]) -> R:
    """Claim, act, settle; a known key is answered from its receipt, with today's authority checked again.

    Raises what the claim or the act refused, then nothing was done and the key is free; and `outcome_unknown` for a key
    whose act was interrupted.
    """
    effects = means.effects
    scope = effects.glance(lambda tx: projects.scope_of(tx, asked.args.project))
    if scope is None:
        raise await _no_project(effects, asked, doing)
    try:
        ended = await effects.perform(
            asked.proof,
            scope,
            claim=lambda tx, caller: _claim(effects, tx, caller, asked=asked, doing=doing, scope=scope),
            act=doing.act,
            settle=lambda tx, claimed, outcome: _settle(effects, tx, claimed, doing=doing, outcome=outcome),
            deadline_s=doing.deadline_s,
        )
    except _KnownKey as known:
        if known.kept.answer is None and known.kept.answer_id is None:
            message = "This was begun under the same request id, and its end is not known; look before you act again."
            raise errors.conflict("outcome_unknown", message, request_id=asked.request_id) from None
        return await doing.again(known.project, known.kept)
    if ended.refused is not None:
        raise ended.refused
    if ended.failed is not None:
        raise ended.failed
    return cast("R", ended.answer)


async def _no_project(effects: Effects, asked: Asked[ProjectWrite], doing: Doing[R]) -> errors.Refusal:
    """The refusal of a project that is not there, which is also that of one the caller may not know."""

    def refuse(_: Tx, caller: Caller) -> None:
        if isinstance(caller, access.Assistant | access.Person):
            caller = replace(caller, permissions=frozenset())
        access.require(caller, doing.permissions, operation=doing.name)

    try:
        await effects.act_as(asked.proof, scopes.INSTANCE, refuse)
    except errors.Refusal as refused:
        return refused
    return errors.not_found("project", asked.args.project)


def _claim(
    effects: Effects, tx: Tx, caller: Caller, *, asked: Asked[ProjectWrite], doing: Doing[R], scope: str
) -> Claimed:
    access.require(caller, doing.permissions, operation=doing.name)
    project = projects.visible(tx, caller, asked.args.project)
    key = Key(subject=caller.subject, operation=doing.name, request_id=asked.request_id or tx.change_id)
    kept = receipts.claim(tx, key, digest=asked.digest, scope=scope)
    if kept is not None:
        raise _KnownKey(project, kept)
    effect_id = effects.claim(
        tx,
        scope,
        kind=f"assistant:{doing.name}",
        subject=caller.subject,
        payload=asked.digest,
        deadline_s=doing.deadline_s,
    )
    return Claimed(id=effect_id, project=project, caller=caller, key=key)


def _settle(effects: Effects, tx: Tx, claimed: Claimed, *, doing: Doing[R], outcome: Outcome[Done[R]]) -> _Ended[R]:
    effects.end(tx, claimed.project.scope, claimed.id, ended=outcome.ended, subject=claimed.caller.subject)
    if isinstance(outcome.error, errors.Refusal):
        receipts.release(tx, claimed.key)
        return _Ended(refused=outcome.error)
    done = outcome.value
    if outcome.ended is not Ended.DONE or done is None:
        _tell(tx, claimed, event=doing.event, subject="", told={"outcome": outcome.ended.value})
        return _Ended(failed=outcome.error)
    receipts.keep(tx, claimed.key, done.kept)
    _tell(tx, claimed, event=doing.event, subject=done.subject, told=done.told)
    return _Ended(answer=done.answer)


def _tell(tx: Tx, claimed: Claimed, *, event: str, subject: str, told: dict[str, Json]) -> None:
    author = claimed.caller.author
    actor = f"{author.kind}:{author.name}"
    evidence.add(tx, claimed.project.scope, Lane.EVENTS, event=event, actor=actor, subject=subject, detail=told)
