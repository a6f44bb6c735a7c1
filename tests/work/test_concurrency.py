"""Threads with a store each make random changes of one project at once; then everything is read (quality, "Tests")."""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from support.database import rows
from work import checks, office
from work.office import Office
from workstead import errors
from workstead.errors import Kind
from workstead.kernel.transaction import Tx
from workstead.work import cards, notifications
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases

THREADS = 6
CALLS = 60
# What random calls may meet; anything else is a fault, `busy` and `unavailable` among them.
EXPECTED = {Kind.CONFLICT, Kind.INVALID, Kind.LIMIT, Kind.NOT_FOUND, Kind.STALE}

Call = tuple[str, dict[str, Any]]


def a_card(chosen: random.Random) -> str:
    return f"card-{chosen.choice('abcdefgh')}"


def of_cards(chosen: random.Random) -> Call:
    """The life of a card: made, changed, ordered, needed by another, ended and opened again."""
    name = chosen.choice(
        ["create_card", "edit_card", "reorder_child", "cancel_card", "delete_card", "reopen_card", "walk"]
    )
    card = a_card(chosen)
    match name:
        case "create_card":
            needs = [a_card(chosen)] if chosen.random() < 0.4 else []
            title = f"Task {chosen.randrange(99)}"
            made = {"type": "task", "title": title, "bootstrap_content": "Do it.", "depends_on": needs}
            return name, {"parent": "project", **made}
        case "edit_card":
            base = {"base_revision": chosen.randrange(1, 6)} if chosen.random() < 0.3 else {}
            return name, {"card_id": card, "title": f"Task {chosen.randrange(99)}", **base}
        case "reorder_child":
            ids = [f"card-{letter}" for letter in "abcdefgh"[: chosen.randrange(1, 9)]]
            chosen.shuffle(ids)
            return name, {"parent": "project", "ordered_child_ids": ids}
        case "delete_card":
            return name, {"ids": [card]}
        case _:
            return name, {"card_id": card}


def of_records(chosen: random.Random) -> Call:
    """Texts of few records, written and edited on whatever revision."""
    of = {"card_id": chosen.choice(["card-a", "card-b"]), "name": chosen.choice(["status.md", "notes.md"])}
    base = {"base_revision": chosen.randrange(1, 9)} if chosen.random() < 0.3 else {}
    if chosen.random() < 0.5:
        return "write_record", {**of, **base, "content": f"one {chosen.randrange(20)}"}
    return "edit_record", {**of, **base, "old": "one", "new": chosen.choice(["one two", "one", "two one"])}


def of_notices(chosen: random.Random) -> Call:
    """Comments, and the notices they leave for whoever works on the card, which an end clears."""
    if chosen.random() < 0.2:
        return "walk", {"card_id": chosen.choice(["card-a", "card-b"])}
    if chosen.random() < 0.2:
        return "reopen_card", {"card_id": chosen.choice(["card-a", "card-b"])}
    return "comment_on_card", {"card_id": chosen.choice(["card-a", "card-b"]), "text": f"Mind {chosen.randrange(99)}."}


FAMILIES: Mapping[str, Callable[[random.Random], Call]] = {
    "cards": of_cards,
    "notices": of_notices,
    "records": of_records,
}


async def walk(shed: Office, card_id: str) -> None:
    """Carry a card to its end as a run does, in one commit."""

    def job(tx: Tx) -> None:
        project_id = shed.project_id_in(tx)
        if (card := cards.read(tx, project_id, card_id)) is None or card.deleted:
            raise errors.not_found("card", card_id)
        if card.status not in {Status.BACKLOG, Status.CHANGED}:
            raise errors.conflict("card_not_open", "It has ended.")
        cards.set_status(tx, card, Status.RUNNING)
        _settle(tx, project_id, card_id)

    await shed.instance.effects.settle(shed.founded.project.scope, job)


def _settle(tx: Tx, project_id: str, card_id: str) -> None:
    card = cards.read(tx, project_id, card_id)
    assert card is not None
    card = notifications.remove(tx, card, notifications.pending(tx, project_id, card_id))
    cards.settle(tx, card, Status.DONE, office.RESULT)


async def calls(path: Path, secret: str, family: str, seed: int) -> list[tuple[str, str]]:
    """Sixty calls of one store, four at a time; what was answered under each request id, and `done` for others."""
    answered: list[tuple[str, str]] = []
    with ExitStack() as stack:
        shed = office.reopen(path, secret=secret, stack=stack)
        chosen = random.Random(f"{family}-{seed}")

        async def some() -> None:
            for _ in range(CALLS // 4):
                key = chosen.choice([None, None, *range(25)])
                # A request id stands for the same input in every thread.
                name, given = FAMILIES[family](chosen if key is None else random.Random(f"{family}-key-{key}"))
                try:
                    if name == "walk":
                        await walk(shed, given["card_id"])
                        continue
                    request: dict[str, Any] = {} if key is None else {"request_id": f"r-{key}"}
                    answer = await shed.run(name, **given, **request)
                except errors.Refusal as refusal:
                    if refusal.kind not in EXPECTED:
                        raise
                else:
                    answered.append(("done" if key is None else f"{name} {key}", str(answer)))

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(some)
    return answered


@pytest.mark.covers("K04", "K05", "W02")
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_changes_of_one_project_from_many_threads_keep_every_promise(tmp_path: Path, family: str) -> None:
    """One answer for each request id, whoever asked; nothing half visible, no text and no place lost."""

    async def prepare() -> tuple[Path, str]:
        async with office.open_office(tmp_path) as shed:
            for _ in range(2):
                await shed.card()
            return shed.founded.path, shed.founded.operator.secret

    path, secret = anyio.run(prepare)
    with ThreadPoolExecutor(THREADS) as pool:
        waiting = [pool.submit(anyio.run, calls, path, secret, family, seed) for seed in range(THREADS)]
        answered = [one for done in waiting for one in done.result(60)]
    assert checks.check(path) == []
    by_key = defaultdict(set)
    for key, answer in answered:
        by_key[key].add(answer)
    by_key.pop("done", None)
    assert {key: answers for key, answers in by_key.items() if len(answers) > 1} == {}
    assert len(answered) > THREADS
    assert len(by_key) < len(answered)
    written = {row[0] for row in rows(path, "SELECT change_id FROM receipt")}
    assert len(written) > 5
