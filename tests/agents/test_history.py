"""History: what of a conversation a model is sent."""

from pathlib import Path

import pytest

from agents import desk
from support import instance
from support.database import statement
from support.instance import Founded
from workstead.agents import conversations, history
from workstead.agents.conversations import Conversation, NewRow
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
    assert (held.first, held.last, held.omitted) == (1, 3, 0)


@pytest.mark.covers("W14")
def test_whole_activations_are_let_go_and_the_omission_is_declared(found: Founded) -> None:
    """W14: declared omission; nothing begins in the middle of an activation."""
    one = _with(found, *[_activation(name) for name in "abc"])
    held = _read(found, one)
    told, begin, first, *_ = held.messages()
    assert told.text == "[22 earlier rows of this conversation are not repeated here.]"
    assert begin.text.startswith("[Activation begins")
    assert first.text.startswith("c 0 ")
    assert (held.first, held.last, held.omitted) == (23, 33, 22)


@pytest.mark.covers("W14")
def test_what_fits_whole_is_sent_whole(found: Founded) -> None:
    """Nothing is omitted without need."""
    one = _with(found, _activation("a", 5), _activation("b", 5))
    held = _read(found, one)
    assert held.omitted == 0
    assert not any("not repeated here" in message.text for message in held.messages())


@pytest.mark.covers("W14")
def test_the_newest_activation_stays_however_long_it_is(found: Founded) -> None:
    """An agent must not lose what it is in the middle of."""
    one = _with(found, _activation("a"), _activation("b", 40))
    held = _read(found, one)
    assert (held.first, held.omitted) == (12, 11)
    assert sum(len(message.text) for message in held.messages()) > history.LIMIT_BYTES


@pytest.mark.covers("W14")
def test_a_history_read_at_once_is_the_one_that_grew_with_the_conversation(found: Founded) -> None:
    """After a restart a model is sent what it would have been sent without one."""
    one = _with(found)
    grown = History(one.id)
    for name, rows in (("a", 3), ("b", 14), ("c", 1), ("d", 6), ("e", 9)):
        _with(found, _activation(name, rows))
        _read(found, one, grown)
        fresh = _read(found, one)
        assert fresh.messages() == grown.messages()
        assert (fresh.first, fresh.last, fresh.omitted) == (grown.first, grown.last, grown.omitted)


@pytest.mark.covers("W14")
def test_a_long_past_is_not_read(found: Founded) -> None:
    """Quality, "agent step": entering a node must not cost what the conversation has grown to."""
    small = [desk.begin(), *[desk.said("x" * 1000)] * 99]
    one = _with(found, *[small] * 60)
    with instance.transaction(found.path) as tx:
        # Were they read, they could not be.
        tx.run(_SPOIL)
    held = _read(found, one)
    assert held.last == 6000
    assert held.omitted == held.first - 1 > 5000


def test_an_empty_conversation_is_no_message(found: Founded) -> None:
    """A new agent begins with nothing."""
    held = _read(found, _with(found))
    assert (held.messages(), held.first, held.last) == ((), 0, 0)
