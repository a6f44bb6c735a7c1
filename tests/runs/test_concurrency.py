"""Run, pause, resume and stop racing on one project, and credentials revoked while they call (quality, "Tests")."""

import contextlib
import random
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from support import invariants, workplace
from support.database import rows
from support.workplace import Workplace
from workstead import errors
from workstead.accounts import credentials
from workstead.errors import Kind
from workstead.kernel.access import AssistantProof
from workstead.kernel.operations import Door
from workstead.runs.runs import State

pytestmark = pytest.mark.both_databases

TASKS = 8
CALLS = 12
EXPECTED = {Kind.CONFLICT, Kind.NOT_FOUND, Kind.STALE}
CONTROLS = ("start_run", "start_run", "pause_run", "resume_run", "stop_run", "comment_on_card", "edit_card")


async def control(place: Workplace, chosen: random.Random) -> str:
    """One random control; its name when it was obeyed."""
    name = chosen.choice(CONTROLS)
    given: dict[str, Any] = {}
    if name == "comment_on_card":
        given = {"card_id": "project", "text": f"Mind {chosen.randrange(99)}."}
    if name == "edit_card":
        given = {"card_id": "project", "title": f"Build {chosen.randrange(99)}"}
    if chosen.random() < 0.5:
        given["request_id"] = f"r-{chosen.randrange(30)}"
    try:
        await place.ask(name, **given)
    except errors.Refusal as refusal:
        if refusal.kind not in EXPECTED:
            raise
        return refusal.code
    return name


@pytest.mark.covers("W09", "K05")
@pytest.mark.parametrize("seed", [1, 2])
async def test_controls_that_race_leave_one_run_at_a_time_and_nothing_behind(tmp_path: Path, seed: int) -> None:
    """Whoever presses what at the same moment: never two live runs, and after the last Stop nothing is open."""
    async with workplace.opened(tmp_path) as place:
        told: list[str] = []

        async def presses(number: int) -> None:
            chosen = random.Random(100 * seed + number)
            told.extend([await control(place, chosen) for _ in range(CALLS)])

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for number in range(TASKS):
                    group.start_soon(presses, number)
        assert {"start_run", "stop_run"} <= set(told)
        # There may be nothing left to stop.
        with contextlib.suppress(errors.Refusal):
            await place.ask("stop_run")
        await place.until(lambda: place.newest.state is State.ENDED)
        await place.until(lambda: rows(place.database, "SELECT 1 FROM lease WHERE owner <> ''") == [])
        assert invariants.check_at_rest(place.database) == []
        runs, started = len(rows(place.database, "SELECT 1 FROM run")), told.count("start_run")
        # A repeated request id is answered again and starts nothing.
        assert 1 <= runs <= started


@pytest.mark.covers("D02", "K06")
async def test_nothing_is_done_for_an_assistant_once_its_revocation_was_answered(tmp_path: Path) -> None:
    """Eight tasks call with the same tokens while each is revoked: a call is done before, or it is refused."""
    async with workplace.opened(tmp_path, serve=False) as place:
        run = place.app.operations.run
        revoked: set[str] = set()
        done: list[str] = []
        refused: list[str] = []

        def refused_of(name: str) -> list[str]:
            return [one for one in refused if one.startswith(name)]

        async def made(name: str) -> str:
            wanted = {"name": name, "permissions": ["projects:read", "projects:write"], "projects": [place.project]}
            return str((await run(workplace.operator(), "create_assistant", wanted, door=Door.CLI)).token)

        async def calls(name: str, token: str, number: int) -> None:
            proof = AssistantProof(digest=credentials.digest(token))
            for n in range(100):
                was_revoked = name in revoked
                text = {"project": place.project, "card_id": "project", "text": f"{name} {number} {n}"}
                try:
                    await run(proof, "comment_on_card", text, door=Door.MCP)
                except errors.Refusal as refusal:
                    refused.append(f"{name}: {refusal.code}")
                    return
                assert not was_revoked
                done.append(name)

        async def revokes(name: str) -> None:
            while done.count(name) < 5 and not refused_of(name):
                await anyio.lowlevel.checkpoint()
            await run(workplace.operator(), "revoke_assistant", {"assistant": name}, door=Door.CLI)
            revoked.add(name)

        with anyio.fail_after(30):
            for name in ("Ann", "Ben", "Cleo"):
                token = await made(name)
                async with anyio.create_task_group() as group:
                    for number in range(TASKS):
                        group.start_soon(calls, name, token, number)
                    group.start_soon(revokes, name)
        assert revoked == {"Ann", "Ben", "Cleo"}
        assert sorted(refused) == sorted(TASKS * [f"{name}: unauthenticated" for name in revoked])
        assert len(rows(place.database, "SELECT 1 FROM comment")) == len(done)
        assert invariants.check(place.database) == []
