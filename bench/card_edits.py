"""Editing a card against a kernel write of a document, while versions pile up (quality, "card mutation")."""

import itertools
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import median

import anyio

from bench import documents as plain
from bench.figures import Figure
from bench.kernel import Taken
from workstead.accounts import authority
from workstead.accounts.projects import Project
from workstead.clock import SystemClock
from workstead.kernel.access import Caller, Proof
from workstead.kernel.feed import Wakes
from workstead.kernel.operations import AnyOperation, Door, Operations
from workstead.kernel.store import Connection, Store
from workstead.kernel.store_sqlite import Sqlite
from workstead.kernel.transaction import Tx
from workstead.work import cards, configurations, operations, setup
from workstead.work.workflow.graph import Configuration

SIZES = (10, 1_000, 100_000)
ROUNDS = 40  # short ones, by turns: whatever else the machine does meets both
WRITES = 6
SLUG = "garden"
ROOT_CARD = "project"

# The one card, and other documents: a project with as many versions overall.
_FILL = """
WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)
INSERT INTO version SELECT {document}, {number}, {number}, at, author, change, changed, change_id || '-' || i,
    {number} - 1, sha256, body FROM n, version WHERE document = :document AND number = 1
"""
_SAME = _FILL.format(document="document", number="i")
_OTHERS = _FILL.format(document="document || '-' || (i % 500)", number="i")


def run() -> Iterator[Figure]:
    """A card's edit beside the kernel's, with ever more versions of it and around it."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "data" / "workstead.sqlite3"
        path.parent.mkdir()
        proof = plain.seed(path)
        project_id = anyio.run(_project, path, proof, Path(name))
        first: float | None = None
        there = 0
        for size in SIZES:
            there = _fill(path, project_id, there=there, size=size)
            floor, ours = _edits(path, proof, prefix=str(size))
            taken_ms = median(ours.wall_ms)
            yield Figure(
                what=f"card edit at {size} versions of it and {size} beside it",
                ours=taken_ms,
                other=median(floor.wall_ms),
                unit="ms",
                beside="a kernel write",
                target="at most 1.3 x",
            )
            yield Figure(
                what=f"card edit at {size} versions, CPU",
                ours=median(ours.cpu_ms),
                other=median(floor.cpu_ms),
                unit="ms",
                beside="a kernel write",
            )
            first = first or median(ours.cpu_ms)
            yield Figure(
                what=f"card edit at {size} versions, CPU",
                ours=median(ours.cpu_ms),
                other=first,
                unit="ms",
                beside=f"the same at {SIZES[0]}",
                target="no growth",
            )


def table(data: Path) -> tuple[AnyOperation, ...]:
    """The operations of work as the server has them."""
    return operations.operations(configuration_of=_configuration_of, data_folder=data)


async def _project(path: Path, proof: Proof, place: Path) -> str:
    store = Store(Sqlite(path))
    own = Operations(table(path.parent), store=store, authority=authority.read, wakes=Wakes(), clock=SystemClock())
    folder = place / SLUG
    folder.mkdir()
    given = {
        "folder": str(folder),
        "name": "Garden",
        "title": "Garden",
        "objective": "A garden.",
        "template": "classic",
    }
    made = await setup.initialise(own, proof, {**given})
    store.close()
    assert isinstance(made, dict)
    return str(made["project"])


def _fill(path: Path, project_id: str, *, there: int, size: int) -> int:
    """As many versions of the root card, and of other documents, as were asked for; returns where the card stands."""
    document = cards.document(project_id, ROOT_CARD)
    with closing(sqlite3.connect(path)) as raw:
        (newest,) = raw.execute("SELECT max(number) FROM version WHERE document = ?", (document,)).fetchone()
        raw.execute(_SAME, {"first": newest + 1, "last": max(size, newest + 1), "document": document})
        raw.execute(_OTHERS, {"first": there + 1, "last": size, "document": document})
        (newest,) = raw.execute("SELECT max(number) FROM version WHERE document = ?", (document,)).fetchone()
        raw.execute("UPDATE head SET revision = ?, version = ? WHERE document = ?", (newest, newest, document))
        raw.execute("UPDATE card SET revision = ? WHERE card_id = ?", (newest, ROOT_CARD))
        raw.commit()
    return size


def _edits(path: Path, proof: Proof, *, prefix: str) -> tuple[Taken, Taken]:
    """Kernel writes and card edits by turns, on this thread."""
    floor, ours = Taken(), Taken()
    store = Store(Sqlite(path))
    both = (*plain.OPERATIONS, *table(path.parent))
    own = Operations(both, store=store, authority=authority.read, wakes=Wakes(), clock=SystemClock())
    with closing(sqlite3.connect(path, isolation_level=None, cached_statements=256)) as raw:
        raw.execute("PRAGMA synchronous=FULL")
        numbers = itertools.count()

        def write(name: str, given: dict[str, object]) -> None:
            admitted = own.admit(name, {**given, "request_id": f"{prefix}-{next(numbers)}"}, door=Door.REST)
            raw.execute("BEGIN IMMEDIATE")
            own._transact(Tx(Connection(raw), clock=SystemClock()), proof, admitted)  # noqa: SLF001 - without the hop
            raw.execute("COMMIT")

        edit = _numbered(lambda title: write("edit_card", {"project": SLUG, "card_id": ROOT_CARD, "title": title}))
        kernel = _numbered(lambda text: write("edit_document", {"document": "d", "text": text}))
        for _ in range(ROUNDS):
            floor.add(kernel, count=WRITES)
            ours.add(edit, count=WRITES)
    store.close()
    return floor, ours


def _numbered(work: Callable[[str], None]) -> Callable[[], None]:
    numbers = itertools.count()

    def once() -> None:
        work(f"Number {next(numbers)}")

    return once


def _configuration_of(tx: Tx, _caller: Caller, project: Project) -> Configuration:
    return configurations.load_trusted(tx, project)
