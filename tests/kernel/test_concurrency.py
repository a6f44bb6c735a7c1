"""Eight stores on one database, random operations, reused request ids; then everything is read (quality, "Tests")."""

import random
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest

from support import instance, invariants, notes
from support.database import rows
from workstead.errors import Refusal
from workstead.kernel.operations import Door

pytestmark = pytest.mark.both_databases

STORES = 8
CALLS = 80
# What random calls may meet; anything else is a fault.
EXPECTED = {"note_exists", "note_not_found", "note_stale", "request_id_reused", "answer_shown_once"}


def call(chosen: random.Random) -> tuple[str, dict[str, Any]]:
    """A random operation and its input; a request id usually stands for the same input wherever it is used."""
    request_id = chosen.choice([None, *range(60), *range(60)])
    means = chosen if request_id is None or chosen.random() < 0.1 else random.Random(request_id)
    name = means.choice(["create_note", "edit_note", "edit_note", "touch_note", "reveal_note"])
    raw: dict[str, Any] = {
        "project": means.choice(["garden", "pond"]),
        "note": f"n-{means.randrange(6)}",
        "text": f"text {means.randrange(40)}" * means.choice([1, 200]),
    }
    if means.random() < 0.2:
        raw["base_revision"] = means.randrange(1, 5)
    if request_id is not None:
        raw["request_id"] = f"r-{request_id}"
    return name, raw


async def calls(found: instance.Founded, seed: int) -> list[tuple[tuple[str, str], object]]:
    """Eighty calls of one store, four at a time; the answers that came under a request id."""
    chosen = random.Random(1000 + seed)
    answered: list[tuple[tuple[str, str], object]] = []
    with instance.opened(found.path, operations=notes.OPERATIONS) as opened:

        async def some() -> None:
            for _ in range(CALLS // 4):
                name, raw = call(chosen)
                try:
                    answer = await opened.operations.run(found.operator.proof, name, raw, door=Door.REST)
                except Refusal as refusal:
                    if refusal.code not in EXPECTED:
                        raise
                else:
                    if "request_id" in raw:
                        answered.append(((name, raw["request_id"]), answer))

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(some)
    return answered


@pytest.mark.covers("K04", "K05", "K15")
def test_eight_stores_on_one_database_keep_every_promise(tmp_path: Path) -> None:
    """One answer for each request id, whoever asked; chains, heads, feeds and receipts whole."""
    found = instance.founded(tmp_path / "db")
    instance.second_project(found, slug="pond")
    with ThreadPoolExecutor(STORES) as pool:
        waiting = [pool.submit(anyio.run, calls, found, seed) for seed in range(STORES)]
        answered = [one for done in waiting for one in done.result(60)]
    assert invariants.check(found.path) == []
    by_key = defaultdict(set)
    for key, answer in answered:
        by_key[key].add(str(answer))
    assert {key: answers for key, answers in by_key.items() if len(answers) > 1} == {}
    repeats = len(answered) - len(by_key)
    assert (len(by_key) > 20, repeats > 20) == (True, True)
    changes, receipts = (
        {row[0] for row in rows(found.path, f"SELECT change_id FROM {table}")} for table in ("version", "receipt")
    )
    assert changes <= receipts
