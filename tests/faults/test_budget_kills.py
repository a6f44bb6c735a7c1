"""The whole server killed between a budget's reservation and its settlement: nothing is held or forgotten."""

import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support import server, talking
from support.model_server import Fails, ModelServer, Reply, Says, Tool, serving
from support.server import Running
from support.talking import NAME
from workstead import instance

LOOK = Says(text="I look around.", calls=(Tool(name="glob", arguments={"pattern": "*"}),))
USED_TOKENS = 11 + 7  # what the loopback server says of each answer
PATIENCE_S = 60.0

HOLDS = "SELECT input_tokens + output_tokens, micros FROM budget_hold"
USES = "SELECT calls, unknown_calls, tokens, micros FROM budget_use WHERE kind = 'project'"
ENDS = "SELECT ended FROM exchange LEFT JOIN exchange_end ON exchange_id = exchange.id ORDER BY exchange.id"


def query(data: Path, statement: str) -> list[Any]:
    """Rows, read beside the server."""
    with closing(sqlite3.connect(data / instance.DATABASE)) as connection:
        return connection.execute(statement).fetchall()


def begin(live: Running, folder: Path, models: ModelServer) -> None:
    """A project whose agents ask a model that has a price, and Run."""
    talking.configure(folder, talking.chosen(models.url, amount="1000", prices=("3", "15")))
    talking.found(live, folder)
    with live.control() as control:
        control.operation("start_run", {"project": NAME})


def ending(live: Running) -> str:
    """How the newest run ended, once it has."""
    ends_s = time.monotonic() + PATIENCE_S
    with live.control() as control:
        while time.monotonic() < ends_s:
            run = control.operation("get_run", {"project": NAME})
            if run["ended_at"] is not None:
                return str(run["ending"])
    raise AssertionError("the run did not end")


# Where it dies, and how many requests the provider has had by then.
KILLS = (("budget.held:2", 1), ("exchange.ended:2", 2), (None, 2))


@pytest.mark.covers("X03", "K15", "W15")
@pytest.mark.parametrize(("crash_at", "asked"), KILLS, ids=["held", "answered", "half-answered"])
def test_what_a_killed_call_may_have_cost_counts_and_it_is_not_made_again(
    tmp_path: Path, crash_at: str | None, asked: int
) -> None:
    """Architecture, "After a crash": the call is unknown, its reserve counts, and only a person starts the next."""
    data = tmp_path / "data"
    never = threading.Event()
    second = LOOK if crash_at is not None else Says(text="Half of it, and more.", held=2, until=never)
    after: list[Reply] = [LOOK, Fails(status=401)]
    later = [second, *after] if asked == 2 else after
    with serving(LOOK, *later) as models:
        with server.running(data, WORKSTEAD_CRASH_AT=crash_at or "") as live:
            begin(live, tmp_path / NAME, models)
            if crash_at is None:
                ends_s = time.monotonic() + PATIENCE_S
                while len(models.asked) < asked:
                    assert time.monotonic() < ends_s
                live.process.kill()
            assert live.process.wait(timeout=PATIENCE_S) == -9
        assert len(models.asked) == asked
        ((tokens, micros),) = query(data, HOLDS)
        ((calls, unknown, used, cost),) = query(data, USES)
        assert (calls, unknown, used) == (1, 0, USED_TOKENS)
        assert tokens > USED_TOKENS
        with server.running(data) as live:
            assert ending(live) == "interrupted"
            assert query(data, HOLDS) == []
            assert query(data, USES) == [(2, 1, used + tokens, cost + micros)]
            assert query(data, ENDS) == [("done",), ("unknown",)]
            assert len(models.asked) == asked
            with live.control() as control:
                control.operation("start_run", {"project": NAME})
            assert ending(live) == "blocked"
            # One answer more, and one refused key, which costs nothing; each is a call of its own.
            assert len(models.asked) == asked + 2
            assert query(data, HOLDS) == []
            ((_, unknown, now, _),) = query(data, USES)
            assert (unknown, now) == (1, used + tokens + USED_TOKENS)
            assert query(data, ENDS)[:2] == [("done",), ("unknown",)]
