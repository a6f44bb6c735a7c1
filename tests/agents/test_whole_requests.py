"""Whatever happened to a conversation, what goes over a wire is what its protocol takes (W13, W14)."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents import desk
from agents.test_long_conversations import whole
from support import instance, models
from workstead.agents import conversations, protection, refusals
from workstead.agents.compaction import Compaction
from workstead.agents.conversations import Conversation, NewRow, RowKind
from workstead.agents.genesis import Strategy
from workstead.agents.history import History
from workstead.agents.models import anthropic, openai_chat, openai_responses
from workstead.agents.models.shape import Answer, Message, Request, Role
from workstead.agents.summarizer import Span, Summarizer
from workstead.agents.tools.tool import ToolResult
from workstead.agents.turns import result_row
from workstead.kernel.transaction import Tx
from workstead.runs import recovery
from workstead.work.workflow.graph import Candidate, Prompt, Snap
from workstead.work.workflow.graph import Compaction as Settings

COVERS_MODULES = ("agents/cuts.py", "agents/packing.py", "agents/protection.py", "agents/summaries.py")

_WIRES = (openai_chat.WIRE, openai_responses.WIRE, anthropic.WIRE)


@dataclass(kw_only=True)
class Life:
    """One conversation through whatever comes. held: as the turn loop holds it, until a restart."""

    place: desk.Desk
    conversation: Conversation
    held: History
    answers: int = 0
    protected: list[str] = field(default_factory=list)

    def write(self, job: Callable[[Tx], object]) -> None:
        """One commit."""
        with instance.transaction(self.place.instance.path) as tx:
            job(tx)

    def append(self, *rows: NewRow) -> None:
        """Let rows stand."""
        self.write(lambda tx: conversations.append(tx, self.conversation, rows, activation_id=desk.ACTIVATION))

    def request(self) -> Request:
        """What would be sent now, after what was open is settled as a start settles it."""
        self.write(lambda tx: recovery.settle_calls(tx, self.fresh(tx), activation_id=desk.ACTIVATION))
        self.place.instance.effects.glance(self.held.catch_up)
        messages = (Message(role=Role.USER, text="The garden."), *self.held.messages())
        return models.asking(*messages)

    def fresh(self, tx: Tx) -> Conversation:
        """As it is stored."""
        found = conversations.read(tx, self.conversation.id)
        assert found is not None
        return found

    def answer(self, calls: int, results: int, notice: int) -> None:
        """An answer with calls of which only so many have results when the server goes; a notice somewhere between."""
        self.request()
        self.answers += 1
        name = f"input-{self.answers}"
        said = [NewRow(kind=RowKind.TEXT, role=Role.ASSISTANT, content={"text": "s" * 400}, input_id=name)]
        made = [
            NewRow(
                kind=RowKind.TOOL_CALL,
                role=Role.ASSISTANT,
                content={"id": f"call-{index}", "arguments": "{}"},
                input_id=name,
                call_id=f"{name}:{index}",
                tool="look",
            )
            for index in range(calls)
        ]
        self.append(*said, *made)
        for index in range(min(calls, results)):
            if index == notice:
                self.append(NewRow(kind=RowKind.NOTIFICATION, role=Role.USER, content={"text": "A notice."}))
            answered = ToolResult(success=True, data="d" * 600)
            self.append(result_row(f"{name}:{index}", call_id=f"call-{index}", name="look", result=answered))

    def refuse(self, *, twice: bool) -> None:
        """A content policy refuses the next request, and its one retry too."""
        self.request()
        self.append(refusals.retry_row("refused-1"))
        if twice:
            candidate = Candidate(provider="practice", model="practice")
            self.write(
                lambda tx: conversations.append(
                    tx,
                    self.conversation,
                    [refusals.marker_row(tx, self.conversation, candidate=candidate, first="1", second="2")],
                    activation_id=desk.ACTIVATION,
                )
            )

    def protect(self, key: str | None) -> None:
        """A prompt that stays word for word."""
        text = f"Rule {len(self.protected)} stays."
        prompt = Prompt(reference="p", path="p", text=text, compactable=False, key=key)
        self.append(NewRow(kind=RowKind.CONTEXT, role=Role.USER, content=protection.of_prompt(prompt)))
        if key is None:
            self.protected.append(text)

    def shorten(self, tail: float, snap: Snap, *, summarise: bool) -> None:
        """Let a segment begin, whether anything is too long or not."""
        request = self.request()
        self.place.compaction = Settings(tail=tail, snap=snap)
        means = self.place.means(desk.Model(answers=[Answer(text="Short.")] * 16))
        one = self.place.step(conversation=self.conversation)
        span = Span(segment=self.held.segment, first=self.held.first, last=self.held.last)
        effects = self.place.instance.effects
        summarizer = Summarizer(one, effects=effects, route=means.summaries, like=request, span=span)
        job = Compaction(self.held, request=request, room=means.room, strategy=Strategy.PROVIDER, summarizer=summarizer)
        begins = asyncio.run(job.run(summarise=summarise)).begins
        if begins is not None:
            self.write(
                lambda tx: conversations.begin_segment(
                    tx, self.conversation, begins.new_row(), segment=self.held.segment, activation_id=desk.ACTIVATION
                )
            )

    def restart(self) -> None:
        """What a fresh server reads is what the old one would have gone on with."""
        before = self.request()
        self.held = History(self.conversation.id)
        assert self.request().messages == before.messages

    def pairs(self, messages: Sequence[Message]) -> None:
        """Nothing had to be mended on the way to a wire: each call and its result are there, or neither is."""
        made = [call for message in messages for call in message.calls]
        results = [message for message in messages if message.role is Role.TOOL]
        assert len(results) == len(made)
        waiting: list[str] = []
        for message in messages:
            if message.role is Role.ASSISTANT:
                assert waiting == []
                waiting = [call.id for call in message.calls]
            elif message.role is Role.TOOL:
                assert message.call_id == waiting.pop(0)

    def check(self) -> None:
        """What would go over each wire now."""
        request = self.request()
        self.pairs(request.messages)
        for wire in _WIRES:
            assert whole(dict(wire.body(request, "m", "http://x"))) == []
        text = "\n".join(message.text for message in request.messages)
        assert all(each in text for each in self.protected)


# Of a window of ten million tokens: nothing, a few results, about two answers, everything.
TAILS = [0.0, 0.00002, 0.00006, 0.00012, 1.0]
STEPS = st.one_of(
    st.tuples(st.just("answer"), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)),
    st.tuples(st.just("answer"), st.integers(2, 4), st.just(4), st.integers(0, 4)),
    st.tuples(st.just("protect"), st.sampled_from([None, None, "key"])),
    st.tuples(st.just("refuse"), st.booleans()),
    st.tuples(st.just("begin")),
    st.tuples(st.just("restart")),
    st.tuples(st.just("shorten"), st.sampled_from(TAILS), st.sampled_from(Snap), st.booleans()),
)


@pytest.fixture(scope="module")
def place() -> Iterator[desk.Desk]:
    with tempfile.TemporaryDirectory() as name, desk.opened(Path(name) / "place") as found:
        yield found


@pytest.mark.covers("W14", "W13", "W10")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=4, max_size=16))
def test_every_request_is_whole_after_any_life(place: desk.Desk, steps: list[tuple[object, ...]]) -> None:
    """Turns with parallel calls, stops and crashes in their middle, restarts, segments: all three protocols agree."""
    with instance.transaction(place.instance.path) as tx:
        agent = f"a{tx.new_id()}"
        conversation = conversations.ensure(tx, place.project_id, agent=agent, card_id=desk.CARD)
    life = Life(place=place, conversation=conversation, held=History(conversation.id))
    life.append(desk.begin())
    for step in steps:
        match step:
            case ("answer", int(calls), int(results), int(notice)):
                life.answer(calls, results, notice)
            case ("refuse", bool(twice)):
                life.refuse(twice=twice)
            case ("protect", str() | None as key):
                life.protect(key)
            case ("shorten", float(tail), Snap() as snap, bool(summarise)):
                life.shorten(tail, snap, summarise=summarise)
            case ("restart",):
                life.restart()
            case _:
                life.append(desk.begin())
        life.check()
