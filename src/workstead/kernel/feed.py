"""The feed: ordered rows of what changed, written with the change; and `follow`, the one way to watch it."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import cast

import anyio
from sqlalchemy import bindparam, insert, select

from workstead.kernel import scopes
from workstead.kernel.store import Connection, Store, prepared
from workstead.kernel.tables import feed
from workstead.kernel.transaction import Tx

_POLL_S = 2.0
_PAGE_ROWS = 200


class Event(StrEnum):
    """What a feed row can say: `area:thing:action`, alphabetical."""

    ACTIVATION_CLOSED = "runs:activation:closed"
    ACTIVATION_OPENED = "runs:activation:opened"
    BUDGET_CHANGED = "agents:budget:changed"
    BUDGET_SPENT = "agents:budget:spent"
    BUDGET_WARNED = "agents:budget:warned"
    CARD_CHANGED = "work:card:changed"
    CARD_COMMENTED = "work:card:commented"
    CARD_CREATED = "work:card:created"
    CONFIGURATION_TRUSTED = "work:configuration:trusted"
    CONVERSATION_GREW = "agents:conversation:grew"
    EFFECT_CLAIMED = "kernel:effect:claimed"
    EFFECT_ENDED = "kernel:effect:ended"
    NODE_ENTERED = "runs:node:entered"
    PROCESS_CHANGED = "agents:process:changed"
    PROJECT_CREATED = "accounts:project:created"
    RECORD_CHANGED = "work:record:changed"
    RUN_CHANGED = "runs:run:changed"


@dataclass(frozen=True, kw_only=True)
class FeedRow:
    """One change. seq: its place in its scope, gapless. topic: what it is about, as `cards/card-a`."""

    scope: str
    seq: int
    at: str
    event: Event
    topic: str
    revision: int | None


@dataclass(frozen=True, kw_only=True)
class FeedPage:
    """Rows after a cursor, and the cursor after them; no rows means that nothing happened for a while."""

    rows: tuple[FeedRow, ...]
    cursor: Mapping[str, int]


_ADD = prepared(insert(feed))
_AFTER = prepared(
    select(feed.c.seq, feed.c.at, feed.c.event, feed.c.topic, feed.c.revision)
    .where(feed.c.scope == bindparam("k_scope"), feed.c.seq > bindparam("k_seq"))
    .order_by(feed.c.seq)
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)


class Wakes:
    """Topics in memory that wake whoever waits; a wake is a hint, rows are the truth.

    tell: passes on to other servers what was announced here, where there can be any.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, anyio.Event] = {}
        self.tell: Callable[[set[str]], None] | None = None

    def announce(self, scope_ids: set[str]) -> None:
        """Wake everybody, here and elsewhere, who waits for one of the scopes. On the loop only."""
        self.hear(scope_ids)
        if self.tell is not None and scope_ids:
            self.tell(scope_ids)

    def hear(self, scope_ids: Iterable[str]) -> None:
        """Wake everybody here who waits for one of the scopes. On the loop only."""
        for scope_id in scope_ids:
            event = self._waiting.pop(scope_id, None)
            if event is not None:
                event.set()

    def hear_all(self) -> None:
        """Wake everybody here: something may have been missed."""
        self.hear(tuple(self._waiting))

    def event(self, scope_id: str) -> anyio.Event:
        """The event that the scope's next announcement sets; take it before reading rows."""
        return self._waiting.setdefault(scope_id, anyio.Event())


def add(tx: Tx, scope_id: str, event: Event, *, topic: str, revision: int | None = None) -> int:
    """Write one feed row in the locked scope and wake its followers after the commit; returns its seq."""
    seq = scopes.next_seq(tx, scope_id)
    tx.run(
        _ADD,
        scope=scope_id,
        seq=seq,
        at=tx.at,
        event=event.value,
        topic=topic,
        revision=revision,
        change_id=tx.change_id,
    )
    tx.wakes.add(scope_id)
    return seq


def after(connection: Connection, *, scope_id: str, seq: int) -> tuple[FeedRow, ...]:
    """At most one page of rows after `seq`, in order."""
    rows = connection.all(_AFTER, k_scope=scope_id, k_seq=seq, k_limit=_PAGE_ROWS, k_offset=0)
    return tuple(
        FeedRow(
            scope=scope_id,
            seq=cast("int", number),
            at=cast("str", at),
            event=Event(cast("str", event)),
            topic=cast("str", topic),
            revision=cast("int | None", revision),
        )
        for number, at, event, topic, revision in rows
    )


async def follow(
    store: Store, wakes: Wakes, *, cursor: Mapping[str, int], poll_s: float = _POLL_S
) -> AsyncGenerator[FeedPage, None]:
    """Every later row of the cursor's scopes, once and in order within a scope.

    An empty page comes after each quiet `poll_s`, so that whoever streams can ask again whether the reader still may
    and send a sign of life. A follower may only wake; it never decides.
    """
    here = dict(cursor)
    while True:
        events = [wakes.event(scope_id) for scope_id in here]
        rows: list[FeedRow] = []
        for scope_id, seq in here.items():
            rows += await store.look(partial(after, scope_id=scope_id, seq=seq))
        for row in rows:
            here[row.scope] = row.seq
        if rows:
            yield FeedPage(rows=tuple(rows), cursor=dict(here))
            continue
        woken = await _any(events, poll_s)
        if not woken:
            yield FeedPage(rows=(), cursor=dict(here))


async def _any(events: list[anyio.Event], within_s: float) -> bool:
    """Whether one of the events was set in time."""
    with anyio.move_on_after(within_s):
        if not events:
            await anyio.sleep_forever()
        if len(events) == 1:
            await events[0].wait()
            return True
        async with anyio.create_task_group() as group:

            async def wait(event: anyio.Event) -> None:
                await event.wait()
                group.cancel_scope.cancel()

            for event in events:
                group.start_soon(wait, event)
        return any(event.is_set() for event in events)
    return False
