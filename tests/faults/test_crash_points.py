"""The whole server killed at each named point of the example's run; afterwards everything is read and carried on."""

from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest

from support import invariants, killable
from support.killable import Rows, Server, ServerDiedError, Workplace

pytestmark = pytest.mark.both_databases


def killed(place: Workplace, crash_at: str) -> Rows:
    """Carry on until the point kills the server; nothing of it lives and what stands there is whole."""
    with killable.serving(place, crash_at=crash_at) as server:
        with pytest.raises(ServerDiedError):
            server.carry()
        assert server.process.returncode == -9, server.log()
        assert server.orphans() == []
    assert place.alive() == []
    before = place.rows()
    assert place.lost(before) == []
    # Before its first commit there is no schema to check.
    if before["configuration"]:
        assert invariants.check(place.database) == []
    return before


def unknown(place: Workplace) -> dict[str, set[str]]:
    """What has no end in the rows now, by kind."""
    queries = {
        "exchange": "SELECT id FROM exchange EXCEPT SELECT exchange_id FROM exchange_end",
        "effect": "SELECT id FROM effect EXCEPT SELECT effect_id FROM effect_end",
        "process": "SELECT id FROM process EXCEPT SELECT process_id FROM process_end",
        "call": "SELECT call_id FROM conversation_row WHERE kind = 'tool_call' "
        "EXCEPT SELECT call_id FROM conversation_row WHERE kind = 'tool_result'",
    }
    return {kind: {row[0] for row in place.query(query)} for kind, query in queries.items()}


def says_unknown(place: Workplace, were: dict[str, set[str]]) -> None:
    """What had no end before the start is settled as what it is: nobody knows, or nothing was changed."""
    exchanges = dict(place.query("SELECT exchange_id, ended FROM exchange_end"))
    assert {exchanges[one] for one in were["exchange"]} <= {"unknown"}
    effects = dict(place.query("SELECT effect_id, outcome FROM effect_end"))
    assert {effects[one] for one in were["effect"]} <= {"unknown"}
    processes = dict(place.query("SELECT process_id, kind FROM process_end"))
    assert {processes[one] for one in were["process"]} <= {"killed"}
    results = dict(place.query("SELECT call_id, content FROM conversation_row WHERE kind = 'tool_result'"))
    for call in were["call"]:
        assert '"success":false' in results[call]
        assert '"outcome_unknown":true' in results[call] or '"interrupted":true' in results[call]


def names_the_child(place: Workplace) -> None:
    """An interrupted activate_card is not unknown: what the child came to stands on its card (the call table)."""
    rows = place.query(
        "SELECT content FROM conversation_row WHERE kind = 'tool_result' AND tool = 'activate_card' ORDER BY at DESC"
    )
    ((status,),) = place.query("SELECT status FROM card WHERE parent_id = 'project' ORDER BY position LIMIT 1")
    assert f'"outcome":"{status}"' in rows[0][0]
    assert '"outcome_unknown"' not in rows[0][0]


def at_work(place: Workplace) -> set[str]:
    """The cards in which an agent had entered its step and not left it."""
    rows = place.query(
        "SELECT card_id FROM activation JOIN node_visit ON node_visit.activation_id = activation.id "
        "LEFT JOIN node_result ON node_result.activation_id = node_visit.activation_id "
        "AND node_result.ordinal = node_visit.ordinal WHERE closed_at IS NULL AND node_result.at IS NULL"
    )
    return {row[0] for row in rows}


def tells_who_was_at_work(place: Workplace, running: set[str]) -> None:
    """The last row of the conversation that was going on in each running card says that it was interrupted (W10)."""
    last = place.query(
        "SELECT conversation.card_id, kind FROM conversation "
        "JOIN conversation_row ON conversation_id = conversation.id AND number = rows"
    )
    assert {card for card, kind in last if kind == "recovered"} == running


def started_nothing(place: Workplace, before: Rows) -> None:
    """Recovery only settles: no run, no activation's step, no model call, no process since the kill."""
    now = place.rows()
    assert {table: now[table] - before[table] for table in ("exchange", "node_visit", "process")} == {
        "exchange": frozenset(),
        "node_visit": frozenset(),
        "process": frozenset(),
    }


def finished(place: Workplace, server: Server) -> None:
    """The work is really done and nothing was run twice."""
    assert server.stop() == 0
    assert server.orphans() == []
    assert invariants.check_at_rest(place.database) == []
    assert {row[0] for row in place.query("SELECT status FROM card WHERE deleted = 0")} == {"done"}
    assert place.passes() is None
    ran = place.ran()
    assert len(ran) == len(set(ran))
    assert set(ran) <= {row[0] for row in place.query("SELECT id FROM process")}


def _exchange_has_no_answer(place: Workplace) -> None:
    assert len(unknown(place)["exchange"]) == 1
    assert unknown(place)["call"] == set()


def _call_has_no_result(place: Workplace) -> None:
    assert unknown(place)["call"]
    assert place.ran() == []


def _command_never_ran(place: Workplace) -> None:
    """Its row was not there yet, so it was not let go."""
    assert unknown(place)["process"] == set()
    assert place.ran() == []


def _command_ran_and_nobody_wrote_its_end(place: Workplace) -> None:
    assert len(unknown(place)["process"]) == 1
    assert set(place.ran()) == unknown(place)["process"]


def _record_is_still_a_draft(place: Workplace) -> None:
    assert [row[0] for row in place.query("SELECT count(*) FROM record WHERE name = 'status.md' AND draft != ''")] == [
        1
    ]
    assert place.query("SELECT 1 FROM version WHERE document LIKE 'record:%/status.md'") == []


def _child_is_done_and_its_parent_was_not_told(place: Workplace) -> None:
    assert place.query("SELECT count(*) FROM card WHERE status = 'done'") == [(1,)]
    assert place.query("SELECT status FROM card WHERE card_id = 'project'") == [("running",)]


def _nothing_stands(place: Workplace) -> None:
    assert place.query("SELECT 1 FROM alembic_version") == []


def _run_was_not_asked_for(place: Workplace) -> None:
    assert place.query("SELECT 1 FROM run") == []
    assert place.query("SELECT 1 FROM project") == [(1,)]


def _run_lives(place: Workplace) -> None:
    assert place.query("SELECT count(*) FROM run WHERE ended_at IS NULL") == [(1,)]


SMALL_WINDOW_TOKENS = 17_000

# Where each kill falls in the example, and what stands there then: a crash test is worth what its point is, after this
# and before that. `blob.staged` has its own test beside the blobs; other times are random (test_random_kills).
POINTS: tuple[tuple[str, Callable[[Workplace], None]], ...] = (
    ("migration.half", _nothing_stands),
    ("receipt.written:3", _run_was_not_asked_for),
    ("commit.done:90", _run_lives),
    ("announce.done:120", _run_lives),
    ("exchange.ended:2", _exchange_has_no_answer),
    ("call.written:2", _call_has_no_result),
    ("process.spawned", _command_never_ran),
    ("process.ended", _command_ran_and_nobody_wrote_its_end),
    ("record.accepted", _record_is_still_a_draft),
    ("child.done", _child_is_done_and_its_parent_was_not_told),
)


@pytest.mark.covers("K15", "W10", "W09")
@pytest.mark.parametrize(("crash_at", "stands"), POINTS, ids=[crash_at for crash_at, _ in POINTS])
def test_a_server_that_dies_at_a_point_loses_nothing_repeats_nothing_and_goes_on(
    tmp_path: Path, crash_at: str, stands: Callable[[Workplace], None]
) -> None:
    """Crash table of the architecture, and "restart starts nothing" of the specification."""
    place = killable.workplace(tmp_path)
    before = killed(place, crash_at)
    stands(place)
    were = unknown(place)
    running = at_work(place)
    with killable.serving(place) as server:
        server.up()
        assert invariants.check_at_rest(place.database) == []
        started_nothing(place, before)
        says_unknown(place, were)
        assert place.lost(before) == []
        tells_who_was_at_work(place, running)
        if stands in {_child_is_done_and_its_parent_was_not_told, _command_never_ran}:
            names_the_child(place)
        server.init()
        assert server.run() == "done", place.query("SELECT ending, reason FROM run")
        finished(place, server)
    assert place.lost(before) == []
    assert place.alive() == []


@pytest.mark.covers("K15", "W09")
def test_a_run_that_ended_stays_ended_when_the_server_dies_before_it_lets_go(tmp_path: Path) -> None:
    """`run.done`: the end was acknowledged, and what the dead server held is free again."""
    place = killable.workplace(tmp_path)
    before = killed(place, "run.done")
    assert place.query("SELECT ending FROM run") == [("done",)]
    with killable.serving(place) as server:
        server.up()
        started_nothing(place, before)
        assert place.query("SELECT ending FROM run") == [("done",)]
        finished(place, server)
    assert place.lost(before) == []


@pytest.mark.covers("K15", "W14")
@pytest.mark.parametrize(("crash_at", "segments"), [("summary.ended", 0), ("compaction.written:2", 2)])
def test_a_conversation_that_is_being_shortened_when_the_server_dies_has_no_segment_twice_and_none_lost(
    tmp_path: Path, crash_at: str, segments: int
) -> None:
    """A summary without its segment is asked for again; a segment that is committed is what the next start reads."""
    place = killable.workplace(tmp_path)
    place.window_tokens = SMALL_WINDOW_TOKENS
    before = killed(place, crash_at)
    assert place.query("SELECT count(*) FROM conversation_row WHERE kind = 'segment'") == [(segments,)]
    with killable.serving(place) as server:
        server.up()
        assert invariants.check_at_rest(place.database) == []
        started_nothing(place, before)
        assert server.run() == "done", place.query("SELECT ending, reason FROM run")
        finished(place, server)
    assert place.lost(before) == []
    # Each conversation's segments are numbered without a gap, and each row that begins one says which it follows.
    begins = place.query(
        "SELECT conversation.id, conversation_row.segment, conversation.segment FROM conversation "
        "JOIN conversation_row ON conversation_id = conversation.id WHERE kind = 'segment' ORDER BY 1, number"
    )
    for _, found in groupby(begins, key=lambda row: str(row[0])):
        rows = list(found)
        assert [row[1] for row in rows] == list(range(2, rows[0][2] + 1))


@pytest.mark.covers("K15", "W10")
def test_a_recovery_that_dies_half_way_is_finished_by_the_next_start(tmp_path: Path) -> None:
    """`recovery.half`: the leaf is settled and the root is not; the next start goes on from there."""
    place = killable.workplace(tmp_path)
    first = killed(place, "process.ended:2")
    running = {row[0] for row in place.query("SELECT card_id FROM card WHERE status = 'running'")}
    assert len(running) == 2
    with killable.serving(place, crash_at="recovery.half") as server:
        with pytest.raises(ServerDiedError):
            server.up()
        assert server.process.returncode == -9
        assert server.orphans() == []
    assert invariants.check(place.database) == []
    assert place.query("SELECT card_id FROM card WHERE status = 'running'") == [("project",)]
    second = place.rows()
    with killable.serving(place) as server:
        server.up()
        assert invariants.check_at_rest(place.database) == []
        started_nothing(place, first)
        assert server.run() == "done"
        finished(place, server)
    assert place.lost(first) == []
    assert place.lost(second) == []
