"""What must never stand in a row: a word that no reader knows, half an end, a name of nothing."""

from collections.abc import Iterator
from enum import StrEnum

from support.database import Raw
from workstead.accounts.credentials import CredentialKind
from workstead.accounts.roles import Role
from workstead.agents.conversations import RowKind
from workstead.runs.runs import Ending, State, Wanted
from workstead.work.cards import Urgency
from workstead.work.workflow import lifecycle
from workstead.work.workflow.lifecycle import Entry, Status

_ENDINGS = {"blocked", "cancelled", "done", "failed", "stopped"}


def _of(words: type[StrEnum]) -> set[str]:
    return {word.value for word in words}


WORDS = (
    ("activation", "entry", _of(Entry)),
    ("activation", "ending", _ENDINGS),
    ("budget", "kind", {"agent", "card", "project"}),
    ("card", "status", _of(Status)),
    ("card", "urgency", _of(Urgency)),
    ("conversation_row", "kind", _of(RowKind)),
    ("credential", "kind", _of(CredentialKind)),
    ("exchange_end", "ended", {"done", "failed", "interrupted", "unknown"}),
    ("run", "ending", _of(Ending)),
    ("run", "state", _of(State)),
    ("run", "wanted", _of(Wanted)),
    ("share", "role", _of(Role)),
)


def words(raw: Raw) -> Iterator[str]:
    """Every closed set holds only its own words, or reading the row would fail for ever."""
    for table, column, known in WORDS:
        found = {row[0] for row in raw.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")}
        for word in sorted(found - known):
            yield f"{table}.{column} holds {word!r}"


def activations(raw: Raw) -> Iterator[str]:
    """An end has its moment and its word together; a child belongs to a parent of the same run."""
    for one, closed_at, ending in raw.execute("SELECT id, closed_at, ending FROM activation"):
        if (closed_at is None) != (ending is None):
            yield f"activation {one} closed at {closed_at} as {ending}"
    for one, run, parent, parents_run in raw.execute(
        "SELECT child.id, child.run_id, child.parent_id, parent.run_id FROM activation AS child "
        "LEFT JOIN activation AS parent ON parent.id = child.parent_id WHERE child.parent_id IS NOT NULL"
    ):
        if run != parents_run:
            yield f"activation {one} of run {run} is below {parent} of {parents_run}"


def times(raw: Raw) -> Iterator[str]:
    """Nothing ends before it began."""
    for table, began, ended in (
        ("activation", "opened_at", "closed_at"),
        ("agent_grant", "opened_at", "ended_at"),
        ("credential", "created_at", "ended_at"),
        ("notification", "created_at", "removed_at"),
        ("run", "created_at", "ended_at"),
    ):
        for (early,) in raw.execute(f"SELECT {ended} FROM {table} WHERE {ended} < {began}"):
            yield f"a row of {table} ended at {early}, before it began"


def notices(raw: Raw) -> Iterator[str]:
    """Notices wait on living cards that take them only."""
    waiting = raw.execute(
        "SELECT card.card_id, card.status, card.deleted FROM notification "
        "JOIN card ON card.project_id = notification.project_id AND card.card_id = notification.card_id "
        "WHERE notification.removed_at IS NULL"
    )
    for card_id, status, deleted in waiting:
        known = status in _of(Status)
        if deleted or not known or not lifecycle.accepts_notifications(Status(status)):
            yield f"a notice waits on {card_id}, which is {status}"


_CARD = "project_id || '/' || card_id"
REFERENCES = (
    ("activation", _CARD, "card", _CARD),
    ("api_token", "digest", "credential", "digest"),
    ("api_token", "person_id", "person", "id"),
    ("assistant", "digest", "credential", "digest"),
    ("assistant", "owner_id", "person", "id"),
    ("assistant_use", "assistant_id", "assistant", "id"),
    ("comment", _CARD, "card", _CARD),
    ("configuration_trust", "project_id", "project", "id"),
    ("node_visit", "activation_id", "activation", "id"),
    ("notification", _CARD, "card", _CARD),
    ("record", _CARD, "card", _CARD),
)
