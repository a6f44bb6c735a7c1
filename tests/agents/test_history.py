"""History: what of a conversation a model is sent."""

from pathlib import Path

import pytest

from agents import desk
from support import instance
from support.database import statement
from support.instance import Founded
from workstead import errors
from workstead.agents import conversations
from workstead.agents.conversations import Conversation, NewRow
from workstead.agents.genesis import Genesis, How, Strategy
from workstead.agents.history import History
from workstead.agents.models.shape import Role

pytestmark = pytest.mark.both_databases

BIG = "x" * 30_000
_SPOIL = statement("UPDATE conversation_row SET content = 'no JSON' WHERE number < 5000")


@pytest.fixture
def found(tmp_path: Path) -> Founded:
    return instance.founded(tmp_path / "workstead.sqlite3")


def _with(found: Founded, *batches: list[NewRow]) -> Conversation:
    with instance.transaction(found.path) as tx:
        one = conversations.ensure(tx, found.project.id, agent=desk.AGENT, card_id=desk.CARD)
        for rows in batches:
            conversations.append(tx, one, rows, activation_id="a")
    return one


def _read(found: Founded, one: Conversation, held: History | None = None) -> History:
    held = held or History(one.id)
    with instance.transaction(found.path) as tx:
        held.catch_up(tx)
    return held


def _genesis(*, covered: int, source: int = 1) -> Genesis:
    return Genesis(
        source=source,
        covered_through=covered,
        strategy=Strategy.AHEAD,
        how=How.SUMMARY,
        summary="What the rows came to.",
    )


def _shortened(found: Founded, one: Conversation, begins: Genesis) -> None:
    with instance.transaction(found.path) as tx:
        conversations.begin_segment(tx, one, begins.new_row(), segment=begins.source, activation_id="a")


def _activation(name: str, rows: int = 10) -> list[NewRow]:
    return [desk.begin(), *[desk.said(f"{name} {index} {BIG}") for index in range(rows)]]


@pytest.mark.covers("W14")
def test_an_answer_and_its_calls_are_one_message_and_each_result_its_own(found: Founded) -> None:
    """S11: several calls of one answer are one exchange."""
    answer = [desk.said("both"), desk.called("p"), desk.called("q")]
    one = _with(found, [desk.begin()], answer, [desk.answered("p")], [desk.answered("q")])
    _begin, said, first, second = _read(found, one).messages()
    assert (said.role, said.text, [call.id for call in said.calls]) == (
        Role.ASSISTANT,
        "both",
        ["model-p", "model-q"],
    )
    assert [(each.role, each.call_id) for each in (first, second)] == [(Role.TOOL, "model-p"), (Role.TOOL, "model-q")]
    assert first.text == '{"data":null,"success":true}'


@pytest.mark.covers("W14")
def test_only_what_was_appended_since_is_read_again(found: Founded) -> None:
    """The tail in memory and the rows never part."""
    one = _with(found, [desk.begin(), desk.said("one")])
    held = _read(found, one)
    _with(found, [desk.said("two")])
    assert [message.text for message in _read(found, one, held).messages()][1:] == ["one", "two"]
    assert (held.first, held.last, held.segment) == (1, 3, 1)


@pytest.mark.covers("W14")
def test_a_segment_is_what_it_begins_with_and_the_rows_it_does_not_stand_for(found: Founded) -> None:
    """W14: the successor is self-contained; the rows before it stay where they are and are not sent."""
    one = _with(found, _activation("a", 2), _activation("b", 2))
    grown = _read(found, one)
    _shortened(found, one, _genesis(covered=4))
    _with(found, [desk.said("later")])
    _read(found, one, grown)
    told, *rest = [message.text for message in grown.messages()]
    assert told.startswith("[Rows 1 to 4 of this conversation are not repeated.")
    assert "What the rows came to." in told
    assert [text[:3] for text in rest] == ["b 0", "b 1", "lat"]
    assert (grown.segment, grown.first, grown.last) == (2, 5, 8)


@pytest.mark.covers("W14")
def test_a_history_read_at_once_is_the_one_that_grew_with_the_conversation(found: Founded) -> None:
    """After a restart a model is sent what it would have been sent without one."""
    one = _with(found)
    grown = History(one.id)
    covered = {"b": 3, "c": 12, "e": 20}
    for segment, (name, rows) in enumerate([("a", 3), ("b", 14), ("c", 1), ("d", 6), ("e", 9)], start=1):
        _with(found, _activation(name, rows))
        _read(found, one, grown)
        if name in covered:
            _shortened(found, one, _genesis(covered=covered[name], source=grown.segment))
            _read(found, one, grown)
        fresh = _read(found, one)
        assert fresh.messages() == grown.messages(), segment
        assert (fresh.first, fresh.last, fresh.segment) == (grown.first, grown.last, grown.segment)


@pytest.mark.covers("W14")
def test_a_long_past_is_not_read(found: Founded) -> None:
    """Quality, "agent step": entering a node must not cost what the conversation has grown to."""
    small = [desk.begin(), *[desk.said("x" * 1000)] * 99]
    one = _with(found, *[small] * 60)
    _shortened(found, one, _genesis(covered=5000))
    with instance.transaction(found.path) as tx:
        # Were they read, they could not be.
        tx.run(_SPOIL)
    held = _read(found, one)
    assert (held.first, held.last) == (5001, 6001)


@pytest.mark.covers("W14")
def test_two_successors_of_one_segment_are_refused(found: Founded) -> None:
    """No double segments, whoever else believes that it owns the conversation."""
    one = _with(found, _activation("a", 3))
    _shortened(found, one, _genesis(covered=2))
    with pytest.raises(errors.Refusal, match="has a successor already"):
        _shortened(found, one, _genesis(covered=3))
    assert _read(found, one).segment == 2


def test_an_empty_conversation_is_no_message(found: Founded) -> None:
    """A new agent begins with nothing."""
    held = _read(found, _with(found))
    assert (held.messages(), held.first, held.last) == ((), 0, 0)
