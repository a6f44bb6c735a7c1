"""The kernel's writes and reads on PostgreSQL; needs WORKSTEAD_DATABASE_URL to name an empty database.

The floor is a transaction with one row on the same server, which is what a round trip and a commit cost there.
"""

import itertools
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median

import anyio

from bench.documents import OPERATIONS, found, seed
from bench.figures import Figure
from workstead.accounts import authority
from workstead.clock import SystemClock
from workstead.kernel import databases
from workstead.kernel.access import Proof
from workstead.kernel.feed import Wakes
from workstead.kernel.operations import Door, Operations
from workstead.kernel.store import Database, Durability, Store
from workstead.kernel.store_sqlite import Sqlite
from workstead.kernel.transaction import Tx
from workstead.migrations import schema

CALLS = 400
BODY = "word " * 400


def run() -> Iterator[Figure]:
    """Every figure; none without an address."""
    address = os.environ.get("WORKSTEAD_DATABASE_URL")
    if address is None:
        print("postgresql: left out, WORKSTEAD_DATABASE_URL is not set")
        return
    schema.prepare_postgresql(address)
    database = databases.of(Path(), address, durability=Durability.FULL)
    session = database.session(read_only=False)
    proof = session.write(lambda connection: found(Tx(connection, clock=SystemClock())), persists=lambda: False)
    session.close()
    floor_ms = _floor(address)
    with tempfile.TemporaryDirectory() as folder:
        beside = Sqlite(Path(folder) / "db")
        file_proof = seed(Path(folder) / "db")
        ours, theirs = anyio.run(_calls, database, proof), anyio.run(_calls, beside, file_proof)
    for name, taken_ms in ours.items():
        yield Figure(
            what=f"{name} on PostgreSQL", ours=taken_ms, other=theirs[name], unit="ms", beside="the same on SQLite"
        )
    yield Figure(
        what="edit_document c=1 on PostgreSQL",
        ours=ours["edit_document c=1"],
        other=floor_ms,
        unit="ms",
        beside="a transaction of one row there",
    )


def _floor(address: str) -> float:
    import psycopg  # noqa: PLC0415 - the benchmarks of the default need no driver

    taken_ms: list[float] = []
    with closing(psycopg.connect(address, autocommit=True, prepare_threshold=0)) as raw:
        raw.execute("CREATE TABLE bench_floor (id bigint, body text)")
        for number in range(CALLS):
            began_s = time.perf_counter()
            raw.execute("BEGIN", prepare=False)
            raw.execute("INSERT INTO bench_floor VALUES (%(id)s, %(body)s)", {"id": number, "body": BODY})
            raw.execute("COMMIT", prepare=False)
            taken_ms.append((time.perf_counter() - began_s) * 1000)
        raw.execute("DROP TABLE bench_floor")
    return median(taken_ms)


async def _calls(database: Database, proof: Proof) -> Mapping[str, float]:
    """Milliseconds per call, by operation and how many at once."""
    store = Store(database)
    own = Operations(OPERATIONS, store=store, authority=authority.read, wakes=Wakes(), clock=SystemClock())
    numbers = itertools.count()

    async def call(name: str) -> None:
        number = next(numbers)
        if name == "read_document":
            given = {"document": "d"}
        else:
            document = "d" if name == "edit_document" else f"new-{number}"
            given = {"document": document, "text": f"{number} {BODY}", "request_id": f"r-{number}"}
        await own.run(proof, name, given, door=Door.REST)

    taken: dict[str, float] = {}
    for name, tasks in itertools.product(("create_document", "edit_document", "read_document"), (1, 8)):
        began_s = time.perf_counter()
        async with anyio.create_task_group() as group:
            for _ in range(tasks):
                group.start_soon(_times, partial(call, name), CALLS // tasks)
        taken[f"{name} c={tasks}"] = (time.perf_counter() - began_s) * 1000 / CALLS
    store.close()
    return taken


async def _times(work: Callable[[], Awaitable[None]], count: int) -> None:
    for _ in range(count):
        await work()
