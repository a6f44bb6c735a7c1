"""Operations: named, typed use cases with permissions and one handler; `run` is their only write path.

Order of a write: lock the scope, read authority, check permissions, only then report a missing scope, insert the
receipt (a known key answers from it), run the handler, keep the answer, commit, announce.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from workstead import errors
from workstead.clock import Clock
from workstead.kernel import access, canonical, faults, receipts, scopes
from workstead.kernel.access import Authority, Caller, Permission, Proof
from workstead.kernel.feed import Wakes
from workstead.kernel.media import Shown
from workstead.kernel.store import Connection, Store
from workstead.kernel.transaction import Tx

I = TypeVar("I", bound="Input")  # noqa: E741 - input
O = TypeVar("O")  # noqa: E741 - output


class Effect(StrEnum):
    """What an operation does to the world."""

    DESTRUCTIVE = "destructive"
    OUTWARD = "outward"
    READ = "read"
    WRITE = "write"


class Door(StrEnum):
    """Which doors may show an operation."""

    AGENT = "agent"
    CLI = "cli"
    MCP = "mcp"
    PAGE = "page"
    REST = "rest"


class Reach(StrEnum):
    """Where a read runs: key lookups on the loop, everything else on a reader thread."""

    KEY = "key"
    SCAN = "scan"


class AnswerRule(StrEnum):
    """What a repeated request id is answered with."""

    KEEP = "keep"
    ONCE = "once"  # the answer held a secret: a repeat is a conflict


class Input(BaseModel):
    """The base of every input: closed, strict, frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class WriteInput(Input):
    """The base of a write's input."""

    request_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Choose one per intended change; repeating it returns the first answer and changes nothing.",
    )


@dataclass(frozen=True, kw_only=True)
class Again(Generic[O]):
    """How a long answer is kept: as the id and revision of what it shows, and rendered from them again."""

    kept: Callable[[O], tuple[str, int]]
    render: Callable[[Tx, Caller, str, int], O]


@dataclass(frozen=True, kw_only=True)
class Operation(Generic[I, O]):
    """One use case.

    lock: the scope a write locks, found from its input (None: there is no such scope). again: needed where an
    answer can pass the receipt's limit. gather: reads what a write needs from outside the database (a folder), on a
    reader thread before the transaction and after the caller's permissions were checked once; the handler finds it
    in `tx.gathered`. shows: pictures, sounds and documents that a door may put beside the answer's data. exact:
    the answer leaves as it is (S21: exact bytes); everything else is redacted by its door.
    """

    name: str
    summary: str
    input: type[I]
    output: type[O]
    permissions: frozenset[Permission]
    effect: Effect
    doors: frozenset[Door]
    handler: Callable[[Tx, Caller, I], O]
    lock: Callable[[Tx, I], str | None]
    reach: Reach = Reach.SCAN
    answer: AnswerRule = AnswerRule.KEEP
    again: Again[O] | None = None
    gather: Callable[[Tx, Caller, I], object] | None = None
    shows: Callable[[O], tuple[Shown, ...]] | None = None
    exact: bool = False
    adapter: TypeAdapter[O] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "adapter", TypeAdapter(self.output))


AnyOperation = Operation[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Admitted:
    """A call whose input is checked. digest: of a change's canonical input without its request id."""

    operation: AnyOperation
    args: Input
    digest: str
    request_id: str | None


@dataclass(frozen=True, kw_only=True)
class _Committed:
    answer: object
    wakes: set[str]


class Operations:
    """The table of operations and the one way to run them.

    operations: the whole table; two with one name stop the start. authority: reads a proof inside the transaction.
    """

    def __init__(
        self,
        operations: Iterable[AnyOperation],
        *,
        store: Store,
        authority: Authority,
        wakes: Wakes,
        clock: Clock,
    ) -> None:
        self.table: dict[str, AnyOperation] = {}
        for operation in operations:
            if operation.name in self.table:
                raise ValueError(f"two operations are named {operation.name}")
            self.table[operation.name] = operation
        self._store = store
        self._authority = authority
        self._wakes = wakes
        self._clock = clock
        self.counts: Counter[tuple[str, str]] = Counter()

    async def run(
        self,
        proof: Proof,
        name: str,
        raw: Mapping[str, object],
        *,
        door: Door,
        also: Callable[[Tx, Any], None] | None = None,
    ) -> Any:
        """Run one operation and return its answer.

        also: written in the same transaction after the handler, so that whoever asked can keep the answer with the
        change itself (an agent's tool result). Raises Refusal; then nothing was written and the key is free.
        """
        try:
            admitted = self.admit(name, raw, door=door)
            if admitted.operation.effect is Effect.READ:
                answer = await self._read(proof, admitted)
            else:
                answer = await self._write(proof, admitted, also=also)
        except errors.Refusal as refusal:
            # A name that a stranger made up is not kept: the counts would grow without end.
            self.counts[name if name in self.table else "", refusal.code] += 1
            raise
        self.counts[name, "ok"] += 1
        return answer

    def admit(self, name: str, raw: Mapping[str, object], *, door: Door) -> Admitted:
        """Find the operation and check the input; raises `not_found` or `invalid` with paths."""
        operation = self.table.get(name)
        if operation is None or door not in operation.doors:
            raise errors.not_found("operation", name)
        args = checked(operation.input, raw)
        digest = "" if operation.effect is Effect.READ else input_digest(raw)
        return Admitted(operation=operation, args=args, digest=digest, request_id=getattr(args, "request_id", None))

    async def _read(self, proof: Proof, admitted: Admitted) -> object:
        def job(connection: Connection) -> object:
            return self._look(connection, proof=proof, admitted=admitted, then=admitted.operation.handler)

        if admitted.operation.reach is Reach.KEY:
            return await self._store.look(job)
        return await self._store.read(job, name=admitted.operation.name)

    def _look(
        self, connection: Connection, *, proof: Proof, admitted: Admitted, then: Callable[[Tx, Caller, Any], object]
    ) -> object:
        tx = Tx(connection, clock=self._clock)
        operation = admitted.operation
        scope = operation.lock(tx, admitted.args)
        caller = self._authority(tx, proof, scope)
        access.require(caller, operation.permissions, operation=operation.name)
        if scope is None:
            raise _missing_scope(admitted.args)
        return then(tx, caller, admitted.args)

    async def _write(self, proof: Proof, admitted: Admitted, *, also: Callable[[Tx, Any], None] | None) -> object:
        gather = admitted.operation.gather
        gathered: object = None
        if gather is not None:
            gathered = await self._store.read(
                partial(self._look, proof=proof, admitted=admitted, then=partial(_gather, admitted)),
                name=admitted.operation.name,
            )
        elif not self._store.near:
            # Whoever has no right to write must not hold a lock that others wait for, not even for a moment.
            await self._store.read(partial(self._look, proof=proof, admitted=admitted, then=_nothing))

        def job(connection: Connection) -> _Committed:
            tx = Tx(connection, clock=self._clock, gathered=gathered)
            answer = self._transact(tx, proof, admitted)
            if also is not None:
                also(tx, answer)
            return _Committed(answer=answer, wakes=tx.wakes)

        committed = await self._store.write(
            job, announce=lambda done: self._wakes.announce(done.wakes), name=admitted.operation.name
        )
        return committed.answer

    def _transact(self, tx: Tx, proof: Proof, admitted: Admitted) -> object:
        operation = admitted.operation
        scope = operation.lock(tx, admitted.args)
        locked = scope is not None and scopes.lock(tx, scope)
        caller = self._authority(tx, proof, scope if locked else None)
        access.require(caller, operation.permissions, operation=operation.name)
        if not locked:
            raise _missing_scope(admitted.args)
        key = _key(caller, admitted, request_id=admitted.request_id or tx.change_id)
        kept = receipts.claim(tx, key, digest=admitted.digest, scope=scope)
        faults.point("receipt.written")
        if kept is not None:
            return _replay(tx, caller, operation, kept)
        answer = operation.handler(tx, caller, admitted.args)
        receipts.keep(tx, key, _keep(operation, answer))
        return answer


def checked(model: type[I], raw: Mapping[str, object]) -> I:
    """The typed input; raises `invalid` with paths."""
    try:
        return model.model_validate_json(canonical.dump(dict(raw)))
    except ValidationError as error:
        raise input_refusal(error) from None
    except TypeError:
        message = "The input holds something JSON cannot carry (a lone surrogate, NaN or a number past 64 bits)."
        raise errors.invalid("input_invalid", message) from None


def input_digest(raw: Mapping[str, object]) -> str:
    """The digest of what was sent, without its request id; of an input that `checked` took."""
    return canonical.digest({key: value for key, value in raw.items() if key != "request_id"})


def input_refusal(error: ValidationError) -> errors.Refusal:
    """Pydantic's findings as issues with paths; values never appear."""
    issues = tuple(
        errors.Issue(path=canonical.path(tuple(found["loc"])), message=_sentence(found["type"], found["msg"]))
        for found in error.errors(include_url=False, include_context=False, include_input=False)
    )
    shown = "; ".join(f"{issue.path}: {issue.message}" for issue in issues[:3])
    return errors.invalid("input_invalid", f"Correct the input: {shown}.", issues=issues)


def _sentence(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "there is no such field here"
    if kind == "missing":
        return "this field is required"
    return message[:1].lower() + message[1:]


def _key(caller: Caller, admitted: Admitted, *, request_id: str) -> receipts.Key:
    return receipts.Key(subject=caller.subject, operation=admitted.operation.name, request_id=request_id)


def _gather(admitted: Admitted, tx: Tx, caller: Caller, args: Input) -> object:
    # A known key will answer from its receipt, so what its folder says now must not refuse it (K05).
    given = admitted.request_id
    if given is not None and receipts.find(tx, _key(caller, admitted, request_id=given)) is not None:
        return None
    assert admitted.operation.gather is not None
    return admitted.operation.gather(tx, caller, args)


def _nothing(tx: Tx, caller: Caller, args: Input) -> None:
    """Only whether the caller may is asked."""


def _missing_scope(args: Input) -> errors.Refusal:
    return errors.not_found("project", str(getattr(args, "project", "") or "instance"))


def _keep(operation: AnyOperation, answer: object) -> receipts.Kept:
    if operation.answer is AnswerRule.ONCE:
        return receipts.Kept(answer=None, answer_id=None, answer_revision=None)
    text = operation.adapter.dump_json(answer).decode()
    if len(text.encode()) <= receipts.ANSWER_LIMIT_BYTES or operation.again is None:
        return receipts.Kept(answer=text, answer_id=None, answer_revision=None)
    identity, revision = operation.again.kept(answer)
    return receipts.Kept(answer=None, answer_id=identity, answer_revision=revision)


def _replay(tx: Tx, caller: Caller, operation: AnyOperation, kept: receipts.Kept) -> object:
    if kept.answer is not None:
        return cast("object", operation.adapter.validate_json(kept.answer))
    if kept.answer_id is not None and operation.again is not None:
        revision = kept.answer_revision or 0
        return cast("object", operation.again.render(tx, caller, kept.answer_id, revision))
    message = "This was done under the same request id, and its answer was shown once; it cannot be shown again."
    raise errors.conflict("answer_shown_once", message)
