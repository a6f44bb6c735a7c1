"""The invariant checker: reads the whole database and says everything that must never be true.

A package adds its own checks to `CHECKS`: functions that read a connection and yield one sentence per breach.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

from support import feature_invariants, run_invariants, stored_invariants
from support.database import Raw, connected
from workstead.kernel import canonical
from workstead.kernel.effects import Ended
from workstead.kernel.feed import Event

Check = Callable[[Raw], Iterator[str]]


def check(database: Path | Raw) -> list[str]:
    """Every breach of every check; none is an empty list."""
    if isinstance(database, Path):
        with connected(database) as raw:
            return check(raw)
    return [breach for one in CHECKS for breach in one(database)]


def check_at_rest(database: Path) -> list[str]:
    """Every breach, and everything that is left open although no run lives."""
    with connected(database) as raw:
        return check(raw) + list(run_invariants.left_over(raw))


def version_chains(raw: Raw) -> Iterator[str]:
    """Each version names its predecessor, its digest is its body's, and the head is the last of them (K04)."""
    heads = {row[0]: row[1:] for row in raw.execute("SELECT document, version, revision FROM head")}
    rows = raw.execute(
        "SELECT document, number, revision, previous, sha256, body FROM version ORDER BY document, number"
    )
    seen: dict[str, tuple[int, int]] = {}
    for document, number, revision, previous, sha256, body in rows:
        last_number, last_revision = seen.get(document, (None, 0))
        if previous != last_number:
            yield f"{document}@{number} follows {previous}, not {last_number}"
        if revision <= last_revision:
            yield f"{document}@{number} has revision {revision} after {last_revision}"
        if canonical.digest_text(body) != sha256 or canonical.text(canonical.parse(body)) != body:
            yield f"{document}@{number} is not the body of its digest"
        seen[document] = (number, revision)
    for document, (number, revision) in heads.items():
        last = seen.get(document)
        if number != (last[0] if last else None):
            yield f"the head of {document} names version {number}, the last is {last}"
        if last is not None and revision < last[1]:
            yield f"the head of {document} has revision {revision}, its last version {last[1]}"
    for document in seen.keys() - heads.keys():
        yield f"{document} has versions and no head"


def feeds(raw: Raw) -> Iterator[str]:
    """Each scope's feed counts from 1 to the scope's number without a gap."""
    numbers = dict(raw.execute("SELECT id, seq FROM scope"))
    rows = raw.execute("SELECT scope, seq, event FROM feed ORDER BY scope, seq").fetchall()
    counted = {scope: [seq for _, seq, _ in found] for scope, found in groupby(rows, key=lambda row: str(row[0]))}
    for scope in counted.keys() - numbers.keys():
        yield f"a feed without its scope {scope}"
    for scope, last in numbers.items():
        if counted.get(scope, []) != list(range(1, last + 1)):
            yield f"the feed of {scope} is not 1 to {last}"
    known = {event.value for event in Event}
    for event in {event for _, _, event in rows} - known:
        yield f"the feed has an unknown event {event}"


def receipts(raw: Raw) -> Iterator[str]:
    """Each receipt stands for one change and holds at most one form of its answer (K05)."""
    rows = raw.execute(
        "SELECT operation, request_id, change_id, answer, answer_id, answer_revision, length(digest) FROM receipt"
    ).fetchall()
    for change, times in Counter(row[2] for row in rows).items():
        if times > 1:
            yield f"change {change} has {times} receipts"
    for operation, request_id, _, answer, answer_id, answer_revision, digest_length in rows:
        name = f"the receipt {operation} {request_id}"
        if answer is not None and (answer_id is not None or answer_revision is not None):
            yield f"{name} has its answer twice"
        if digest_length != 64:
            yield f"{name} has no digest"
        if answer is not None:
            canonical.parse(answer)


def effects(raw: Raw) -> Iterator[str]:
    """Each end has its claim, is no earlier than it, and says something known."""
    rows = raw.execute(
        "SELECT effect_end.effect_id, effect_end.outcome, effect_end.at, effect.claimed_at FROM effect_end "
        "LEFT JOIN effect ON effect.id = effect_end.effect_id"
    )
    for effect_id, outcome, ended_at, claimed_at in rows:
        if claimed_at is None:
            yield f"the end of {effect_id} has no claim"
        elif ended_at < claimed_at:
            yield f"{effect_id} ended before it was claimed"
        if outcome not in {ended.value for ended in Ended}:
            yield f"{effect_id} ended as {outcome}"


def references(raw: Raw) -> Iterator[str]:
    """What names another row finds it; the tables have no foreign keys of their own."""
    for table, column, target, key in (
        ("head", "scope", "scope", "id"),
        ("receipt", "scope", "scope", "id"),
        ("evidence", "scope", "scope", "id"),
        ("effect", "scope", "scope", "id"),
        ("credential", "person_id", "person", "id"),
        ("project", "owner_id", "person", "id"),
        ("project", "'project:' || id", "scope", "id"),
        ("person", "'account:' || id", "scope", "id"),
        ("share", "person_id", "person", "id"),
        ("share", "project_id", "project", "id"),
        ("agent_grant", "project_id", "project", "id"),
        ("agent_grant", "person_id", "person", "id"),
        *feature_invariants.REFERENCES,
        *stored_invariants.REFERENCES,
    ):
        named = f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"
        for (missing,) in raw.execute(f"{named} EXCEPT SELECT {key} FROM {target}"):
            yield f"{table} names {missing}, which is not in {target}"


CHECKS: list[Check] = [
    version_chains,
    feeds,
    receipts,
    effects,
    references,
    feature_invariants.cards,
    feature_invariants.records,
    feature_invariants.conversations,
    feature_invariants.runs,
    run_invariants.answers,
    run_invariants.exchanges,
    run_invariants.budgets,
    run_invariants.segments,
    run_invariants.processes,
    run_invariants.open_marks,
    run_invariants.owners,
    run_invariants.places,
    stored_invariants.words,
    stored_invariants.activations,
    stored_invariants.times,
    stored_invariants.notices,
]
