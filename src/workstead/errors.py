"""Refusals: the one way the core says no. What is not a refusal is internal and is never shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What a door must know to answer; each door has one table from kind to its own reply."""

    BUSY = "busy"
    CONFLICT = "conflict"
    DENIED = "denied"
    INVALID = "invalid"
    LIMIT = "limit"
    NEEDS_REVIEW = "needs_review"
    NOT_FOUND = "not_found"
    STALE = "stale"
    UNAUTHENTICATED = "unauthenticated"
    UNAVAILABLE = "unavailable"


class Advice(StrEnum):
    """What an agent is told to do about a refusal (house style, line 31)."""

    CORRECT = "correct your call"
    FINAL = "this failed for good"
    LATER = "try again later"
    PERSON = "wait for a person"


_ADVICE = {
    Kind.BUSY: Advice.LATER,
    Kind.CONFLICT: Advice.CORRECT,
    Kind.DENIED: Advice.FINAL,
    Kind.INVALID: Advice.CORRECT,
    Kind.LIMIT: Advice.LATER,
    Kind.NEEDS_REVIEW: Advice.PERSON,
    Kind.NOT_FOUND: Advice.CORRECT,
    Kind.STALE: Advice.CORRECT,
    Kind.UNAUTHENTICATED: Advice.PERSON,
    Kind.UNAVAILABLE: Advice.LATER,
}


@dataclass(frozen=True, kw_only=True)
class Issue:
    """One mistake in something that was handed in.

    path: where it stands, as `cards[2].title` or `workstead.yaml:14 agents.planner.tools`.
    message: what is wrong and what would be right, one sentence.
    """

    path: str
    message: str


# Not frozen: the interpreter itself sets the traceback of a raised exception.
@dataclass(kw_only=True, eq=False)
class Refusal(Exception):  # noqa: N818 - a no is not an error of the program
    """A no with a reason: nothing was written.

    code: stable, `thing_reason`, for machines. message: a sentence a person can act on.
    details: safe facts (what is current, when to try again); never a secret. issues: mistakes with paths.
    """

    kind: Kind
    code: str
    message: str
    details: Mapping[str, object] = field(default_factory=dict)
    issues: tuple[Issue, ...] = ()

    def __str__(self) -> str:
        return self.message

    @property
    def advice(self) -> Advice:
        """What whoever called should do now."""
        return _ADVICE[self.kind]


def invalid(code: str, message: str, *, issues: Sequence[Issue] = (), **details: object) -> Refusal:
    """The input is wrong; correct it and call again."""
    return Refusal(kind=Kind.INVALID, code=code, message=message, issues=tuple(issues), details=details)


def denied(code: str, message: str, **details: object) -> Refusal:
    """The caller may not do this."""
    return Refusal(kind=Kind.DENIED, code=code, message=message, details=details)


def not_found(thing: str, identity: str) -> Refusal:
    """Missing and forbidden look the same (house style, line 27)."""
    message = f"There is no {thing} {identity!r} that you can see."
    return Refusal(kind=Kind.NOT_FOUND, code=f"{thing.replace(' ', '_')}_not_found", message=message)


def conflict(code: str, message: str, **details: object) -> Refusal:
    """What is asked does not fit what is there."""
    return Refusal(kind=Kind.CONFLICT, code=code, message=message, details=details)


def stale(thing: str, *, base: int, current: int) -> Refusal:
    """The revision the caller read is no longer current (K04)."""
    message = f"The {thing} has changed since revision {base}; read revision {current} and decide again."
    return Refusal(
        kind=Kind.STALE,
        code=f"{thing.replace(' ', '_')}_stale",
        message=message,
        details={"base_revision": base, "current_revision": current},
    )


def unauthenticated(message: str = "Sign in or present a valid credential.") -> Refusal:
    """Nobody we know; every door answers 401 with a challenge, never a tool error."""
    return Refusal(kind=Kind.UNAUTHENTICATED, code="unauthenticated", message=message)


def busy(code: str, message: str, *, retry_after_s: float) -> Refusal:
    """Too much is going on; the same call may be tried again."""
    return Refusal(kind=Kind.BUSY, code=code, message=message, details={"retry_after_s": retry_after_s})


def limit(code: str, message: str, *, retry_after_s: float) -> Refusal:
    """The caller's own allowance is used up; it says when there is more."""
    return Refusal(kind=Kind.LIMIT, code=code, message=message, details={"retry_after_s": retry_after_s})


def unavailable(code: str, message: str, **details: object) -> Refusal:
    """Something this needs cannot be reached now."""
    return Refusal(kind=Kind.UNAVAILABLE, code=code, message=message, details=details)
