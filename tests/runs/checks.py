"""What must be true of every database in which runs have worked, beside what is true of cards and records."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from support.database import Raw, connected
from work import checks

_CALLS = "SELECT conversation_id, call_id, activation_id FROM conversation_row WHERE kind = '{}'"


def check(path: Path) -> list[str]:
    """Every breach; none is an empty list."""
    found = checks.check(path)
    with connected(path) as raw:
        for one in (live_runs, running_cards, settled_ends, calls, conversation_numbers, visits):
            found += list(one(raw))
    return found


def live_runs(raw: Raw) -> Iterator[str]:
    """One live run per project; what has ended says how."""
    for project, times in raw.execute("SELECT project_id, count(*) FROM run WHERE ended_at IS NULL GROUP BY 1"):
        if times > 1:
            yield f"{project} has {times} live runs"
    for (run,) in raw.execute(
        "SELECT id FROM run WHERE (ended_at IS NULL) <> (state <> 'ended') OR (ended_at IS NULL) <> (ending IS NULL)"
    ):
        yield f"run {run} has half an end"


def running_cards(raw: Raw) -> Iterator[str]:
    """A running card has exactly one open activation, in a live run; the open ones form a tree below `project`."""
    running = set(raw.execute("SELECT project_id, card_id FROM card WHERE status = 'running' AND deleted = 0"))
    opened = raw.execute(
        "SELECT activation.project_id, card_id, activation.id, parent_id, run.ended_at FROM activation "
        "JOIN run ON run.id = run_id WHERE closed_at IS NULL"
    ).fetchall()
    if Counter(one[:2] for one in opened) != Counter(running):
        yield f"running cards {sorted(running)}, open activations {sorted(one[:2] for one in opened)}"
    ids = {one[2] for one in opened}
    for _, card_id, activation_id, parent_id, ended_at in opened:
        if ended_at is not None:
            yield f"activation {activation_id} outlives its run"
        if (parent_id is None) != (card_id == "project") or (parent_id is not None and parent_id not in ids):
            yield f"{card_id} runs without its parent"


def settled_ends(raw: Raw) -> Iterator[str]:
    """When no run lives, nothing is left open: no grant, no claimed effect, no exchange, no process."""
    if raw.execute("SELECT 1 FROM run WHERE ended_at IS NULL").fetchone():
        return
    for name, query in {
        "grant": "SELECT id FROM agent_grant WHERE ended_at IS NULL",
        "effect": "SELECT id FROM effect EXCEPT SELECT effect_id FROM effect_end",
        "exchange": "SELECT id FROM exchange EXCEPT SELECT exchange_id FROM exchange_end",
        "process": "SELECT id FROM process EXCEPT SELECT process_id FROM process_end",
    }.items():
        for (identity,) in raw.execute(query):
            yield f"{name} {identity} is open and no run lives"


def calls(raw: Raw) -> Iterator[str]:
    """Each result answers one call, once; calls without one stand in the last answer of a card at work only."""
    asked = Counter(row[:2] for row in raw.execute(_CALLS.format("tool_call")))
    answered = Counter(row[:2] for row in raw.execute(_CALLS.format("tool_result")))
    for (conversation, call), times in answered.items():
        if times > 1:
            yield f"{call} in {conversation} has {times} results"
        if (conversation, call) not in asked:
            yield f"{call} in {conversation} has a result and was not called"
    stopped = {
        row[0]
        for row in raw.execute(
            "SELECT conversation.id FROM conversation JOIN card ON card.project_id = conversation.project_id "
            "AND card.card_id = conversation.card_id WHERE card.status = 'stopped'"
        )
    }
    for conversation, call in asked.keys() - answered.keys():
        if conversation in stopped:
            yield f"{call} of the stopped {conversation} has no result"


def conversation_numbers(raw: Raw) -> Iterator[str]:
    """Rows count from 1 to the conversation's number."""
    for conversation, rows in raw.execute("SELECT id, rows FROM conversation").fetchall():
        numbers = [
            row[0]
            for row in raw.execute(
                f"SELECT number FROM conversation_row WHERE conversation_id = '{conversation}' ORDER BY number"
            )
        ]
        if numbers != list(range(1, rows + 1)):
            yield f"the rows of {conversation} are not 1 to {rows}"


def visits(raw: Raw) -> Iterator[str]:
    """The nodes of an activation count from 0; every one but the last has a result, and only visits have any."""
    seen: dict[str, list[tuple[int, bool]]] = {}
    for activation, ordinal, outcome in raw.execute(
        "SELECT node_visit.activation_id, node_visit.ordinal, outcome FROM node_visit LEFT JOIN node_result "
        "ON node_result.activation_id = node_visit.activation_id AND node_result.ordinal = node_visit.ordinal "
        "ORDER BY 1, 2"
    ):
        seen.setdefault(activation, []).append((ordinal, outcome is not None))
    for activation, found in seen.items():
        if [ordinal for ordinal, _ in found] != list(range(len(found))):
            yield f"the nodes of {activation} are not counted from 0"
        if not all(done for _, done in found[:-1]):
            yield f"{activation} went on from a node without a result"
    orphans = "SELECT activation_id, ordinal FROM node_result EXCEPT SELECT activation_id, ordinal FROM node_visit"
    for activation, ordinal in raw.execute(orphans):
        yield f"{activation}:{ordinal} has a result and was not entered"
