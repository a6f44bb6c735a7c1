"""Shortening, on the real turn loop and a real database, with models that say what the test wants."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from agents import desk
from support import instance
from support.database import statement
from workstead.agents import genesis, history, protection, summaries, task
from workstead.agents.conversations import NewRow, RowKind
from workstead.agents.genesis import Genesis, How, Strategy
from workstead.agents.models import failures
from workstead.agents.models.shape import Answer, Call, Finish, Purpose, Request, Role, Sent
from workstead.work.workflow.graph import Candidate, Prompt, ProviderKind
from workstead.work.workflow.money import Budgets, Limits

COVERS_MODULES = (
    "agents/compaction.py",
    "agents/endings.py",
    "agents/genesis.py",
    "agents/shortening.py",
    "agents/summarizer.py",
)
pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]

WHO = Candidate(provider="practice", model="practice")
SENT = Sent(candidate=WHO, digest="d" * 64, size_bytes=1234, attempts=1)
BIG = "x" * 4000  # a thousand tokens
WINDOW = 20_000  # what is usable: 11 904 tokens; the trigger stands at 10 713, the tail has 2976
_SUMMARIES = statement(
    "SELECT exchange.segment, exchange.first_row, exchange_end.ended, exchange_end.failure FROM exchange "
    "JOIN exchange_end ON exchange_end.exchange_id = exchange.id WHERE purpose = 'summary' ORDER BY exchange.id"
)
_SEGMENTS = statement("SELECT count(*), max(segment) FROM conversation_row WHERE kind = 'segment'")


@dataclass(kw_only=True)
class Summaries:
    """Writes summaries, or fails as it is told to; the last reply for ever."""

    replies: list[str | Answer | Exception]
    asked: list[Request] = field(default_factory=list)

    async def complete(self, request: Request) -> Answer:
        """The next one."""
        assert request.purpose is Purpose.SUMMARY
        self.asked.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return Answer(text=reply) if isinstance(reply, str) else reply


def place_with(path: Path, *replies: str | Answer | Exception) -> AbstractContextManager[desk.Desk]:
    return desk.opened(path, window_tokens=WINDOW, summarizer=Summaries(replies=list(replies or ("Short.",))))


def reads(count: int, *, size: int = 4000) -> list[Answer | BaseException]:
    """Answers that each say much and read something, then the end."""
    said: list[Answer | BaseException] = [
        Answer(
            text=f"step {number} {'y' * size}",
            calls=(Call(id=f"c{number}", name="a", arguments="{}"),),
            finish=Finish.CALLS,
        )
        for number in range(count)
    ]
    return [*said, desk.ends()]


def segments(place: desk.Desk) -> list[Genesis]:
    return [genesis.of_row(row) for row in place.rows() if row.kind is RowKind.SEGMENT]


def text_of(request: Request) -> str:
    return "\n".join(message.text for message in request.messages)


def is_whole(request: Request) -> bool:
    """Every call has its result right behind it, nothing else stands there, and a user speaks first."""
    assert request.messages[0].role is Role.USER
    waiting: set[str] = set()
    for message in request.messages:
        if message.role is Role.TOOL:
            assert message.call_id in waiting
            waiting.discard(message.call_id)
        else:
            assert not waiting
        waiting |= {call.id for call in message.calls}
    return not waiting


@pytest.mark.covers("W14")
async def test_a_conversation_that_reaches_its_trigger_goes_on_from_a_summary(tmp_path: Path) -> None:
    """facts/work.md 9.5, "preventive": shortened before the call, the newest rows word for word, rows never deleted."""
    with place_with(tmp_path) as place:
        model = desk.Model(answers=reads(24))
        assert await place.turns(model, desk.tool("a")).run() == desk.ACCEPTED
        found = segments(place)
        rows = place.rows()
        with instance.transaction(place.instance.path) as tx:
            asked = tx.all(_SUMMARIES)
    assert len(found) >= 2
    assert [one.source for one in found] == list(range(1, len(found) + 1))
    assert {one.strategy for one in found} == {Strategy.AHEAD}
    assert {one.how for one in found} == {How.SUMMARY}
    assert all(one.after_tokens < one.before_tokens <= 11_904 for one in found)
    assert [one.covered_through for one in found] == sorted({one.covered_through for one in found})
    # Everything that was said still stands in the rows, in order.
    said = [row.content["text"] for row in rows if row.kind is RowKind.TEXT and isinstance(row.content, dict)]
    assert [text.split(" ")[1] for text in said[:24] if isinstance(text, str)] == [str(number) for number in range(24)]
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    assert all(is_whole(request) for request in model.asked)
    assert len(asked) == sum(one.calls for one in found)
    assert {row[2] for row in asked} == {"done"}
    last = text_of(model.asked[-1])
    assert "Short." in last
    assert "step 0 " not in last
    assert "step 23 " in last


@pytest.mark.covers("W14")
async def test_a_summary_is_asked_with_what_was_known_and_only_with_new_source(tmp_path: Path) -> None:
    """Spec, "Self-contained successor": the next one reads the inherited summary and never a row before it."""
    with place_with(tmp_path, "The first summary.", "The second summary.", "More.") as place:
        await place.turns(desk.Model(answers=reads(24)), desk.tool("a")).run()
        writer = place.summarizer
        begins = segments(place)
    assert isinstance(writer, Summaries)
    first, second = (text_of(request) for request in writer.asked[:2])
    assert "The garden." in first.split("</prepared_context>")[0]
    assert "<summary_so_far>" not in first
    assert "The first summary." in second
    assert 'row="2"' in first
    assert f'row="{begins[0].covered_through + 1}"' in second
    assert 'row="2"' not in second
    assert writer.asked[0].tools == ()


def kept(text: str, *, key: str | None = None) -> NewRow:
    prompt = Prompt(reference="p", path="p.md", text=text, compactable=False, key=key)
    return NewRow(kind=RowKind.CONTEXT, role=Role.USER, content=protection.of_prompt(prompt))


def told(text: str) -> NewRow:
    return NewRow(kind=RowKind.NOTIFICATION, role=Role.USER, content=protection.of_person(text))


@pytest.mark.covers("W14")
async def test_what_is_protected_stands_word_for_word_in_every_request(tmp_path: Path) -> None:
    """docs/workflow.md: `compactable: false` keeps every occurrence, with a key the newest; people's words stay."""
    with place_with(tmp_path) as place:
        place.prepared = "The brief: rosés, not tulips."
        place.append(kept("Never touch the pond."), kept("Old plan.", key="plan"), told("I want a bench — soon."))
        place.append(kept("New plan.", key="plan"))
        model = desk.Model(answers=reads(30))
        await place.turns(model, desk.tool("a")).run()
        assert len(segments(place)) >= 2
    for request in model.asked:
        assert text_of(request).count("Never touch the pond.") == 1
        assert text_of(request).count("New plan.") == 1
        assert text_of(request).count("I want a bench — soon.") == 1
        assert "rosés, not tulips" in request.messages[0].text
        assert request.instructions == "Plan the garden."
    assert "Old plan." not in text_of(model.asked[-1])


@pytest.mark.covers("W14")
async def test_the_exact_size_may_demand_it_once_for_an_answer(tmp_path: Path) -> None:
    """Spec, "Local request admission": one compaction, one more verdict, then the card waits for a person."""
    too_large = failures.RequestTooLargeError("m1 takes 700 tokens.")
    with place_with(tmp_path) as place:
        place.append(*[desk.said(f"{number} {BIG}") for number in range(6)])
        model = desk.Model(answers=[too_large, desk.ends()])
        assert await place.turns(model).run() == desk.ACCEPTED
        assert [one.strategy for one in segments(place)] == [Strategy.SIZE]
    with place_with(tmp_path / "again") as place:
        place.append(*[desk.said(f"{number} {BIG}") for number in range(6)])
        model = desk.Model(answers=[too_large, too_large])
        ended = await place.turns(model).run()
        assert isinstance(ended, task.Blocked)
        assert ended.reason.startswith("m1 takes 700 tokens.")
        assert len(model.asked) == 2


@pytest.mark.covers("W14", "W15")
async def test_a_provider_that_says_it_does_not_fit_is_asked_once_more_with_less(tmp_path: Path) -> None:
    """Spec, "authoritative recovery": whatever the window was thought to be, less is sent, and only once."""
    full = failures.ContextExhaustedError("m1: does not fit.", sent=SENT)
    with place_with(tmp_path) as place:
        place.append(*[desk.said(f"{number} {BIG}") for number in range(6)])
        model = desk.Model(answers=[desk.calls("a"), full, desk.ends()])
        assert await place.turns(model, desk.tool("a")).run() == desk.ACCEPTED
        (begins,) = segments(place)
    assert (begins.strategy, begins.how) == (Strategy.PROVIDER, How.SUMMARY)
    assert begins.after_tokens < 0.5 * begins.before_tokens
    with place_with(tmp_path / "again") as place:
        place.append(*[desk.said(f"{number} {BIG}") for number in range(6)])
        model = desk.Model(answers=[full, full])
        ended = await place.turns(model).run()
        assert isinstance(ended, task.Blocked)
        assert ended.reason.startswith("m1: does not fit.")


@pytest.mark.covers("W14")
@pytest.mark.parametrize(
    ("reply", "calls"),
    [
        (Answer(text=" "), 2),
        (Answer(text="cut", finish=Finish.LENGTH), 2),
        (desk.calls("a"), 2),
        (failures.ContentPolicyError("no", sent=SENT), 1),
        (failures.ContextExhaustedError("no", sent=SENT), 1),
    ],
    ids=["empty", "cut off", "tool calls", "refused", "does not fit"],
)
async def test_where_no_summary_can_be_had_the_rows_are_left_out_and_that_is_said(
    tmp_path: Path, reply: Answer | Exception, calls: int
) -> None:
    """Spec, "declared omission": one correction where one may help, none after a refusal; never in silence."""
    with place_with(tmp_path, reply) as place:
        model = desk.Model(answers=reads(12))
        assert await place.turns(model, desk.tool("a")).run() == desk.ACCEPTED
        begins = segments(place)[0]
        assert isinstance(place.summarizer, Summaries)
        assert len(place.summarizer.asked) % calls == 0
    assert (begins.how, begins.summary, begins.calls) == (How.OMISSION, summaries.OMITTED, calls)
    assert summaries.OMITTED in text_of(model.asked[-1])
    assert is_whole(model.asked[-1])


@pytest.mark.covers("W14", "W15")
@pytest.mark.parametrize(
    ("error", "end"),
    [
        (failures.ProviderDownError("m1 is down.", sent=SENT), task.Failed),
        (failures.KeyRefusedError("bad key", sent=SENT), task.Blocked),
    ],
)
async def test_a_summarizer_that_fails_otherwise_ends_the_task_and_bricks_nothing(
    tmp_path: Path, error: Exception, end: type[task.Blocked | task.Failed]
) -> None:
    """Spec: failures of transport and authentication permit neither a summary nor an omission; the next run goes on."""
    with place_with(tmp_path, error) as place:
        found = await place.turns(desk.Model(answers=reads(12)), desk.tool("a")).run()
        assert isinstance(found, end)
        assert found.reason.startswith("The conversation could not be shortened. ")
        assert segments(place) == []
        place.summarizer = Summaries(replies=["Short."])
        place.append(desk.begin())
        assert await place.turns(desk.Model(answers=[desk.ends()])).run() == desk.ACCEPTED
        assert len(segments(place)) == 1


@pytest.mark.covers("W14")
async def test_what_cannot_be_made_to_fit_blocks_the_card_with_the_reason(tmp_path: Path) -> None:
    """No third try and no loop: a person must look."""
    with place_with(tmp_path) as place:
        model = desk.Model(answers=[failures.RequestTooLargeError("m1 takes 700 tokens.")])
        end = await place.turns(model).run()
    assert isinstance(end, task.Blocked)
    assert end.reason.startswith(
        "m1 takes 700 tokens. Name a model with a larger window or split the card, then Run. The conversation cannot "
    )


@pytest.mark.covers("W14")
async def test_a_route_that_takes_nothing_is_not_helped_by_less(tmp_path: Path) -> None:
    """Sizing, "ineligible": nothing is summarised for a configuration that is wrong."""
    with place_with(tmp_path) as place:
        place.append(*[desk.said(BIG)] * 4)
        model = desk.Model(answers=[failures.RouteUnfitError("asks for too much output.")])
        ended = await place.turns(model).run()
        assert isinstance(ended, task.Blocked)
        assert ended.reason.startswith("asks for too much output.")
        assert segments(place) == []


@pytest.mark.covers("W14")
async def test_a_batch_of_parallel_calls_is_never_torn_apart(tmp_path: Path) -> None:
    """S11: several calls of one answer are one exchange; a cut stands before all of it or behind all of it."""
    batch = Answer(
        text="z" * 9000,
        calls=tuple(Call(id=f"p{number}", name="a", arguments="{}") for number in range(5)),
        finish=Finish.CALLS,
    )
    with place_with(tmp_path) as place:
        model = desk.Model(answers=[*[replace(batch)] * 16, desk.ends()])
        assert await place.turns(model, desk.tool("a")).run() == desk.ACCEPTED
        assert len(segments(place)) >= 2
    assert all(is_whole(request) for request in model.asked)


@pytest.mark.covers("W14")
async def test_the_history_that_is_sent_is_the_one_a_restart_would_send(tmp_path: Path) -> None:
    """Spec: the successor's stored form is exactly what goes on in memory."""
    with place_with(tmp_path) as place:
        model = desk.Model(answers=reads(24))
        await place.turns(model, desk.tool("a")).run()
        fresh = history.History(place.conversation.id)
        place.instance.effects.glance(fresh.catch_up)
    shared = model.asked[-1].messages[1:]
    assert fresh.messages()[: len(shared)] == shared


@pytest.mark.covers("W14")
async def test_an_agent_that_lost_its_right_shortens_nothing(tmp_path: Path) -> None:
    """A run that was stopped must not change what the next one reads."""
    with place_with(tmp_path) as place:
        place.append(*[desk.said(BIG)] * 14)
        place.end_grant()
        with pytest.raises(Exception, match="ended"):
            await place.turns(desk.Model(answers=[desk.ends()])).run()
        with instance.transaction(place.instance.path) as tx:
            assert tuple(tx.one(_SEGMENTS) or ()) == (0, None)


@pytest.mark.covers("W14")
async def test_room_that_is_taken_by_what_must_stay_is_not_summarised_at_every_turn(tmp_path: Path) -> None:
    """Bounded attempts: an attempt that brought little is not repeated before the exact size demands it."""
    with place_with(tmp_path) as place:
        place.prepared = "b" * 4 * 10_500
        model = desk.Model(answers=reads(3, size=400))
        await place.turns(model, desk.tool("a")).run()
        assert isinstance(place.summarizer, Summaries)
        assert len(place.summarizer.asked) <= 2


@pytest.mark.covers("W14", "X03")
async def test_a_summary_is_paid_from_the_same_budgets(tmp_path: Path) -> None:
    """X03: checked before every model call; a spent budget blocks the card and the conversation stays as it was."""
    with place_with(tmp_path) as place:
        # Practice costs nothing, so it is told to be somebody else.
        place.provider = replace(place.provider, kind=ProviderKind.OPENAI_CHAT, base_url="http://127.0.0.1:1/v1")
        place.budgets = Budgets(agents={desk.AGENT: Limits(tokens=500)})
        place.append(*[desk.said(BIG)] * 14)
        end = await place.turns(desk.Model(answers=[desk.ends()])).run()
        assert segments(place) == []
    assert isinstance(end, task.Blocked)
    assert end.reason.startswith("The conversation could not be shortened. The budget of ")
