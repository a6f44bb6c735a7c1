"""What models are writing, for whoever watches (W13)."""

import contextlib
from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
import pytest

from workstead.agents import partials
from workstead.agents.partials import Partial, Partials, State
from workstead.kernel.redaction import Redactor

pytestmark = [pytest.mark.anyio, pytest.mark.covers("W13")]

SCOPE, TALK = "project:1", "conversations/project/planner"


@pytest.fixture
def held() -> Partials:
    """A process's partials."""
    return Partials(Redactor())


async def test_a_watcher_who_comes_late_gets_the_text_so_far(held: Partials) -> None:
    """Nothing is lost to whoever opens the page in the middle of an answer."""
    with held.listening(SCOPE, TALK, "e1") as writer:
        assert writer is not None
        writer.said("Two steps, ")
        writer.said("then lunch. ")
        async with aclosing(held.follow(SCOPE, TALK)) as stream:
            seen = await _next(stream)
    assert (seen.exchange, seen.state, seen.text) == ("e1", State.WRITING, "Two steps, then lunch. ")


async def test_the_end_of_a_call_says_whether_its_rows_follow(held: Partials) -> None:
    """The durable row takes the place of what was written; a failed call leaves nothing."""
    async with aclosing(held.follow(SCOPE, TALK)) as stream:
        assert await _next(stream) == partials.NOTHING
        with held.listening(SCOPE, TALK, "e1"):
            assert (await _next(stream)).state is State.WRITING
        assert (await _next(stream)).state is State.DONE
        with contextlib.suppress(RuntimeError), held.listening(SCOPE, TALK, "e2"):
            assert (await _next(stream)).exchange == "e2"
            raise RuntimeError
        seen = await _next(stream)
    assert (seen.exchange, seen.state, seen.text) == ("e2", State.DROPPED, "")
    assert not held.writing(SCOPE, TALK)


async def test_a_new_attempt_begins_with_nothing(held: Partials) -> None:
    """What a broken attempt wrote is not part of the next one's answer."""
    async with aclosing(held.follow(SCOPE, TALK)) as stream:
        assert await _next(stream) == partials.NOTHING
        with held.listening(SCOPE, TALK, "e1") as writer:
            assert writer is not None
            writer.said("Half an ")
            writer.writes("create_card")
            seen = await _next(stream)
            assert (seen.text, seen.tool) == ("Half an ", "create_card")
            writer.again()
            seen = await _next(stream)
            assert (seen.text, seen.tool) == ("", None)


async def test_a_slow_watcher_gets_the_newest_and_holds_up_nobody(held: Partials) -> None:
    """Text is lossy for the watcher and free for the agent."""
    async with aclosing(held.follow(SCOPE, TALK)) as stream:
        assert await _next(stream) == partials.NOTHING
        with held.listening(SCOPE, TALK, "e1") as writer:
            assert writer is not None
            await _next(stream)
            for _ in range(1000):
                writer.said("word ")
            seen = await _next(stream)
            assert seen.text == "word " * 1000


async def test_what_is_kept_and_what_is_sent_have_an_end(held: Partials) -> None:
    """Bounded for each watcher and in total."""
    with held.listening(SCOPE, TALK, "e1") as writer:
        assert writer is not None
        for _ in range(100):
            writer.said("line\n" * 1000)
        async with aclosing(held.follow(SCOPE, TALK)) as stream:
            seen = await _next(stream)
    assert seen.cut
    assert 0 < len(seen.text) <= partials.SHOWN_CHARS
    assert seen.text.startswith("line")


async def test_the_pause_between_two_looks_ends_with_the_answer() -> None:
    """W13: the first words of an answer wait for no pause of the one before, however long that is."""
    held = Partials(Redactor(), pause_s=60)
    async with aclosing(held.follow(SCOPE, TALK)) as stream:
        assert await _next(stream) == partials.NOTHING
        with held.listening(SCOPE, TALK, "e1") as writer:
            assert writer is not None
            writer.said("First of all. ")
            assert (await _next(stream)).text == "First of all. "
        assert (await _next(stream)).state is State.DONE
        with held.listening(SCOPE, TALK, "e2") as writer:
            assert writer is not None
            writer.said("Half an ")
            assert (await _next(stream)).text == "Half an "
            writer.again()
            assert (await _next(stream)).text == ""


async def test_one_conversation_is_not_heard_in_another(held: Partials) -> None:
    """A watcher sees what they asked for, in the project that they may see."""
    async with aclosing(held.follow("project:2", TALK)) as stream:
        assert await _next(stream) == partials.NOTHING
        with held.listening(SCOPE, TALK, "e1"):
            with anyio.move_on_after(0.05) as waited:
                await anext(stream)
    assert waited.cancelled_caught


async def _next(stream: AsyncGenerator[Partial, None]) -> Partial:
    with anyio.fail_after(5):
        return await anext(stream)
