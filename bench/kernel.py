"""The kernel's write path against a bare SQLite transaction of the same rows (quality, "Performance")."""

import itertools
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import anyio

from bench.documents import OPERATIONS, bare, seed
from bench.figures import Figure
from workstead.accounts import authority
from workstead.clock import SystemClock
from workstead.kernel.access import Proof
from workstead.kernel.feed import Wakes
from workstead.kernel.operations import Door, Operations
from workstead.kernel.store import Connection, Store
from workstead.kernel.store_sqlite import Sqlite
from workstead.kernel.transaction import Tx

ROUNDS = 7
WRITES = 150
BODY = "word " * 400


@dataclass(kw_only=True)
class Taken:
    """Milliseconds of wall time and of CPU, one of each per write."""

    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)

    def add(self, work: Callable[[], object], *, count: int) -> None:
        """Time each of `count` calls, and their CPU together."""
        cpu_s = time.thread_time()
        for _ in range(count):
            began_s = time.perf_counter()
            work()
            self.wall_ms.append((time.perf_counter() - began_s) * 1000)
        self.cpu_ms.append((time.thread_time() - cpu_s) * 1000 / count)


def run() -> Iterator[Figure]:
    """Every figure of the kernel."""
    with tempfile.TemporaryDirectory() as folder:
        floor, inside = _in_thread(Path(folder))
        bare_ms, beside = median(floor.wall_ms), "a bare SQLite transaction of the same rows"
        what = "kernel edit in its thread"
        yield Figure(
            what=what, ours=median(inside.wall_ms), other=bare_ms, unit="ms", beside=beside, target="at most 2 x"
        )
        yield Figure(
            what=f"{what}, CPU",
            ours=median(inside.cpu_ms),
            other=median(floor.cpu_ms),
            unit="ms",
            beside=beside,
            target="at most 2.5 x",
        )
        path = Path(folder) / "loop.sqlite3"
        proof = seed(path)
        for name, taken_ms in anyio.run(_hops, path, proof).items():
            yield Figure(what=f"operations.run {name}", ours=taken_ms, other=bare_ms, unit="ms", beside=beside)
        alone, mixed = anyio.run(_beside, path, proof)
    for share, target in ((0.5, "at most 30 ms"), (0.99, "")):
        yield Figure(
            what=f"two writers beside eight saturating readers, p{share * 100:g}",
            ours=_percentile(mixed, share),
            other=_percentile(alone, share),
            unit="ms",
            beside="the same writers alone",
            target=target,
        )


def _in_thread(folder: Path) -> tuple[Taken, Taken]:
    """Bare and kernel edits by turns, each on its own file, on this thread."""
    floor, inside = Taken(), Taken()
    proof = seed(folder / "kernel.sqlite3")
    seed(folder / "bare.sqlite3")
    with _connected(folder / "bare.sqlite3") as raw, opened(folder / "kernel.sqlite3") as (store, operations):
        write_bare = bare(raw, BODY)
        with _connected(folder / "kernel.sqlite3") as own:
            names = itertools.count()

            def write_kernel() -> None:
                number = next(names)
                given = {"document": "d", "text": f"{number} {BODY}", "request_id": f"in-thread-{number}"}
                admitted = operations.admit("edit_document", given, door=Door.REST)
                own.execute("BEGIN IMMEDIATE")
                operations._transact(Tx(Connection(own), clock=SystemClock()), proof, admitted)  # noqa: SLF001 - without the hop
                own.execute("COMMIT")

            for _ in range(ROUNDS):
                floor.add(write_bare, count=WRITES)
                inside.add(write_kernel, count=WRITES)
        store.close()
    return floor, inside


async def _hops(path: Path, proof: Proof) -> dict[str, float]:
    """Milliseconds per write through `operations.run`, by operation and concurrency."""
    found: dict[str, float] = {}
    with opened(path) as (store, operations):
        for name, tasks in itertools.product(("create_document", "edit_document"), (1, 8)):
            numbers = itertools.count()

            async def write(name: str = name, tasks: int = tasks, numbers: Iterator[int] = numbers) -> None:
                number = next(numbers)
                document = f"{name}-{tasks}-{number}" if name == "create_document" else "d"
                given = {"document": document, "text": f"{tasks} {number} {BODY}", "request_id": f"{tasks}-{number}"}
                await operations.run(proof, name, given, door=Door.REST)

            count = 800 // tasks
            began_s = time.perf_counter()
            async with anyio.create_task_group() as group:
                for _ in range(tasks):
                    group.start_soon(_times, write, count)
            found[f"{name} c={tasks}"] = (time.perf_counter() - began_s) * 1000 / (count * tasks)
        store.close()
    return found


async def _beside(path: Path, proof: Proof) -> tuple[list[float], list[float]]:
    """Milliseconds of two writers' writes: alone, then beside eight readers that never rest."""
    with opened(path) as (store, operations):
        numbers = itertools.count()

        async def write(taken: list[float]) -> None:
            given = {"document": "d", "text": f"{next(numbers)} {BODY}"}
            began_s = time.perf_counter()
            await operations.run(proof, "edit_document", given, door=Door.REST)
            taken.append((time.perf_counter() - began_s) * 1000)

        async def read() -> None:
            for name in itertools.cycle(("read_document", "scan_document")):
                await operations.run(proof, name, {"document": "d"}, door=Door.REST)
                await anyio.lowlevel.checkpoint()

        async def two_writers() -> list[float]:
            taken: list[float] = []
            async with anyio.create_task_group() as group:
                for _ in range(2):
                    group.start_soon(_times, lambda: write(taken), 300)
            return taken

        alone = await two_writers()
        async with anyio.create_task_group() as readers:
            for _ in range(8):
                readers.start_soon(read)
            beside = await two_writers()
            readers.cancel_scope.cancel()
        store.close()
    return alone, beside


async def _times(work: Callable[[], Awaitable[None]], count: int) -> None:
    for _ in range(count):
        await work()


def _percentile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None, cached_statements=256)) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        yield raw


@contextmanager
def opened(path: Path) -> Iterator[tuple[Store, Operations]]:
    """The kernel with the benchmark's operations over a database that exists."""
    store = Store(Sqlite(path))
    yield (
        store,
        Operations(OPERATIONS, store=store, authority=authority.read, wakes=Wakes(), clock=SystemClock()),
    )
