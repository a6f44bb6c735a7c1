"""The feed: gapless rows, and followers that only wake (K11; trial slice, "Tests that earned their place")."""

from collections.abc import AsyncGenerator
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from support import instance, invariants
from workstead.kernel import feed, scopes
from workstead.kernel.feed import Event, FeedPage, FeedRow, Wakes
from workstead.kernel.store import Connection
from workstead.kernel.transaction import Tx

pytestmark = pytest.mark.both_databases

PATIENCE_S = 5
BUSY_S = 30
NEVER_S = 30


async def write_row(opened: instance.Instance, scope: str, topic: str) -> None:
    def job(connection: Connection) -> set[str]:
        tx = Tx(connection, clock=opened.clock)
        feed.add(tx, scope, Event.CARD_CHANGED, topic=topic, revision=7)
        return tx.wakes

    await opened.store.write(job, announce=opened.wakes.announce)


@pytest.mark.covers("K11")
async def test_sixteen_writers_reach_a_follower_of_two_scopes_by_wakes_alone(tmp_path: Path) -> None:
    """The poll is 30 s, so a lost wake cannot pass; every row comes once and in its scope's order."""
    found = instance.founded(tmp_path / "db")
    followed = (found.project.scope, instance.second_project(found, slug="pond").scope)
    seen: list[FeedRow] = []
    with instance.opened(found.path) as opened, anyio.fail_after(PATIENCE_S):

        async def writes(writer: int) -> None:
            for n in range(10):
                await write_row(opened, followed[(writer + n) % 2], f"cards/{writer}-{n}")

        async with anyio.create_task_group() as group:
            for writer in range(16):
                group.start_soon(writes, writer)
            pages = feed.follow(opened.store, opened.wakes, cursor=dict.fromkeys(followed, 0), poll_s=NEVER_S)
            async for page in pages:
                seen += page.rows
                if len(seen) == 160:
                    assert page.cursor == dict.fromkeys(followed, 80)
                    break
            await pages.aclose()
    for scope in followed:
        assert [row.seq for row in seen if row.scope == scope] == list(range(1, 81))
    assert {row.topic for row in seen} == {f"cards/{writer}-{n}" for writer in range(16) for n in range(10)}
    assert invariants.check(found.path) == []


@pytest.mark.covers("K11")
async def test_no_row_is_skipped_by_a_follower_under_thirty_two_writers(tmp_path: Path) -> None:
    """Rows are found by number, so a later number must never be seen before an earlier one (issue of the pages)."""
    found = instance.founded(tmp_path / "db")
    scope = found.project.scope
    seen: list[FeedRow] = []
    with ExitStack() as stack, anyio.fail_after(BUSY_S):
        opened = [stack.enter_context(instance.opened(found.path)) for _ in range(4)]

        async def writes(writer: int) -> None:
            for n in range(10):
                await write_row(opened[writer % len(opened)], scope, f"cards/{writer}-{n}")

        async with anyio.create_task_group() as group:
            for writer in range(32):
                group.start_soon(writes, writer)
            # Another store than the writers' tells it of nothing, so it looks as fast as it can.
            pages = feed.follow(opened[0].store, Wakes(), cursor={scope: 0}, poll_s=0.001)
            async for page in pages:
                seen += page.rows
                if len(seen) == 320:
                    break
            await pages.aclose()
    assert [row.seq for row in seen] == list(range(1, 321))
    assert len({row.topic for row in seen}) == 320
    assert invariants.check(found.path) == []


@pytest.mark.covers("K11")
@pytest.mark.parametrize("which", [0, 1])
async def test_each_of_the_followed_scopes_wakes_alone(tmp_path: Path, which: int) -> None:
    """The follower rests when the one row is written, and nothing else will wake it."""
    found = instance.founded(tmp_path / "db")
    followed = (found.project.scope, instance.second_project(found, slug="pond").scope)
    seen: list[FeedRow] = []
    with instance.opened(found.path) as opened, anyio.fail_after(PATIENCE_S):
        pages = feed.follow(opened.store, opened.wakes, cursor=dict.fromkeys(followed, 0), poll_s=NEVER_S)

        async def first_page() -> None:
            seen.extend((await anext(pages)).rows)

        async with anyio.create_task_group() as group:
            group.start_soon(first_page)
            await anyio.wait_all_tasks_blocked()
            await write_row(opened, followed[which], "cards/a")
        await pages.aclose()
    assert [(row.scope, row.seq) for row in seen] == [(followed[which], 1)]


async def test_a_follower_gets_more_rows_than_a_page_once_and_in_order(tmp_path: Path) -> None:
    """A browser that comes back after a night reads everything it missed."""
    found = instance.founded(tmp_path / "db")
    with instance.transaction(found.path) as tx:
        for n in range(450):
            feed.add(tx, found.project.scope, Event.CARD_CHANGED, topic=f"cards/{n}")
    seen: list[FeedRow] = []
    with instance.opened(found.path) as opened, anyio.fail_after(PATIENCE_S):
        pages = feed.follow(opened.store, opened.wakes, cursor={found.project.scope: 10}, poll_s=NEVER_S)
        async for page in pages:
            seen += page.rows
            if len(seen) == 440:
                break
        await pages.aclose()
    assert [(row.seq, row.topic) for row in seen] == [(n + 1, f"cards/{n}") for n in range(10, 450)]


@pytest.mark.parametrize("scope_count", [0, 1, 2])
async def test_a_quiet_poll_gives_an_empty_page_after_its_time(tmp_path: Path, scope_count: int) -> None:
    """Whoever streams asks again whether the reader still may; following nothing must not spin."""
    found = instance.founded(tmp_path / "db")
    cursor = dict.fromkeys((found.project.scope, instance.second_project(found, slug="pond").scope)[:scope_count], 0)
    with instance.opened(found.path) as opened, anyio.fail_after(PATIENCE_S):
        before = anyio.current_time()
        pages = feed.follow(opened.store, opened.wakes, cursor=cursor, poll_s=0.05)
        page = await anext(pages)
        await pages.aclose()
    assert (page.rows, page.cursor) == ((), cursor)
    assert anyio.current_time() - before >= 0.05


async def test_a_row_written_by_another_process_is_found_by_the_poll(tmp_path: Path) -> None:
    """A wake is a hint; rows are the truth."""
    found = instance.founded(tmp_path / "db")
    with instance.opened(found.path) as opened, anyio.fail_after(PATIENCE_S):
        pages = feed.follow(opened.store, opened.wakes, cursor={found.project.scope: 0}, poll_s=0.01)
        assert (await anext(pages)).rows == ()
        with instance.transaction(found.path) as tx:
            feed.add(tx, found.project.scope, Event.RUN_CHANGED, topic="runs/r", revision=None)
        seen = [row async for page in _until_rows(pages) for row in page.rows]
        await pages.aclose()
    assert [(row.seq, row.event, row.topic, row.revision) for row in seen] == [(1, Event.RUN_CHANGED, "runs/r", None)]


async def test_a_row_is_refused_in_a_scope_that_is_not_there(tmp_path: Path) -> None:
    """Its follower could never see it."""
    found = instance.founded(tmp_path / "db")
    with instance.opened(found.path) as opened, pytest.raises(LookupError):
        await write_row(opened, scopes.project("missing"), "cards/a")


async def test_a_wake_reaches_everybody_who_took_the_event_before_and_nobody_else() -> None:
    """Take the event, then read: what is committed between is not missed."""
    wakes = Wakes()
    early, other = wakes.event("a"), wakes.event("b")
    wakes.announce({"a"})
    assert (early.is_set(), other.is_set(), wakes.event("a").is_set()) == (True, False, False)


async def _until_rows(pages: AsyncGenerator[FeedPage, None]) -> AsyncGenerator[FeedPage, None]:
    async for page in pages:
        yield page
        if page.rows:
            return
