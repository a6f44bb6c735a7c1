"""Conversations: numbers without gaps, calls and their results, and a price that does not grow."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from agents import desk
from support import instance, wal
from support.instance import Founded
from workstead.agents import conversations
from workstead.agents.conversations import Conversation, RowKind
from workstead.kernel import feed, scopes
from workstead.kernel.store import Prepared, Value
from workstead.kernel.transaction import Tx

pytestmark = pytest.mark.both_databases


class _Counting(Tx):
    """A transaction that counts its statements."""

    statements = 0

    def run(self, statement: Prepared, /, **parameters: Value) -> int:
        self.statements += 1
        return super().run(statement, **parameters)

    def one(self, statement: Prepared, /, **parameters: Value) -> tuple[Value, ...] | None:
        self.statements += 1
        return super().one(statement, **parameters)


@pytest.fixture
def found(tmp_path: Path) -> Founded:
    return instance.founded(tmp_path / "workstead.sqlite3")


def _ensure(found: Founded) -> Conversation:
    with instance.transaction(found.path) as tx:
        return conversations.ensure(tx, found.project.id, agent=desk.AGENT, card_id=desk.CARD)


@pytest.mark.covers("W13")
def test_an_agent_has_one_conversation_on_a_card_for_ever(found: Founded) -> None:
    """Spec, "Conversations": stable configured identities."""
    first = _ensure(found)
    with instance.transaction(found.path) as tx:
        conversations.append(tx, first, [desk.said("one")], activation_id="a")
    again = _ensure(found)
    assert (again.id, again.started_at, again.rows) == (first.id, first.started_at, 1)
    with instance.transaction(found.path) as tx:
        assert [one.id for one in conversations.of_card(tx, found.project.id, desk.CARD)] == [first.id]
        assert [one.id for one in conversations.of_project(tx, found.project.id)] == [first.id]
        assert conversations.of_card(tx, found.project.id, "another") == ()


@pytest.mark.covers("W13")
def test_numbers_have_no_gap_when_threads_append_at_once(found: Founded) -> None:
    """Architecture, "Data rules": append-only; every row once, each batch together and in its order."""
    one = _ensure(found)
    batches, threads = 5, 4

    def write(name: int) -> None:
        for batch in range(batches):
            rows = [desk.said(f"{name} {batch} {index}") for index in range(3)]
            with instance.transaction(found.path) as tx:
                conversations.append(tx, one, rows, activation_id=str(name))

    workers = [threading.Thread(target=write, args=(name,)) for name in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    with instance.transaction(found.path) as tx:
        rows = conversations.rows_after(tx, one.id, limit=1000)
    assert [row.number for row in rows] == list(range(1, batches * threads * 3 + 1))
    texts = [str(row.content["text"]) for row in rows if isinstance(row.content, dict)]
    assert all(len({text.rpartition(" ")[0] for text in texts[at : at + 3]}) == 1 for at in range(0, len(texts), 3))
    for name in range(threads):
        own = [text for text in texts if text.startswith(f"{name} ")]
        assert own == sorted(own, key=lambda text: [int(word) for word in text.split()])


@pytest.mark.covers("W13", "K15")
def test_rows_of_a_transaction_that_fails_leave_no_number_behind(found: Founded) -> None:
    """A rolled back append is as if it had never been."""
    one = _ensure(found)
    with pytest.raises(ZeroDivisionError), instance.transaction(found.path) as tx:
        _append_and_fail(tx, one)
    with instance.transaction(found.path) as tx:
        assert conversations.append(tx, one, [desk.said("kept")], activation_id="a") == 1


def test_a_conversation_that_is_not_there_takes_no_rows(found: Founded) -> None:
    """A row without its conversation would be lost to every reader."""
    with instance.transaction(found.path) as tx:
        one = conversations.ensure(tx, found.project.id, agent="other", card_id=desk.CARD)
    stranger = replace(one, id="nobody")
    with pytest.raises(LookupError), instance.transaction(found.path) as tx:
        conversations.append(tx, stranger, [desk.said("x")], activation_id="a")


@pytest.mark.covers("W13")
def test_open_calls_are_those_of_the_last_answer_without_a_result_in_answer_order(found: Founded) -> None:
    """S11: the unmatched set of the last answer, each matched by its own result."""
    one = _ensure(found)
    with instance.transaction(found.path) as tx:
        conversations.append(tx, one, [desk.said(""), desk.called("old")], activation_id="a")
        conversations.append(tx, one, [desk.answered("old")], activation_id="a")
        answer = [desk.said("three"), desk.called("z"), desk.called("m"), desk.called("a")]
        conversations.append(tx, one, answer, activation_id="a")
        assert [row.call_id for row in _open(tx, one)] == ["z", "m", "a"]
        conversations.append(tx, one, [desk.answered("m")], activation_id="a")
        assert [row.call_id for row in _open(tx, one)] == ["z", "a"]
        assert conversations.answered(tx, one.id, "m")
        assert not conversations.answered(tx, one.id, "z")
        conversations.append(tx, one, [desk.answered("a"), desk.answered("z")], activation_id="a")
        assert _open(tx, one) == ()


@pytest.mark.covers("W13")
def test_a_stale_conversation_value_finds_the_same_open_calls(found: Founded) -> None:
    """The value is read at entry and kept for a whole task."""
    stale = _ensure(found)
    with instance.transaction(found.path) as tx:
        for call_id in ("one", "two"):
            conversations.append(tx, stale, [desk.said(""), desk.called(call_id)], activation_id="a")
            conversations.append(tx, stale, [desk.answered(call_id)], activation_id="a")
        conversations.append(tx, stale, [desk.said(""), desk.called("three")], activation_id="a")
        assert [row.call_id for row in conversations.open_calls(tx, stale)] == ["three"]


@pytest.mark.covers("W13")
@pytest.mark.only_sqlite("read from its write-ahead log")
def test_an_append_costs_the_same_in_a_long_conversation(found: Founded) -> None:
    """Quality, "agent step": statements and bytes stay flat as a conversation grows."""
    one = _ensure(found)
    answer = [desk.said("x" * 200), desk.called("c")]
    costs: list[tuple[int, int]] = []
    for length in (100, 2_000):
        with instance.transaction(found.path) as tx:
            missing = length - _rows(tx, one)
            conversations.append(tx, one, [desk.said("y" * 200)] * missing, activation_id="a")
        with wal.kept(found.path):
            before = wal.written(found.path)
            statements = 0
            for _ in range(25):
                with instance.transaction(found.path) as tx:
                    counting = _Counting(tx._connection, clock=tx._clock)
                    conversations.append(counting, one, answer, activation_id="a")
                    statements = counting.statements
            costs.append((statements, wal.written(found.path).since(before).size_bytes))
    (short, short_bytes), (long, long_bytes) = costs
    # The counter, two rows, where the answer begins, the scope's number and the feed row.
    assert short == long == 6
    assert long_bytes < short_bytes * 1.3


@pytest.mark.covers("W13", "K11")
def test_readers_are_told_which_conversation_grew_and_how_far(found: Founded) -> None:
    """Architecture, "One change": the feed row is written with the change."""
    one = _ensure(found)
    with instance.transaction(found.path) as tx:
        conversations.append(tx, one, [desk.said("a"), desk.said("b")], activation_id="a")
        told = feed.after(tx._connection, scope_id=scopes.project(found.project.id), seq=0)
    (row,) = [row for row in told if row.event is feed.Event.CONVERSATION_GREW]
    assert (row.topic, row.revision) == (f"conversations/{desk.CARD}/{desk.AGENT}", 2)


@pytest.mark.covers("W13")
def test_a_reader_goes_on_from_any_row_in_both_directions(found: Founded) -> None:
    """W13: a reader that pages and follows."""
    one = _ensure(found)
    with instance.transaction(found.path) as tx:
        conversations.append(tx, one, [desk.said(str(number)) for number in range(1, 8)], activation_id="a")
        assert [row.number for row in conversations.rows_after(tx, one.id, after=2, limit=3)] == [3, 4, 5]
        assert [row.number for row in conversations.rows_before(tx, one.id, before=4, limit=2)] == [3, 2]
        (row,) = conversations.rows_after(tx, one.id, after=6)
    assert (row.kind, row.content, row.activation_id) == (RowKind.TEXT, {"text": "7"}, "a")


def _append_and_fail(tx: Tx, one: Conversation) -> None:
    conversations.append(tx, one, [desk.said("lost")], activation_id="a")
    raise ZeroDivisionError


def _open(tx: Tx, one: Conversation) -> tuple[conversations.Row, ...]:
    fresh = conversations.read(tx, one.id)
    assert fresh is not None
    return conversations.open_calls(tx, fresh)


def _rows(tx: Tx, one: Conversation) -> int:
    fresh = conversations.read(tx, one.id)
    assert fresh is not None
    return fresh.rows
