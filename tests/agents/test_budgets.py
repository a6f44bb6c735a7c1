"""Budgets at one desk: what is held while a call is made, what it came to, and what nobody knows."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import desk
from workstead.agents import budget_rows, budgets, exchanges, task, usage_rows
from workstead.agents.budget_rows import PROJECT, Kind, Spent, Target
from workstead.agents.models.failures import IncompleteAnswerError, RateLimitedError
from workstead.agents.models.shape import Answer, Finish, Sent, Usage
from workstead.agents.usage_rows import By
from workstead.kernel import evidence
from workstead.kernel.effects import Ended, Outcome
from workstead.kernel.transaction import Tx
from workstead.work.workflow import money
from workstead.work.workflow.graph import Candidate, ProviderKind
from workstead.work.workflow.money import Budgets, Limits, Price

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]

COVERS_MODULES = ("agents/budget_rows.py", "agents/usage_rows.py", "agents/spending.py", "work/workflow/money.py")
PRICE = Price(input_micros=3_000_000, output_micros=15_000_000, cached_micros=300_000)
PAID = replace(
    desk.PROVIDER, kind=ProviderKind.OPENAI_CHAT, base_url="http://127.0.0.1:1/v1", prices={"practice": PRICE}
)
CANDIDATE = Candidate(provider="practice", model="practice")
SENT = Sent(candidate=CANDIDATE, digest="0" * 64, size_bytes=10, attempts=1)


def using(*names: str, given: int = 1000, taken: int = 100, cached: int = 0) -> Answer:
    usage = Usage(input_tokens=given, output_tokens=taken, cached_tokens=cached)
    return Answer(text="", calls=desk.calls(*names).calls, finish=Finish.CALLS, usage=usage, sent=SENT)


def spent(place: desk.Desk, target: Target = PROJECT) -> Spent:
    return place.instance.effects.glance(lambda tx: budget_rows.spent(tx, place.project_id, target))


def events(place: desk.Desk) -> list[tuple[str, str, object]]:
    found = place.instance.effects.glance(lambda tx: evidence.listed(tx, place.scope, evidence.Lane.EVENTS))
    return [(one.event, one.subject, one.detail["what"]) for one in reversed(found)]


@pytest.mark.covers("X03")
async def test_what_calls_used_is_counted_for_project_and_agent_at_exact_prices(tmp_path: Path) -> None:
    """X03: integer micro-units; kept input has its own price."""
    with desk.opened(tmp_path) as place:
        place.provider = PAID
        model = desk.Model(answers=[using("a", cached=400), using("emit_result", given=1, taken=1)])
        assert await place.turns(model, desk.tool("a")).run() == desk.ACCEPTED
        found = spent(place), spent(place, Target(kind=Kind.AGENT, name=desk.AGENT))
        days = place.instance.effects.glance(
            lambda tx: usage_rows.summed(tx, place.project_id, By.MODEL, since="0000-00-00")
        )
    cost = (600 * 3_000_000 + 400 * 300_000 + 100 * 15_000_000) // 10**6 + 18
    assert [(one.calls, one.tokens, one.micros, one.unknown_calls) for one in found] == [(2, 1102, cost, 0)] * 2
    assert [(one.key, one.input_tokens, one.cached_tokens, one.micros) for one in days] == [
        ("practice:practice", 1001, 400, cost)
    ]


@pytest.mark.covers("X03")
async def test_a_call_that_the_budget_does_not_cover_is_not_made_and_the_run_is_halted(tmp_path: Path) -> None:
    """X03: checked before each call with the most it may come to; the sentence says what to do."""
    with desk.opened(tmp_path) as place:
        place.provider = PAID
        place.budgets = Budgets(project=Limits(tokens=5200))
        model = desk.Model(answers=[using("a"), desk.ends()])
        end = await place.turns(model, desk.tool("a")).run()
        told = events(place)
    assert len(model.asked) == 1
    assert isinstance(end, task.Blocked)
    assert end.reason in place.halted
    assert "1,100 of 5,200 tokens are used, and the next call may take 4," in end.reason
    assert "Raise it" in end.reason
    assert told == [("agents:budget:spent", "project", "tokens")]


@pytest.mark.covers("X03")
async def test_a_warning_is_given_once_at_four_fifths(tmp_path: Path) -> None:
    """X03: a warning at 80 %."""
    with desk.opened(tmp_path) as place:
        place.provider = PAID
        place.budgets = Budgets(agents={desk.AGENT: Limits(micros=100_000)})
        model = desk.Model(answers=[using("a", given=26_000, taken=200), using("a", given=1, taken=1), desk.ends()])
        end = await place.turns(model, desk.tool("a")).run()
        told = events(place)
    assert isinstance(end, task.Blocked)
    assert "the agent planner is spent: 0.081 of 0.10 USD are used" in end.reason
    assert place.halted == []
    assert told == [
        ("agents:budget:warned", "agent:planner", "money"),
        ("agents:budget:spent", "agent:planner", "money"),
    ]


@pytest.mark.covers("X03")
async def test_calls_side_by_side_cannot_overrun_together(tmp_path: Path) -> None:
    """X03: reserved while it runs; the second waits for what the first leaves, and is then refused."""
    asked: list[str] = []
    begun, both = anyio.Event(), anyio.Event()

    with desk.opened(tmp_path) as place:
        place.provider = PAID
        place.budgets = Budgets(project=Limits(tokens=6000))

        async def slow() -> None:
            asked.append("call")
            begun.set()
            await both.wait()

        ends: list[task.TaskEnd] = []

        async def work() -> None:
            model = desk.Model(answers=[using("emit_result", given=2000, taken=100)], before=slow)
            ends.append(await place.turns(model).run())

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            group.start_soon(work)
            with anyio.fail_after(5):
                await begun.wait()
            assert asked == ["call"]
            both.set()
        assert spent(place).tokens == 2100
    assert sorted(type(end).__name__ for end in ends) == ["Accepted", "Blocked"]
    assert asked == ["call"]


@pytest.mark.covers("X03", "K15")
async def test_what_a_lost_call_held_counts_as_of_unknown_use(tmp_path: Path) -> None:
    """Architecture, "After a crash": model calls "unknown", budget keeps its reserve."""
    with desk.opened(tmp_path) as place:
        purse = budgets.purse(
            place.project_id, card_id="card-a-b", agent="x", budgets=Budgets(), providers={"practice": PAID}
        )
        wanted = budgets.Wanted(candidates=(CANDIDATE,), input_tokens=700, output_tokens=300)
        await place.instance.effects.settle(place.scope, lambda tx: budgets.hold(tx, purse, "lost", wanted))
        for _ in range(2):
            await place.instance.effects.settle(place.scope, lambda tx: exchanges.end_unknown(tx, place.project_id))
        found = [spent(place, Target(kind=Kind.CARD, name=name)) for name in ("card-a", "card-a-b")]
        late: Outcome[Answer] = Outcome(ended=done(), value=using())
        await place.instance.effects.settle(
            place.scope, lambda tx: budgets.settle(tx, purse, "lost", late, milliseconds=5)
        )
        assert spent(place) == found[0]
    assert found == [Spent(calls=1, unknown_calls=1, tokens=1000, micros=700 * 3 + 300 * 15)] * 2


def done() -> Ended:
    return Ended.DONE


@pytest.mark.covers("X03")
@pytest.mark.parametrize(
    ("failure", "unknown"),
    [
        (RateLimitedError("Later.", sent=SENT), False),
        (IncompleteAnswerError("Cut.", sent=SENT), True),
        (IncompleteAnswerError("Never sent."), False),
    ],
    ids=["refused", "cut", "not sent"],
)
async def test_a_failed_call_counts_where_it_may_have_cost_something(
    tmp_path: Path, failure: Exception, *, unknown: bool
) -> None:
    """docs/models.md, "Budgets"."""
    with desk.opened(tmp_path) as place:
        place.provider = PAID
        await place.turns(desk.Model(answers=[failure])).run()
        found = spent(place)
        assert (found.unknown_calls == 1, found.tokens > 4096) == (unknown, unknown)
        assert place.instance.effects.glance(lambda tx: budget_rows.holds(tx, place.project_id)) == ()


@pytest.mark.covers("X03")
async def test_minutes_end_a_call_that_is_being_made(tmp_path: Path) -> None:
    """X03: minutes of model calls and their tools."""
    with desk.opened(tmp_path) as place:
        place.budgets = Budgets(project=Limits(seconds=60))
        purse = budgets.purse(place.project_id, card_id="project", agent="x", budgets=Budgets(), providers={})
        wanted = budgets.Wanted(candidates=(CANDIDATE,), input_tokens=0, output_tokens=0)

        def earlier(tx: Tx) -> None:
            budgets.hold(tx, purse, "earlier", wanted)
            over: Outcome[Answer] = Outcome(ended=done(), value=using())
            budgets.settle(tx, purse, "earlier", over, milliseconds=59_900)

        await place.instance.effects.settle(place.scope, earlier)
        model = desk.Model(answers=[], before=anyio.sleep_forever)
        with anyio.fail_after(5):
            end = await place.turns(model).run()
        assert spent(place).milliseconds >= 60_000
    assert isinstance(end, task.Blocked)
    assert "The minutes of the budget of the project were spent while a model was asked." in end.reason


@pytest.mark.covers("X03")
async def test_practice_costs_nothing_and_an_unpriced_model_counts_tokens_only(tmp_path: Path) -> None:
    """X03: unknown prices count tokens only and say so."""
    with desk.opened(tmp_path) as place:
        place.budgets = Budgets(project=Limits(tokens=1, micros=0))
        assert await place.turns(desk.Model(answers=[desk.ends()])).run() == desk.ACCEPTED
        assert spent(place) == replace(Spent(calls=1), milliseconds=spent(place).milliseconds)
        place.budgets = Budgets(project=Limits(micros=0))
        place.provider = replace(PAID, prices={})
        await place.turns(desk.Model(answers=[using("emit_result")])).run()
        found = spent(place)
    assert (found.tokens, found.unpriced_tokens, found.micros) == (1100, 1100, 0)


@pytest.mark.covers("X03")
@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9), st.tuples(*[st.integers(0, 10**9)] * 3))
def test_a_cost_is_the_exact_one_rounded_up(given: int, taken: int, cached: int, prices: tuple[int, int, int]) -> None:
    """X03: exact decimal arithmetic in integer micro-units."""
    price = Price(input_micros=prices[0], output_micros=prices[1], cached_micros=prices[2])
    found = price.cost_micros(input_tokens=given, output_tokens=taken, cached_tokens=cached)
    kept = min(cached, given)
    exact = (given - kept) * prices[0] + kept * prices[2] + taken * prices[1]
    assert 0 <= found * 10**6 - exact < 10**6


@pytest.mark.covers("X03")
@given(st.integers(0, money.MAX_MICROS - 1))
def test_an_amount_reads_back_as_it_was_written(micros: int) -> None:
    """X03: no floats."""
    assert money.parse_micros(money.amount(micros)) == micros


@pytest.mark.covers("X03")
@pytest.mark.parametrize("text", ["", "-1", "1e3", "1.", ".5", "0.1234567", "1,5", "\u0661", "1" * 10, "nan"])
def test_what_is_no_amount_is_none(text: str) -> None:
    """X03: an amount is exact or it is none."""
    assert money.parse_micros(text) is None
