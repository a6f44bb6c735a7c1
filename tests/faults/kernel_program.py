"""A small server process to be killed: `python -m faults.kernel_program FILE JOB ARGUMENT`."""

import itertools
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

import anyio

from support import instance, notes
from support.instance import Instance
from workstead.accounts import projects
from workstead.kernel.access import Caller, ControlProof
from workstead.kernel.effects import Ended, Outcome
from workstead.kernel.operations import Door
from workstead.kernel.transaction import Tx

OPERATOR = ControlProof(uid=0)


def say(what: object) -> None:
    """One line that is out before anything else happens."""
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


async def write(opened: Instance, request_id: str) -> None:
    """Make one note and say what was answered."""
    raw = {"project": "garden", "note": request_id, "text": "one", "request_id": request_id}
    answer = await opened.operations.run(OPERATOR, "create_note", raw, door=Door.REST)
    say([answer.note, answer.revision])


async def load(opened: Instance, name: str) -> None:
    """Write for ever in eight tasks and say each acknowledged request."""

    async def writes(worker: int) -> None:
        for n in itertools.count():
            await write(opened, f"{name}-{worker}-{n}")

    async with anyio.create_task_group() as group:
        for worker in range(8):
            group.start_soon(writes, worker)


async def act(opened: Instance, folder: str, *, dies: bool) -> None:
    """Perform one effect that leaves a line in a file, and die before its end when asked to."""
    scope = _scope(opened)

    def claim(tx: Tx, caller: Caller) -> str:
        return opened.effects.claim(tx, scope, kind="command", subject="c", payload=caller.subject, deadline_s=5)

    async def acts(effect_id: str) -> None:
        with (Path(folder) / "acted").open("a") as log:
            log.write(f"{effect_id}\n")
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)

    def settle(tx: Tx, effect_id: str, outcome: Outcome[None]) -> None:
        opened.effects.end(tx, scope, effect_id, ended=outcome.ended, subject="c")

    await opened.effects.perform(OPERATOR, scope, claim=claim, act=acts, settle=settle, deadline_s=5)


async def recover(opened: Instance, _: str) -> None:
    """What a start does first: say which effects nobody ended, and end them as unknown."""
    scope = _scope(opened)

    def settle(tx: Tx) -> list[str]:
        lost = [one.id for one in opened.effects.unsettled(tx, scope)]
        for effect_id in lost:
            opened.effects.end(tx, scope, effect_id, ended=Ended.UNKNOWN, subject="c")
        return lost

    say(await opened.effects.settle(scope, settle))


def _scope(opened: Instance) -> str:
    with instance.transaction(opened.path) as tx:
        scope = projects.scope_of(tx, "garden")
    assert scope is not None
    return scope


JOBS: Mapping[str, Callable[[Instance, str], Awaitable[None]]] = {
    "write": write,
    "load": load,
    "act": partial(act, dies=False),
    "act-and-die": partial(act, dies=True),
    "recover": recover,
}


async def main(path: Path, job: str, argument: str) -> None:
    """Open the instance as a new start and do the job."""
    with instance.opened(path, operations=notes.OPERATIONS, boot_id=f"boot-{os.getpid()}") as opened:
        await JOBS[job](opened, argument)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2], sys.argv[3])
