"""The turn loop of one node task: ask the model, act on its calls in order, until its result is accepted.

Every step is durable before anything that depends on it happens: the exchange row before the call, answer and calls
in one commit after it, each result before the next call.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import anyio

from workstead import errors
from workstead.agents import (
    conversations,
    endings,
    exchanges,
    failure_words,
    history,
    protection,
    reasoning,
    refusals,
    shortening,
    shown,
    spending,
    task,
)
from workstead.agents.budgets import Wanted
from workstead.agents.conversations import NewRow, RowKind
from workstead.agents.genesis import Strategy
from workstead.agents.models import sizing
from workstead.agents.models.failures import (
    ContentPolicyError,
    ContextExhaustedError,
    ModelError,
    RequestTooLargeError,
    RouteUnfitError,
)
from workstead.agents.models.shape import (
    Answer,
    Call,
    Message,
    NoTurn,
    Request,
    Role,
    Sent,
    Situation,
    Transport,
    Usage,
)
from workstead.agents.partials import Partials
from workstead.agents.shortening import TooLong
from workstead.agents.shown import Shown
from workstead.agents.tools import tool
from workstead.agents.tools.tool import CallSite, ToolResult
from workstead.kernel import canonical, faults
from workstead.kernel.access import Caller
from workstead.kernel.canonical import Json
from workstead.kernel.effects import Effects, Outcome
from workstead.kernel.transaction import Tx
from workstead.logger import get_logger
from workstead.work.workflow.graph import EMIT_RESULT, MAX_CORRECTIONS, Candidate, Prompt

ARGUMENTS_LIMIT_BYTES = 4 << 20

_log = get_logger()


@dataclass(frozen=True, kw_only=True)
class _Claimed:
    input_id: str
    effect_id: str


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """A call with the id of its row."""

    row_id: str
    call: Call


@dataclass(frozen=True, kw_only=True)
class _Said:
    """A complete answer that stands in the conversation."""

    input_id: str
    text: str
    calls: tuple[_Placed, ...]


@dataclass(frozen=True, kw_only=True)
class _Refused:
    """A refusal by a content policy. The notice for the one retry, or the marker of the second, is written."""

    candidate: Candidate
    input_id: str
    row: int


_Answered = _Said | _Refused | TooLong | task.Blocked | task.Failed


class Turns:
    """One run of the loop. transport: how the route's provider is asked. means: what shortens the conversation.

    partials: who passes on what is being written; None: nobody.
    """

    def __init__(
        self,
        one: task.Task,
        *,
        effects: Effects,
        transport: Transport,
        means: shortening.Means,
        partials: Partials | None = None,
    ) -> None:
        self._partials = partials
        self._task = one
        self._effects = effects
        self._transport = transport
        self._history = history.History(one.conversation.id)
        self._shortening = shortening.Shortening(one, effects=effects, held=self._history, means=means)
        self._spending = spending.Spending(one, effects=effects)
        self._room = means.room
        self._records: tuple[Shown, ...] = ()
        self._left = MAX_CORRECTIONS
        self._turns = 0

    async def run(self) -> task.TaskEnd:
        """Until the result is accepted, or the task is blocked or has failed."""
        while True:
            await self._task.host.gate()
            await self._task.host.deliver()
            said: _Answered = await self._shortening.ask(lambda: self._request(None), self._ask)
            if isinstance(said, _Refused):
                said = await self._ask(await self._request(said.candidate), after=said)
            if isinstance(said, _Refused):
                return task.Blocked(reason=refusals.blocked(self._task.agent.name, said.row))
            if isinstance(said, TooLong):
                return said.end
            if not isinstance(said, _Said):
                return said
            self._turns += 1
            end = await self._answer(said)
            if end is not None:
                return end

    async def _answer(self, said: _Said) -> task.TaskEnd | None:
        """Act on an answer; None when the loop goes on."""
        if not said.calls:
            return await self._correct_text()
        for index, placed in enumerate(said.calls):
            if placed.call.name != EMIT_RESULT:
                await self._act(placed)
                continue
            end = await (self._misplaced(said, index) if index + 1 < len(said.calls) else self._finish(placed))
            if end is not None:
                return end
        return None

    async def _finish(self, placed: _Placed) -> task.Accepted | task.Failed | None:
        """Have a result judged; None when it is to be corrected. The last attempt is judged like every other."""
        verdict = await self._task.host.finish(
            task.Finish(row_id=placed.row_id, call_id=placed.call.id, arguments=placed.call.arguments, left=self._left)
        )
        if isinstance(verdict, task.Accepted):
            return verdict
        if self._left == 0:
            return task.Failed(reason=verdict.reason)
        self._left -= 1
        return None

    async def _misplaced(self, said: _Said, index: int) -> task.Failed | None:
        """A result that is not the last call spends an attempt like every other that is not accepted."""
        if self._left == 0:
            await self._settle(said.calls[index], ToolResult(success=False, error=task.EXHAUSTED))
            for later in said.calls[index + 1 :]:
                await self._settle(later, _not_made(later.call.name))
            return task.Failed(reason=task.EXHAUSTED)
        self._left -= 1
        await self._settle(said.calls[index], _not_last())
        return None

    async def _ask(self, request: Request, *, after: _Refused | None = None) -> _Answered:
        """One call. after: the refusal that it answers with the one retry."""
        one = self._task

        wanted = self._wanted(request)

        def claim(tx: Tx, _caller: Caller) -> _Claimed:
            claimed = self._claim(tx, request)
            self._spending.hold(tx, claimed.input_id, wanted)
            return claimed

        async def act(claimed: _Claimed) -> Answer:
            try:
                return await self._spending.timed(lambda: self._complete(request, claimed.input_id))
            except NoTurn:
                raise
            except Exception:
                # What is recorded is the class alone; a provider's text stays in the log.
                _log.exception("model call failed", id=claimed.input_id, agent=one.agent.name)
                raise

        def settle(tx: Tx, claimed: _Claimed, outcome: Outcome[Answer]) -> _Answered:
            self._spending.settle(tx, claimed.input_id, outcome)
            return self._record(tx, claimed, outcome, after=after)

        async def made() -> _Answered:
            return await self._effects.perform(
                one.proof, one.scope, claim=claim, act=act, settle=settle, deadline_s=endings.MODEL_DEADLINE_S
            )

        return await self._spending.call(made)

    async def _complete(self, request: Request, input_id: str) -> Answer:
        """Ask, heard by whoever watches the conversation."""
        if self._partials is None:
            return await self._transport.complete(request)
        subject = conversations.topic(self._task.card_id, self._task.agent.name)
        with self._partials.listening(self._task.scope, subject, input_id) as listener:
            return await self._transport.complete(replace(request, listener=listener))

    def _wanted(self, request: Request) -> Wanted:
        """What the call may come to at most."""
        return Wanted(
            candidates=(request.pinned,) if request.pinned is not None else self._task.route.candidates,
            input_tokens=self._room.tokens_of(request),
            output_tokens=request.max_tokens,
        )

    async def _request(self, pinned: Candidate | None) -> Request:
        one = self._task

        def look(tx: Tx) -> task.Prepared:
            self._history.catch_up(tx)
            return one.host.prepare(tx)

        prepared = await self._effects.look(look)
        self._records = prepared.records
        opening = Message(role=Role.USER, text=prepared.text)
        candidate = pinned or one.route.candidates[0]
        return Request(
            model=candidate.model,
            instructions=one.instructions,
            messages=(opening, *self._history.messages()),
            tools=one.schemas,
            max_tokens=one.route.max_tokens,
            temperature=one.route.temperature,
            situation=Situation(
                agent=one.agent.name,
                card_id=one.card_id,
                card_title=one.card_title,
                node=one.node.name,
                entry=one.entry,
                turns=self._turns,
                children=prepared.children,
            ),
            pinned=pinned,
        )

    def _claim(self, tx: Tx, request: Request) -> _Claimed:
        one = self._task
        candidate = request.pinned or one.route.candidates[0]
        prefix = canonical.digest([request.instructions, request.messages[0].text])
        tools = canonical.digest([each.name for each in request.tools])
        effect_id = self._effects.claim(
            tx,
            one.scope,
            kind="model:call",
            subject=conversations.topic(one.card_id, one.agent.name),
            payload=[prefix, tools, self._history.last],
            deadline_s=endings.MODEL_DEADLINE_S,
        )
        new = tuple(each for each in self._records if each not in self._history.shown)
        if new:
            conversations.append(tx, one.conversation, [shown.new_row(new)], activation_id=one.activation_id)
        input_id = tx.new_id()
        exchanges.add(
            tx,
            exchanges.Exchange(
                id=input_id,
                project_id=one.project_id,
                conversation_id=one.conversation.id,
                activation_id=one.activation_id,
                effect_id=effect_id,
                purpose=request.purpose,
                segment=self._history.segment,
                first_row=self._history.first,
                last_row=self._history.last,
                provider=candidate.provider,
                model=candidate.model,
                prefix_digest=prefix,
                tools_digest=tools,
                request_bytes=sizing.text_bytes(request),
            ),
        )
        return _Claimed(input_id=input_id, effect_id=effect_id)

    def _record(self, tx: Tx, claimed: _Claimed, outcome: Outcome[Answer], *, after: _Refused | None) -> _Answered:
        """Exchange end, answer and calls in one commit; or the end and what a refusal leads to."""
        one = self._task
        answer = outcome.value
        subject = conversations.topic(one.card_id, one.agent.name)
        self._effects.end(tx, one.scope, claimed.effect_id, ended=outcome.ended, subject=subject)
        failure = failure_words.of(outcome.error) if outcome.error is not None else None
        exchanges.end(
            tx,
            claimed.input_id,
            ended=outcome.ended,
            finish=answer.finish if answer is not None else None,
            failure=failure,
            usage=answer.usage if answer is not None else Usage(),
            sent=answer.sent if answer is not None else _sent(outcome.error),
        )
        if isinstance(outcome.error, ContentPolicyError) and outcome.error.sent is not None:
            return self._refused(tx, claimed, outcome.error.sent.candidate, after=after)
        if answer is None:
            return _no_answer(outcome)
        faults.point("exchange.ended")
        said = _Said(
            input_id=claimed.input_id,
            text=answer.text,
            calls=tuple(
                _Placed(row_id=f"{claimed.input_id}:{index}", call=call) for index, call in enumerate(answer.calls)
            ),
        )
        rows = [reasoning.new_row(answer.private, input_id=said.input_id)] if answer.private else []
        conversations.append(tx, one.conversation, [*rows, *_answer_rows(said)], activation_id=one.activation_id)
        return said

    def _refused(self, tx: Tx, claimed: _Claimed, candidate: Candidate, *, after: _Refused | None) -> _Refused:
        """Write what a refusal leads to: the notice for one retry, or the marker of the second."""
        one = self._task
        row = refusals.retry_row(claimed.input_id)
        if after is not None:
            row = refusals.marker_row(
                tx, one.conversation, candidate=candidate, first=after.input_id, second=claimed.input_id
            )
        number = conversations.append(tx, one.conversation, [row], activation_id=one.activation_id)
        return _Refused(candidate=candidate, input_id=claimed.input_id, row=number)

    async def _act(self, placed: _Placed) -> None:
        """Act on one call; its result stands in the conversation when this returns, cancelled or not."""
        one = self._task
        faults.point("call.written")
        site = CallSite(
            proof=one.proof,
            project_id=one.project_id,
            card_id=one.card_id,
            activation_id=one.activation_id,
            call_id=placed.row_id,
            settle=lambda tx, result: self._append_result(tx, placed, result),
        )
        try:
            acted = await self._try(placed.call, site)
        except anyio.get_cancelled_exc_class():
            await self._settle(placed, _interrupted(placed.call.name))
            raise
        if not acted.committed:
            await self._settle(placed, acted.result)

    async def _try(self, call: Call, site: CallSite) -> tool.Acted:
        chosen = self._task.tools.get(call.name)
        if chosen is None:
            names = ", ".join(self._task.tools)
            message = f"There is no tool {call.name!r} here; there are {names}."
            return tool.Acted(result=ToolResult(success=False, error=message))
        if not await self._effects.holds(self._task.proof, self._task.scope):
            raise errors.unauthenticated("This agent's activation has ended.")
        try:
            arguments = _arguments(call)
            with anyio.move_on_after(chosen.deadline_s), self._spending.working(chosen.name):
                return await chosen.act(site, arguments)
        except errors.Refusal as refusal:
            if refusal.kind is errors.Kind.UNAUTHENTICATED:
                raise
            return tool.Acted(result=tool.refused(refusal))
        except Exception:  # noqa: BLE001 - the agent loop: a broken tool must not end the activation
            trace_id = site.call_id
            _log.exception("tool failed", tool=call.name, id=trace_id)
            message = f"{call.name} failed inside the server (id {trace_id}); try another way."
            return tool.Acted(result=ToolResult(success=False, error=message))
        return tool.Acted(result=_late(chosen))

    async def _settle(self, placed: _Placed, result: ToolResult) -> None:
        await self._effects.settle(self._task.scope, lambda tx: self._append_result(tx, placed, result))

    def _append_result(self, tx: Tx, placed: _Placed, result: ToolResult) -> None:
        if conversations.answered(tx, self._task.conversation.id, placed.row_id):
            # A cancelled or late call may have committed its result with its change: that one stands.
            return
        row = result_row(placed.row_id, call_id=placed.call.id, name=placed.call.name, result=result)
        conversations.append(tx, self._task.conversation, [row], activation_id=self._task.activation_id)

    async def _correct_text(self) -> task.Failed | None:
        """Plain text ends nothing: say so, or end the task when the budget is spent."""
        one = self._task
        if self._left == 0:
            return task.Failed(reason=f"The node ended without {EMIT_RESULT}: its corrective budget is exhausted.")
        self._left -= 1
        why = f"Plain text does not end this step; call {EMIT_RESULT} when it is done."
        rows = correction_rows(one.node.correction_prompt, why=why, left=self._left)

        def job(tx: Tx) -> None:
            conversations.append(tx, one.conversation, rows, activation_id=one.activation_id)

        await self._effects.settle(one.scope, job)
        return None


def result_row(row_id: str, *, call_id: str, name: str, result: ToolResult) -> NewRow:
    """The row that answers a call. row_id: the call's row; call_id: the id the model gave it."""
    return NewRow(
        kind=RowKind.TOOL_RESULT,
        role=Role.TOOL,
        content={"id": call_id, "result": result.body()},
        input_id=row_id.partition(":")[0],
        call_id=row_id,
        tool=name,
    )


def correction_rows(prompt: Prompt, *, why: str, left: int) -> list[NewRow]:
    """The configured correction and what exactly was wrong, as two rows."""
    attempts = f"{left} corrective attempt{'' if left == 1 else 's'} remain{'s' if left == 1 else ''} at this step."
    return [
        NewRow(kind=RowKind.CORRECTION, role=Role.USER, content=protection.of_prompt(prompt)),
        NewRow(kind=RowKind.CONTEXT, role=Role.USER, content={"text": f"{why} {attempts}"}),
    ]


def _answer_rows(said: _Said) -> list[NewRow]:
    text = NewRow(kind=RowKind.TEXT, role=Role.ASSISTANT, content={"text": said.text}, input_id=said.input_id)
    calls = [
        NewRow(
            kind=RowKind.TOOL_CALL,
            role=Role.ASSISTANT,
            content={"id": placed.call.id, "arguments": placed.call.arguments},
            input_id=said.input_id,
            call_id=placed.row_id,
            tool=placed.call.name,
        )
        for placed in said.calls
    ]
    return [text, *calls]


def _sent(error: BaseException | None) -> Sent | None:
    return error.sent if isinstance(error, ModelError) else None


def _no_answer(outcome: Outcome[Answer]) -> TooLong | task.Blocked | task.Failed:
    """How it ends; or that a shorter request may be answered."""
    end = endings.of(outcome)
    if isinstance(end, task.Blocked):
        if isinstance(outcome.error, ContextExhaustedError):
            return TooLong(strategy=Strategy.PROVIDER, end=end)
        if isinstance(outcome.error, RequestTooLargeError) and not isinstance(outcome.error, RouteUnfitError):
            return TooLong(strategy=Strategy.SIZE, end=end)
    return end


def _arguments(call: Call) -> Mapping[str, object]:
    given = canonical.load(call.arguments.encode("utf-8", "surrogatepass"), limit_bytes=ARGUMENTS_LIMIT_BYTES)
    if not isinstance(given, dict):
        raise errors.invalid("arguments_not_object", "A tool's arguments are one JSON object.")
    return cast("Mapping[str, object]", given)


def _not_last() -> ToolResult:
    message = f"{EMIT_RESULT} must be the last call of an answer; the other calls of this answer were made."
    return ToolResult(success=False, error=message)


def _late(chosen: tool.Tool) -> ToolResult:
    known = "its effect is unknown" if chosen.changes else "it changes nothing"
    message = f"{chosen.name} took over {chosen.deadline_s:g} s and was interrupted; {known}."
    return ToolResult(success=False, error=message, data={"outcome_unknown": True} if chosen.changes else None)


def _not_made(name: str) -> ToolResult:
    return ToolResult(success=False, error=f"{name} was not called: the step had ended before it.")


def _interrupted(name: str) -> ToolResult:
    data: Json = {"interrupted": True}
    message = f"{name} was interrupted: the run was stopped or the server went down."
    return ToolResult(success=False, error=message, data=data)
