"""Exchanges: what is kept of a model call, and what is not."""

import sqlite3
from pathlib import Path

import psycopg
import pytest

from agents import desk
from support import instance
from support.database import rows
from support.instance import Founded
from workstead.agents import conversations, exchanges
from workstead.agents.exchanges import Exchange
from workstead.agents.models.shape import Finish, Purpose, Usage
from workstead.kernel.effects import Ended
from workstead.kernel.transaction import Tx

pytestmark = pytest.mark.both_databases


@pytest.fixture
def found(tmp_path: Path) -> Founded:
    return instance.founded(tmp_path / "workstead.sqlite3")


def _add(tx: Tx, project_id: str, *, agent: str = desk.AGENT) -> str:
    one = conversations.ensure(tx, project_id, agent=agent, card_id=desk.CARD)
    made = Exchange(
        id=tx.new_id(),
        project_id=project_id,
        conversation_id=one.id,
        activation_id="a",
        effect_id=tx.new_id(),
        purpose=Purpose.STEP,
        segment=1,
        first_row=1,
        last_row=7,
        provider="practice",
        model="practice",
        prefix_digest="p",
        tools_digest="t",
        request_bytes=1234,
    )
    exchanges.add(tx, made)
    return made.id


@pytest.mark.covers("W15")
def test_an_end_says_how_and_with_what_usage(found: Founded) -> None:
    """Architecture, "Data rules": positions, digests, sizes and usage; an end is a row of its own."""
    with instance.transaction(found.path) as tx:
        identity = _add(tx, found.project.id)
        usage = Usage(input_tokens=11, output_tokens=7)
        exchanges.end(tx, identity, ended=Ended.DONE, finish=Finish.CALLS, failure=None, usage=usage)
    (row,) = rows(found.path, "SELECT ended, finish, failure, input_tokens, output_tokens FROM exchange_end")
    assert row == ("done", "calls", None, 11, 7)


@pytest.mark.covers("W15", "K15")
def test_an_exchange_ends_once(found: Founded) -> None:
    """Append-only: a settlement is never written over."""
    with instance.transaction(found.path) as tx:
        identity = _add(tx, found.project.id)
        exchanges.end(tx, identity, ended=Ended.DONE, finish=Finish.STOP, failure=None, usage=Usage())
        with pytest.raises((sqlite3.IntegrityError, psycopg.errors.UniqueViolation)):
            exchanges.end(tx, identity, ended=Ended.FAILED, finish=None, failure="X", usage=Usage())


@pytest.mark.covers("W10", "K15")
def test_calls_of_a_server_that_is_gone_end_unknown_and_only_those(found: Founded) -> None:
    """Architecture, "An operation": after a crash a model call reads unknown, and is not asked again."""
    other = instance.second_project(found, slug="shed")
    with instance.transaction(found.path) as tx:
        ended, left = _add(tx, found.project.id), _add(tx, found.project.id, agent="executor")
        elsewhere = _add(tx, other.id)
        exchanges.end(tx, ended, ended=Ended.DONE, finish=Finish.STOP, failure=None, usage=Usage())
        assert exchanges.end_unknown(tx, found.project.id) == 1
        assert exchanges.end_unknown(tx, found.project.id) == 0
    ends = dict(rows(found.path, "SELECT exchange_id, ended FROM exchange_end"))
    assert ends == {ended: "done", left: "unknown"}
    assert elsewhere not in ends
