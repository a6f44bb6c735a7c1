"""What must be true of every database with cards and records, beside what is true of every database."""

from collections.abc import Iterator
from pathlib import Path

from support import invariants, run_invariants
from support.database import Raw, connected
from workstead.kernel import canonical
from workstead.work.workflow import identity

_BODIES = (
    "SELECT head.document, head.revision, head.at, head.version, version.body FROM head "
    "JOIN version ON version.document = head.document AND version.number = head.version "
    "WHERE head.document LIKE 'card:%'"
)
_ROWS = (
    "SELECT project_id, card_id, parent_id, position, type, title, status, priority, urgency, depends_on, status_text, "
    "revision, updated_at, deleted FROM card"
)


def check(path: Path) -> list[str]:
    """Every breach; none is an empty list.

    Who works on a running card is left out: these tests walk cards without any run.
    """
    everywhere = (one for one in invariants.CHECKS if one is not run_invariants.owners)
    with connected(path) as raw:
        return [breach for one in (*everywhere, card_rows, child_order, record_states) for breach in one(raw)]


def card_rows(raw: Raw) -> Iterator[str]:
    """A card's row is its head and the body of its newest version."""
    rows = {f"card:{row[0]}/{row[1]}": row for row in raw.execute(_ROWS)}
    heads = {row[0]: row[1:] for row in raw.execute(_BODIES)}
    if rows.keys() != heads.keys():
        yield f"rows and heads differ: {sorted(rows.keys() ^ heads.keys())}"
    for document, row in rows.items():
        revision, at, _, text = heads[document]
        body = canonical.parse(text)
        assert isinstance(body, dict)
        names = ("type", "title", "status", "priority", "urgency", "status_text")
        shown = dict(zip(names, (*row[4:9], row[10]), strict=True))
        if shown != {name: body[name] for name in names} or canonical.parse(row[9]) != body["depends_on"]:
            yield f"the row of {document} says {shown}, its newest version does not"
        if (row[11], row[12]) != (revision, at):
            yield f"the row of {document} is at {row[11]}, its head at {revision}"
        if bool(row[13]) is not body["deleted"] or row[2] != identity.parent_of(row[1]):
            yield f"the row of {document} has another parent or end than its version"


def child_order(raw: Raw) -> Iterator[str]:
    """The places of children are their order in the parent's newest version, tombstones included."""
    bodies = {row[0]: canonical.parse(row[4]) for row in raw.execute(_BODIES)}
    children: dict[str, list[tuple[int, str]]] = {}
    for project_id, card_id, parent_id, position, *_ in raw.execute(_ROWS):
        if parent_id is not None:
            children.setdefault(f"card:{project_id}/{parent_id}", []).append((position, card_id))
    for document, body in bodies.items():
        assert isinstance(body, dict)
        placed = sorted(children.get(document, []))
        if placed != list(enumerate(body["children"])):  # type: ignore[arg-type]  # JSON of a list of texts
            yield f"the children of {document} stand at {placed}, its version says {body['children']}"


def record_states(raw: Raw) -> Iterator[str]:
    """Accepted numbers count from 1; a draft and a starter never stand together; a draft aims at the next number."""
    numbers: dict[str, list[int]] = {}
    for document, number in raw.execute("SELECT document, number FROM version WHERE document LIKE 'record:%'"):
        numbers.setdefault(document, []).append(number)
    heads = dict(raw.execute("SELECT document, version FROM head WHERE document LIKE 'record:%'"))
    for row in raw.execute(
        "SELECT project_id, card_id, name, accepted, baseline, draft, draft_version, draft_target, opened_at "
        "FROM record"
    ):
        document = f"record:{row[0]}/{row[1]}/{row[2]}"
        accepted, baseline, *draft = row[3:]
        if sorted(numbers.get(document, [])) != list(range(1, accepted + 1)):
            yield f"{document} has {numbers.get(document)} and says {accepted}"
        if (heads.get(document) or 0) != accepted:
            yield f"the head of {document} names {heads.get(document)}, accepted is {accepted}"
        if baseline is not None and (accepted or draft[0] is not None):
            yield f"{document} has a starter beside a text"
        if len({value is None for value in draft}) != 1:
            yield f"{document} has half a draft"
        elif draft[0] is not None and (draft[2] != accepted + 1 or draft[1] not in {0, draft[2]}):
            yield f"{document} has a draft of {draft[1]} for {draft[2]} after {accepted}"
