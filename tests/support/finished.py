"""Builders: a server on which the practice agents have done the example's work."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support import server
from support.server import Running

EXAMPLE = Path(__file__).parents[2] / "examples" / "ledger"


@contextmanager
def finished(base: Path) -> Iterator[Running]:
    """A server with the project `ledger`, run to its end, seen by a browser that is signed in."""
    folder = base / "ledger"
    shutil.copytree(EXAMPLE, folder)
    with server.running(base / "data", WORKSTEAD_PRACTICE_PACE_MS="0") as found:
        told = (EXAMPLE / "OBJECTIVE.md").read_text(encoding="utf-8")
        made = server.cli(found.data, "init", str(folder), "--title", "Due dates", "--objective", told)
        assert made.returncode == 0, made.stderr
        ran = server.cli(found.data, "run", "ledger")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        found.sign_in()
        yield found
