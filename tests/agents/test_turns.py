"""The turn loop, driven by a model that answers what it is told to, on a real database."""

import asyncio
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import anyio
import pytest
import structlog.testing

from agents import desk
from support import instance, wal
from support.database import statement
from workstead import errors
from workstead.accounts import grants
from workstead.agents import conversations, task
from workstead.agents.conversations import RowKind
from workstead.agents.models.shape import Answer, Call, Finish, NoTurn, Role, Usage
from workstead.agents.tools.tool import Acted, CallSite, Tool, ToolResult
from workstead.kernel import store
from workstead.kernel.store import Connection
from workstead.kernel.transaction import Tx
from workstead.work.workflow.graph import EMIT_RESULT, MAX_CORRECTIONS

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]
WRITERS_AT_MOST = 8
FINE = {"success": True, "data": "fine"}
_COUNTS = statement(
    "SELECT (SELECT count(*) FROM exchange), (SELECT count(*) FROM exchange_end), "
    "(SELECT count(*) FROM conversation_row)"
)


@pytest.mark.covers("W13", "W17")
async def test_calls_of_one_answer_are_acted_on_in_order_each_result_its_own_commit(tmp_path: Path) -> None:
    """S11: one exchange; each is matched by its own result before the next is made."""
    seen: list[int] = []

    async def look(_site: CallSite, _given: Mapping[str, object]) -> Acted:
        # What a reader on another connection sees, so what is committed.
        with instance.transaction(place.instance.path) as tx:
            rows = conversations.rows_after(tx, place.conversation.id)
        seen.append(sum(row.kind is RowKind.TOOL_RESULT for row in rows))
        return Acted(result=ToolResult(success=True, data="fine"))

    with desk.opened(tmp_path) as place:
        model = desk.Model(answers=[desk.calls("a", "b", "a"), desk.ends()])
        end = await place.turns(model, desk.tool("a", look), desk.tool("b", look)).run()
        rows = place.rows()
    assert end == desk.ACCEPTED
    assert seen == [0, 1, 2]
    assert desk.kinds(rows) == [
        "activation",
        *("text", "tool_call", "tool_call", "tool_call"),
        *("tool_result", "tool_result", "tool_result"),
        *("text", "tool_call", "tool_result"),
    ]
    assert [row.call_id for row in rows[2:5]] == [row.call_id for row in rows[5:8]]
    assert len({row.input_id for row in rows[1:8]}) == 1


@pytest.mark.covers("W13", "K15")
@pytest.mark.only_sqlite("read from its write-ahead log")
async def test_an_exchange_is_claimed_before_the_call_and_ends_with_its_rows(tmp_path: Path) -> None:
    """Architecture, "An operation": assistant row, its calls and the exchange's end are one commit."""
    seen: list[tuple[int, int, int]] = []

    async def before() -> None:
        with instance.transaction(place.instance.path) as tx:
            seen.append(_counts(tx))

    with desk.opened(tmp_path) as place:
        told = Usage(input_tokens=5, output_tokens=3)
        last = Answer(text="", calls=desk.ends().calls, finish=Finish.CALLS, usage=told)
        model = desk.Model(answers=[desk.calls("a"), last], before=before)
        with wal.kept(place.instance.path):
            await place.turns(model, desk.tool("a")).run()
        with instance.transaction(place.instance.path) as tx:
            after = _counts(tx)
    # Exchanges, ends and rows of the conversation: while the first and the second call is made, and at the end.
    assert seen == [(1, 0, 1), (2, 1, 4)]
    assert after == (2, 2, 7)


@pytest.mark.covers("W13", "K15")
@pytest.mark.only_sqlite("read from its write-ahead log")
async def test_a_step_takes_few_commits(tmp_path: Path) -> None:
    """Quality, "agent step": at most two commits per tool call and three per model turn."""

    async def cost(answers: list[Answer | BaseException]) -> int:
        folder = tmp_path / str(len(answers)) / str(len(answers[0].calls) if isinstance(answers[0], Answer) else 0)
        folder.mkdir(parents=True)
        with desk.opened(folder) as place, wal.kept(place.instance.path):
            before = wal.written(place.instance.path)
            await place.turns(desk.Model(answers=answers), desk.tool("a")).run()
            return wal.written(place.instance.path).since(before).commits

    one_call = await cost([desk.calls("a"), desk.ends()])
    three_calls = await cost([desk.calls("a", "a", "a"), desk.ends()])
    another_turn = await cost([desk.calls("a"), desk.calls("a"), desk.ends()])
    assert three_calls - one_call == 2  # one per call
    assert another_turn - one_call == 3  # a model turn with one call: claim, answer, result


@pytest.mark.covers("W17")
@pytest.mark.parametrize(
    ("refusal", "advice"),
    [
        (errors.invalid("path_invalid", "No such path.", issues=[errors.Issue(path="path", message="no")]), "correct"),
        (errors.denied("write_denied", "You may not write this."), "for good"),
        (errors.busy("busy", "Later.", retry_after_s=1), "later"),
        (
            errors.Refusal(kind=errors.Kind.NEEDS_REVIEW, code="review_pending", message="A person decides."),
            "wait for a person",
        ),
    ],
)
async def test_a_refusal_reaches_the_agent_with_what_to_do_about_it(
    tmp_path: Path, refusal: errors.Refusal, advice: str
) -> None:
    """House style, line 31: correct your call, failed for good, or wait for a person."""
    with desk.opened(tmp_path) as place:
        model = desk.Model(answers=[desk.calls("a"), desk.ends()])
        await place.turns(model, desk.tool("a", desk.raising(refusal))).run()
        ((_, result), _) = place.results()
    assert isinstance(result, dict)
    assert (result["success"], result["error"]) == (False, refusal.message)
    assert result["data"]["code"] == refusal.code
    assert advice in result["data"]["advice"]
    # And it is what the model is sent next.
    assert refusal.message in model.asked[1].messages[-1].text


@pytest.mark.covers("W17")
async def test_a_tool_that_breaks_is_a_neutral_sentence_and_a_trace_in_the_log(tmp_path: Path) -> None:
    """Architecture, "Errors": full trace in the log under an id, that id and one neutral sentence to the caller."""
    with desk.opened(tmp_path) as place, structlog.testing.capture_logs() as logged:
        model = desk.Model(answers=[desk.calls("a", "b"), desk.ends()])
        broken = desk.tool("a", desk.raising(RuntimeError("the password is swordfish")))
        end = await place.turns(model, broken, desk.tool("b")).run()
        (call_id, result), (_, second), _ = place.results()
    assert end == desk.ACCEPTED
    assert second == FINE
    assert result == {"success": False, "error": f"a failed inside the server (id {call_id}); try another way."}
    (entry,) = logged
    assert (entry["event"], entry["id"], entry["exc_info"]) == ("tool failed", call_id, True)


@pytest.mark.covers("W17")
async def test_arguments_that_are_no_object_and_names_of_no_tool_are_corrected(tmp_path: Path) -> None:
    """What a model writes is untrusted; nothing runs on it."""
    bad = tuple(
        Call(id=str(index), name=name, arguments=arguments)
        for index, (name, arguments) in enumerate((("a", "[1]"), ("a", '{"x": '), ("A", "{}")))
    )
    with desk.opened(tmp_path) as place:
        model = desk.Model(answers=[Answer(text="", calls=bad), desk.ends()])
        await place.turns(model, desk.tool("a", desk.raising(AssertionError("it ran")))).run()
        told = [str(result["error"]) for _, result in place.results()[:3] if isinstance(result, dict)]
    assert "one JSON object" in told[0]
    assert "JSON" in told[1]
    assert told[2] == "There is no tool 'A' here; there are a."


@pytest.mark.covers("W17")
@pytest.mark.parametrize("changes", [True, False])
async def test_a_tool_that_takes_too_long_is_interrupted_and_honest_about_it(tmp_path: Path, *, changes: bool) -> None:
    """Spec, settlement: an effect that nobody saw end is unknown."""

    async def hang(_site: CallSite, _given: Mapping[str, object]) -> Acted:
        await anyio.sleep_forever()
        raise AssertionError

    with desk.opened(tmp_path) as place:
        model = desk.Model(answers=[desk.calls("a"), desk.ends()])
        slow = desk.tool("a", hang, deadline_s=0.05, changes=changes)
        with anyio.fail_after(5):
            assert await place.turns(model, slow).run() == desk.ACCEPTED
        ((_, result), _) = place.results()
    assert isinstance(result, dict)
    assert str(result["error"]).startswith("a took over 0.05 s and was interrupted")
    assert result.get("data") == ({"outcome_unknown": True} if changes else None)


async def test_a_timeout_inside_a_tool_is_not_taken_for_its_deadline(tmp_path: Path) -> None:
    """A tool's own failure must not read as 900 seconds."""
    with desk.opened(tmp_path) as place, structlog.testing.capture_logs():
        model = desk.Model(answers=[desk.calls("a"), desk.ends()])
        await place.turns(model, desk.tool("a", desk.raising(TimeoutError("a socket")))).run()
        ((_, result), _) = place.results()
    assert isinstance(result, dict)
    assert "failed inside the server" in str(result["error"])


@pytest.mark.covers("W09", "K15")
async def test_stop_settles_the_call_it_interrupts(tmp_path: Path) -> None:
    """Spec, settlement: what was interrupted has its one permanent result; the calls after it are never made."""
    hanging = anyio.Event()

    async def hang(_site: CallSite, _given: Mapping[str, object]) -> Acted:
        hanging.set()
        await anyio.sleep_forever()
        raise AssertionError

    with desk.opened(tmp_path) as place:
        model = desk.Model(answers=[desk.calls("a", "b")])
        tools = (desk.tool("a", hang), desk.tool("b", desk.raising(AssertionError("it ran"))))
        await _stopped(place, model, *tools, when=hanging)
        ((_, result),) = place.results()
        assert isinstance(result, dict)
        assert str(result["error"]).startswith("a was interrupted")
        assert (result["success"], result["data"]) == (False, {"interrupted": True})
        (left,) = _open_calls(place)
    assert left.tool == "b"


@pytest.mark.covers("W09", "K05", "K15")
async def test_a_call_that_committed_its_result_keeps_it_when_it_is_stopped_right_after(tmp_path: Path) -> None:
    """A past bug: Stop between the commit and its waiter wrote "interrupted" beside the true result."""
    committed = anyio.Event()

    async def change(site: CallSite, _given: Mapping[str, object]) -> Acted:
        def job(tx: Tx) -> None:
            site.settle(tx, ToolResult(success=True, data="fine"))

        await place.instance.effects.settle(place.scope, job)
        committed.set()
        await anyio.sleep_forever()
        raise AssertionError

    with desk.opened(tmp_path) as place:
        await _stopped(place, desk.Model(answers=[desk.calls("a")]), desk.tool("a", change), when=committed)
        assert [result for _, result in place.results()] == [FINE]
        assert _open_calls(place) == ()


@pytest.mark.covers("W17", "K05")
async def test_a_call_that_committed_its_result_is_not_answered_twice(tmp_path: Path) -> None:
    """Change and result are one commit; the loop adds nothing."""

    async def change(site: CallSite, _given: Mapping[str, object]) -> Acted:
        result = ToolResult(success=True, data="fine")
        await place.instance.effects.settle(place.scope, lambda tx: site.settle(tx, result))
        return Acted(result=result, committed=True)

    with desk.opened(tmp_path) as place:
        await place.turns(desk.Model(answers=[desk.calls("a"), desk.ends()]), desk.tool("a", change)).run()
        assert [result for _, result in place.results()][:1] == [FINE]
        assert len(place.results()) == 2


@pytest.mark.covers("W09", "K15")
async def test_stop_during_a_model_call_ends_its_exchange_and_leaves_no_answer(tmp_path: Path) -> None:
    """Architecture, "An operation": settled whatever happens; no half of an answer is one."""
    asked = anyio.Event()

    async def before() -> None:
        asked.set()
        await anyio.sleep_forever()

    with desk.opened(tmp_path) as place:
        await _stopped(place, desk.Model(answers=[], before=before), when=asked)
        assert desk.kinds(place.rows()) == ["activation"]
        with instance.transaction(place.instance.path) as tx:
            assert _counts(tx)[:2] == (1, 1)
            assert place.instance.effects.unsettled(tx, place.scope) == ()


@pytest.mark.covers("K06", "W09")
async def test_an_agent_whose_grant_has_ended_acts_no_more(tmp_path: Path) -> None:
    """K06: what a caller may do is read at every call, here between two calls of one answer."""

    async def revoke(_site: CallSite, _given: Mapping[str, object]) -> Acted:
        await place.instance.effects.settle(place.scope, lambda tx: grants.end(tx, place.proof.grant_id))
        return Acted(result=ToolResult(success=True, data="fine"))

    with desk.opened(tmp_path) as place:
        tools = (desk.tool("a", revoke), desk.tool("b", desk.raising(AssertionError("it ran"))))
        with pytest.raises(errors.Refusal) as refused:
            await place.turns(desk.Model(answers=[desk.calls("a", "b")]), *tools).run()
        assert refused.value.kind is errors.Kind.UNAUTHENTICATED
        assert [call.tool for call in _open_calls(place)] == ["b"]


@pytest.mark.covers("W06")
async def test_plain_text_is_corrected_until_the_budget_is_spent(tmp_path: Path) -> None:
    """Spec, "Node entry and acceptance": at most 16 corrections at one node."""
    with desk.opened(tmp_path) as place:
        model = desk.Model(answers=[Answer(text="Done.")] * (MAX_CORRECTIONS + 1))
        end = await place.turns(model).run()
        rows = place.rows()
    assert isinstance(end, task.Failed)
    assert len(model.asked) == MAX_CORRECTIONS + 1
    corrections = [row for row in rows if row.kind is RowKind.CORRECTION]
    assert len(corrections) == MAX_CORRECTIONS
    assert "16" not in str(rows[3].content)
    assert "15 corrective attempts remain" in str(rows[3].content)


@pytest.mark.covers("W06")
async def test_a_result_before_other_calls_is_answered_and_costs_a_correction(tmp_path: Path) -> None:
    """Spec: a malformed result is corrected by the same budget, so it cannot be repeated for ever."""
    with desk.opened(tmp_path) as place:
        model = desk.Model(answers=[desk.calls(EMIT_RESULT, "a")] * (MAX_CORRECTIONS + 2))
        end = await place.turns(model, desk.tool("a")).run()
        first, second, *_ = (result for _, result in place.results())
        left = _open_calls(place)
    assert isinstance(end, task.Failed)
    assert len(model.asked) == MAX_CORRECTIONS + 1
    assert isinstance(first, dict)
    assert "must be the last call" in str(first["error"])
    assert second == FINE
    assert place.finished == []
    assert left == ()


@pytest.mark.covers("W06")
async def test_a_result_that_is_not_accepted_spends_one_correction(tmp_path: Path) -> None:
    """Spec: one budget for every cause."""
    with desk.opened(tmp_path) as place:
        place.verdicts = [task.Rejected(reason="no")] * 2
        await place.turns(desk.Model(answers=[desk.ends()] * 3)).run()
    assert [call.left for call in place.finished] == [MAX_CORRECTIONS, MAX_CORRECTIONS - 1, MAX_CORRECTIONS - 2]


@pytest.mark.covers("W15", "W16")
async def test_a_model_that_fails_fails_the_task_and_its_text_stays_in_the_log(tmp_path: Path) -> None:
    """Architecture, "Errors": the class is recorded, a provider's own text is not."""
    with desk.opened(tmp_path) as place, structlog.testing.capture_logs() as logged:
        end = await place.turns(desk.Model(answers=[RuntimeError("key sk-123 is bad")])).run()
        with instance.transaction(place.instance.path) as tx:
            assert _counts(tx) == (1, 1, 1)
    assert end == task.Failed(reason="The model call failed (RuntimeError).")
    (entry,) = logged
    assert (entry["event"], entry["exc_info"]) == ("model call failed", True)


@pytest.mark.covers("W16")
async def test_a_script_without_a_turn_blocks_the_card(tmp_path: Path) -> None:
    """First hour, "Practice": outcome blocked, with the reason."""
    with desk.opened(tmp_path) as place, structlog.testing.capture_logs() as logged:
        end = await place.turns(desk.Model(answers=[NoTurn("practice has no turn for planner")])).run()
    assert end == task.Blocked(reason="practice has no turn for planner")
    assert logged == []


@pytest.mark.covers("W14")
async def test_the_prepared_text_stands_before_the_history_of_every_call(tmp_path: Path) -> None:
    """Spec, "Conversations": prepared anew for each call, never a row."""
    with desk.opened(tmp_path) as place:
        model = desk.Model(answers=[desk.calls("a"), desk.ends()])
        await place.turns(model, desk.tool("a")).run()
        assert not any("The garden." in str(row.content) for row in place.rows())
    first, second = model.asked
    assert [request.messages[0].text for request in model.asked] == ["The garden."] * 2
    assert second.messages[: len(first.messages)] == first.messages
    assert [message.role for message in second.messages[len(first.messages) :]] == [Role.ASSISTANT, Role.TOOL]
    assert [request.situation.turns for request in model.asked] == [0, 1]


async def _stopped(place: desk.Desk, model: desk.Model, *tools: Tool, when: anyio.Event) -> None:
    """Run the loop and cancel it at a point."""
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(place.turns(model, *tools).run)
            await when.wait()
            group.cancel_scope.cancel()


def _open_calls(place: desk.Desk) -> tuple[conversations.Row, ...]:
    def look(tx: Tx) -> tuple[conversations.Row, ...]:
        fresh = conversations.read(tx, place.conversation.id)
        assert fresh is not None
        return conversations.open_calls(tx, fresh)

    return place.instance.effects.glance(look)


def _counts(tx: Tx) -> tuple[int, int, int]:
    """Exchanges, their ends, and rows of conversations."""
    found = tx.one(_COUNTS)
    assert found is not None
    exchanges, ends, rows = found
    return int(exchanges or 0), int(ends or 0), int(rows or 0)


@pytest.mark.covers("W15", "K16")
async def test_a_full_queue_of_writes_delays_a_model_call_and_sends_nothing_twice(tmp_path: Path) -> None:
    """A claim that was not even queued is made again; a person's would be refused as busy, an agent has nobody."""
    go, held = threading.Event(), anyio.Event()
    ends: list[task.TaskEnd] = []

    with desk.opened(tmp_path) as place, anyio.fail_after(20):
        model = desk.Model(answers=[desk.ends()])
        queue = place.instance.store
        loop = asyncio.get_running_loop()

        def hold(_connection: Connection) -> bool:
            loop.call_soon_threadsafe(held.set)
            return go.wait(10)

        async def work() -> None:
            ends.append(await place.turns(model).run())

        async with anyio.create_task_group() as group:
            for _ in range(store._QUEUED_WRITES + WRITERS_AT_MOST):
                group.start_soon(partial(queue.write, hold, withdrawable=False))
            await held.wait()
            with pytest.raises(errors.Refusal) as busy:
                await queue.write(lambda _connection: None)
            group.start_soon(work)
            await anyio.wait_all_tasks_blocked()
            assert (busy.value.code, model.asked) == ("writes_busy", [])
            go.set()
    assert ends == [desk.ACCEPTED]
    assert len(model.asked) == 1
