"""What must never be true of work in progress, and what must not be left when no run lives."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import groupby
from typing import cast

from support.database import Raw
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

_CALLS = (
    "SELECT conversation_id, number, kind, call_id, input_id, tool, content FROM conversation_row "
    "WHERE kind IN ('tool_call', 'tool_result') ORDER BY conversation_id, number"
)
_CALLS_OF = "SELECT conversation_id || ' ' || call_id FROM conversation_row WHERE kind = '{kind}'"


def answers(raw: Raw) -> Iterator[str]:
    """Each call has at most one result, in answer order; only calls of the last answer are without one (W10)."""
    last = dict(raw.execute("SELECT id, answer_row FROM conversation"))
    for conversation, found in groupby(raw.execute(_CALLS).fetchall(), key=lambda row: str(row[0])):
        called: dict[str, list[str]] = defaultdict(list)
        answered: dict[str, list[str]] = defaultdict(list)
        placed: dict[str, int] = {}
        for _, number, kind, call_id, input_id, tool, _ in found:
            by_kind = called if kind == "tool_call" else answered
            by_kind[input_id].append(f"{call_id} {tool}")
            if kind == "tool_call":
                placed[f"{call_id} {tool}"] = number
        for input_id in answered.keys() | called.keys():
            calls, results = called[input_id], answered[input_id]
            if results != calls[: len(results)]:
                yield f"the answer {input_id} of {conversation} calls {calls}, its results are {results}"
            if results != calls and placed[calls[-1]] < last[conversation]:
                yield f"an answer before the last of {conversation} has the open calls {calls[len(results) :]}"


def exchanges(raw: Raw) -> Iterator[str]:
    """An answer stands in a conversation exactly when its exchange is done; its effect ended the same way."""
    rows = raw.execute(
        "SELECT exchange.id, exchange_end.ended, effect_end.outcome, "
        "(SELECT count(*) FROM conversation_row WHERE input_id = exchange.id AND kind = 'text'), purpose "
        "FROM exchange LEFT JOIN exchange_end ON exchange_end.exchange_id = exchange.id "
        "LEFT JOIN effect_end ON effect_end.effect_id = exchange.effect_id"
    )
    for exchange, ended, outcome, texts, purpose in rows:
        if ended != outcome:
            yield f"exchange {exchange} ended as {ended}, its effect as {outcome}"
        if texts != (1 if ended == "done" and purpose == "step" else 0):
            yield f"exchange {exchange} ended as {ended} and has {texts} answers"
    for (strange,) in raw.execute(
        "SELECT DISTINCT input_id FROM conversation_row WHERE input_id IS NOT NULL EXCEPT SELECT id FROM exchange"
    ):
        yield f"rows name the exchange {strange}, which does not exist"


def budgets(raw: Raw) -> Iterator[str]:
    """What a call may come to is held exactly while it is open; what was used is counted once, everywhere (X03)."""
    held = {row[0] for row in raw.execute("SELECT exchange_id FROM budget_hold")}
    is_open = {
        row[0]
        for row in raw.execute(
            "SELECT id FROM exchange LEFT JOIN exchange_end ON exchange_end.exchange_id = id WHERE exchange_id IS NULL"
        )
    }
    if held != is_open:
        yield f"the calls {held ^ is_open} are open and hold nothing, or are over and hold something"
    tokens = "SUM(input_tokens + output_tokens + unknown_tokens)"
    days = raw.execute(f"SELECT project_id, SUM(calls), {tokens}, SUM(micros) FROM usage_day GROUP BY 1 ORDER BY 1")
    uses = raw.execute(
        "SELECT project_id, calls, tokens, micros FROM budget_use WHERE kind = 'project' ORDER BY project_id"
    )
    by_day, in_all = [tuple(row) for row in days.fetchall()], [tuple(row) for row in uses.fetchall()]
    if [(row[0], *map(int, row[1:])) for row in by_day] != in_all:
        yield f"the days count {by_day}, the projects {in_all}"


def segments(raw: Raw) -> Iterator[str]:
    """Segments follow each other without a gap; each stands for rows before it and tears no call from its result."""
    found: dict[str, list[tuple[int, int, dict[str, Json]]]] = defaultdict(list)
    for one, number, segment, content in raw.execute(
        "SELECT conversation_id, number, segment, content FROM conversation_row WHERE kind = 'segment' "
        "ORDER BY conversation_id, number"
    ):
        found[one].append((number, segment, cast("dict[str, Json]", canonical.parse(content))))
    rows: dict[tuple[str, str], list[int]] = defaultdict(list)
    for one, number, _, call_id, *_ in raw.execute(_CALLS).fetchall():
        rows[one, call_id].append(number)
    for one, segment, genesis_row in raw.execute("SELECT id, segment, genesis_row FROM conversation"):
        begins = found[one]
        if [each[1] for each in begins] != list(range(2, segment + 1)):
            yield f"{one} is at segment {segment} and has those of {[each[1] for each in begins]}"
        if genesis_row != (begins[-1][0] if begins else 0):
            yield f"{one} begins at row {genesis_row}, its last segment at {begins[-1:]}"
        covered = [cast("int", each[2]["covered_through"]) for each in begins]
        if covered != sorted(set(covered)) or any(
            end >= number for end, (number, _, _) in zip(covered, begins, strict=True)
        ):
            yield f"the segments of {one} stand for rows up to {covered}"
        for (owner, call_id), (called, *answered) in rows.items():
            if owner == one and any(called <= end < (answered or [end + 1])[0] for end in covered):
                yield f"a segment of {one} stands for the call {call_id} and not for its result"


def processes(raw: Raw) -> Iterator[str]:
    """One call starts at most one process, and no two calls report the same new one: nothing is run twice (K15)."""
    for process, at, ended_at in raw.execute(
        "SELECT id, started_at, at FROM process JOIN process_end ON process_end.process_id = process.id"
    ):
        if ended_at < at:
            yield f"process {process} ended before it began"
    asked = Counter(
        row[0]
        for row in raw.execute(
            "SELECT activation_id FROM conversation_row WHERE tool='run_command' AND kind='tool_call'"
        )
    )
    acted = Counter(
        row[0] for row in raw.execute("SELECT activation_id FROM node_visit WHERE executor LIKE 'action:%'")
    )
    begun = Counter(row[0] for row in raw.execute("SELECT activation_id FROM process"))
    for activation, times in begun.items():
        if times > asked[activation] + acted[activation]:
            yield f"activation {activation} asked for {asked[activation]} commands and started {times}"
    known = {row[0] for row in raw.execute("SELECT id FROM process")}
    reported: Counter[str] = Counter()
    for _, _, kind, _, _, tool, content in raw.execute(_CALLS).fetchall():
        if kind == "tool_result" and tool == "run_command":
            reported.update(_reported(content))
    for process, times in reported.items():
        if times > 1 or process not in known:
            yield f"{times} calls report process {process}"


def open_marks(raw: Raw) -> Iterator[str]:
    """What is marked as open is exactly what has no end: a recovery asks for the mark (K15)."""
    for table in ("effect", "exchange", "process"):
        rows = raw.execute(
            f"SELECT id, open, {table}_id FROM {table} LEFT JOIN {table}_end ON {table}_id = id "
            f"WHERE open != CASE WHEN {table}_id IS NULL THEN 1 ELSE 0 END"
        )
        for identity, mark, end in rows:
            yield f"{table} {identity} is marked {mark} and its end is {end}"


def owners(raw: Raw) -> Iterator[str]:
    """A running card has exactly one live activation, in a live run; nobody acts for a card that is not (W09)."""
    alive = Counter(
        row[0] for row in raw.execute("SELECT project_id || '/' || card_id FROM activation WHERE closed_at IS NULL")
    )
    running = {row[0] for row in raw.execute("SELECT project_id || '/' || card_id FROM card WHERE status = 'running'")}
    for card in alive.keys() | running:
        if alive[card] != (1 if card in running else 0):
            yield f"card {card} has {alive[card]} live activations, running: {card in running}"
    for run, state, ended_at, ending, reason in raw.execute("SELECT id, state, ended_at, ending, reason FROM run"):
        if len({state == "ended", ended_at is not None, ending is not None, bool(reason)}) != 1:
            yield f"run {run} is {state}, ended at {ended_at} as {ending}: {reason}"
    for project, lives in raw.execute("SELECT project_id, count(*) FROM run WHERE ended_at IS NULL GROUP BY 1"):
        if lives > 1:
            yield f"project {project} has {lives} live runs"
    for (grant,) in raw.execute(
        "SELECT agent_grant.id FROM agent_grant JOIN activation ON activation.id = activation_id "
        "WHERE ended_at IS NULL AND closed_at IS NOT NULL"
    ):
        yield f"grant {grant} outlives its activation"


def places(raw: Raw) -> Iterator[str]:
    """Siblings stand where their parent's newest version lists them (W02)."""
    under: dict[tuple[str, str], list[str]] = defaultdict(list)
    for project, parent, card in raw.execute("SELECT project_id, parent_id, card_id FROM card ORDER BY position"):
        under[project, parent].append(card)
    rows = raw.execute(
        "SELECT project_id, card_id, version.body FROM card "
        "JOIN head ON head.document = 'card:' || project_id || '/' || card_id "
        "JOIN version ON version.document = head.document AND version.number = head.version"
    )
    for project, card, body in rows:
        stored = cast("dict[str, Json]", canonical.parse(body))
        if stored["children"] != under[project, card]:
            yield f"card {card} lists {stored['children']}, its rows stand as {under[project, card]}"


def left_over(raw: Raw) -> Iterator[str]:
    """What nothing may leave behind when no run lives: everything begun has an end that says what is known (W10)."""
    for what, query in (
        ("run lives", "SELECT id FROM run WHERE ended_at IS NULL"),
        ("card runs", "SELECT card_id FROM card WHERE status = 'running'"),
        ("activation is open", "SELECT id FROM activation WHERE closed_at IS NULL"),
        ("grant is open", "SELECT id FROM agent_grant WHERE ended_at IS NULL"),
        ("process has no end", "SELECT id FROM process EXCEPT SELECT process_id FROM process_end"),
        ("exchange has no end", "SELECT id FROM exchange EXCEPT SELECT exchange_id FROM exchange_end"),
        ("effect has no end", "SELECT id FROM effect EXCEPT SELECT effect_id FROM effect_end"),
        (
            "call has no result",
            _CALLS_OF.format(kind="tool_call") + " EXCEPT " + _CALLS_OF.format(kind="tool_result"),
        ),
        ("lease is held", "SELECT name FROM lease WHERE owner != ''"),
    ):
        for (found,) in raw.execute(query):
            yield f"a {what}: {found}"


def _reported(content: str) -> Iterator[str]:
    stored = canonical.parse(content)
    result = stored.get("result") if isinstance(stored, dict) else None
    data = result.get("data") if isinstance(result, dict) else None
    if isinstance(data, dict) and "process_id" in data:
        yield str(data["process_id"])
