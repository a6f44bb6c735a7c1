"""Operations of exchanges: the model calls of a project, and one with all that is known of it (W15)."""

from dataclasses import dataclass

from pydantic import Field

from workstead import errors
from workstead.accounts import projects
from workstead.agents import budget_rows, exchange_reads
from workstead.agents.exchange_reads import Found, Wanted
from workstead.agents.failure_words import EXPLAINED
from workstead.clock import parse_iso
from workstead.kernel.access import Caller, Permission
from workstead.kernel.operations import AnyOperation, Effect, Operation
from workstead.kernel.transaction import Tx
from workstead.work.rules import PEOPLES_DOORS, ProjectRead, lock
from workstead.work.workflow import identity

_PAGE = 25


class ListExchanges(ProjectRead):
    """The model calls of a project, newest first."""

    card_id: str | None = Field(default=None, description="Only those made for this card.")
    agent: str | None = Field(default=None, min_length=1, max_length=64, description="Only those of this agent.")
    provider: str | None = Field(default=None, min_length=1, max_length=64, description="Only those it answered.")
    failed: bool = Field(default=False, description="Only those without an answer.")
    before: str | None = Field(default=None, min_length=1, max_length=64, description="`next` of the page before.")


class GetExchange(ProjectRead):
    """One model call."""

    exchange_id: str = Field(min_length=1, max_length=64, description="As list_exchanges or a refusal names it.")


@dataclass(frozen=True, kw_only=True)
class ExchangeLine:
    """One call. ended: done, failed, interrupted, unknown; None while it is made. failure: the word of what went wrong.

    provider, model: who answered or was asked last. Tokens are None where the provider did not say.
    """

    exchange_id: str
    card_id: str
    agent: str
    purpose: str
    provider: str
    model: str
    at: str
    ended: str | None
    milliseconds: int | None
    failure: str | None
    attempts: int | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None


@dataclass(frozen=True, kw_only=True)
class ExchangeList:
    """A page, newest first. next: pass it as `before`; None at the end."""

    exchanges: tuple[ExchangeLine, ...]
    next: str | None


@dataclass(frozen=True, kw_only=True)
class FailureView:
    """A failure in words: what is known, what Workstead does with it, what a person can do."""

    word: str
    happened: str
    then: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class ExchangeView:
    """One call with its place. The request's body was never kept: it is known by its rows, its size and its digest.

    first_row, last_row: of the conversation, what was sent; answer_row: where the answer begins, None without one.
    asked_first: whom the route named first. request_bytes: of the text, before it was serialised; sent_bytes,
    sent_digest: of the exact bytes (SHA-256). held_tokens, held_micros: kept from the budgets while the call is made.
    """

    call: ExchangeLine
    activation_id: str
    segment: int
    first_row: int
    last_row: int
    answer_row: int | None
    asked_first: str
    finish: str | None
    failure: FailureView | None
    request_bytes: int
    sent_bytes: int | None
    sent_digest: str | None
    held_tokens: int | None
    held_micros: int | None


def listed(tx: Tx, caller: Caller, args: ListExchanges) -> ExchangeList:
    """A page of calls."""
    project = projects.visible(tx, caller, args.project)
    wanted = Wanted(
        card_id=identity.check_card_id(args.card_id) if args.card_id is not None else "",
        agent=args.agent or "",
        provider=args.provider or "",
        failed=args.failed,
    )
    found = exchange_reads.page(tx, project.id, wanted, before=args.before, limit=_PAGE + 1)
    lines = tuple(map(_line, found[:_PAGE]))
    return ExchangeList(exchanges=lines, next=lines[-1].exchange_id if len(found) > _PAGE else None)


def get(tx: Tx, caller: Caller, args: GetExchange) -> ExchangeView:
    """One call. Raises not found."""
    project = projects.visible(tx, caller, args.project)
    found = exchange_reads.one(tx, project.id, args.exchange_id)
    if found is None:
        raise errors.not_found("exchange", args.exchange_id)
    line, end = _line(found), found.end
    held = budget_rows.held(tx, found.id) if end is None else None
    return ExchangeView(
        call=line,
        activation_id=found.activation_id,
        segment=found.segment,
        first_row=found.first_row,
        last_row=found.last_row,
        answer_row=exchange_reads.answer_row(tx, found) if end is not None else None,
        asked_first=f"{found.provider}:{found.model}",
        finish=end.finish if end is not None else None,
        failure=explained(line.failure) if line.failure is not None else None,
        request_bytes=found.request_bytes,
        sent_bytes=end.sent_bytes if end is not None else None,
        sent_digest=end.sent_digest if end is not None else None,
        held_tokens=held.tokens if held is not None else None,
        held_micros=held.micros if held is not None else None,
    )


def explained(word: str) -> FailureView:
    """A failure's word in sentences; of one that an earlier version wrote only the word."""
    known = EXPLAINED.get(word)
    if known is None:
        return FailureView(word=word, happened=f"The call ended with `{word}`.", then="", advice="")
    return FailureView(word=word, happened=known.happened, then=known.then, advice=known.advice)


def _line(found: Found) -> ExchangeLine:
    end = found.end
    took = parse_iso(end.at) - parse_iso(found.at) if end is not None else None
    return ExchangeLine(
        exchange_id=found.id,
        card_id=found.card_id,
        agent=found.agent,
        purpose=found.purpose,
        provider=(end.provider if end is not None else None) or found.provider,
        model=(end.model if end is not None else None) or found.model,
        at=found.at,
        ended=end.ended if end is not None else None,
        milliseconds=max(int(took.total_seconds() * 1000), 0) if took is not None else None,
        failure=end.failure if end is not None else None,
        attempts=end.attempts if end is not None else None,
        input_tokens=end.input_tokens if end is not None else None,
        output_tokens=end.output_tokens if end is not None else None,
        cached_tokens=end.cached_tokens if end is not None else None,
    )


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="list_exchanges",
        summary="The model calls of a project: who was asked, how long it took, how it ended.",
        input=ListExchanges,
        output=ExchangeList,
        permissions=frozenset({Permission.RUNS_READ}),
        effect=Effect.READ,
        doors=PEOPLES_DOORS,
        handler=listed,
        lock=lock,
    ),
    Operation(
        name="get_exchange",
        summary="One model call with all that is known of it, and what its failure means.",
        input=GetExchange,
        output=ExchangeView,
        permissions=frozenset({Permission.RUNS_READ}),
        effect=Effect.READ,
        doors=PEOPLES_DOORS,
        handler=get,
        lock=lock,
    ),
)
