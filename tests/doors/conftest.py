"""What the tests of the doors share: a server with one project."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import server
from support.server import Running

EXAMPLE = Path(__file__).parents[2] / "examples" / "ledger"


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with the project `garden`, shared by all tests of the doors; nobody is signed in."""
    base = tmp_path_factory.mktemp("live")
    folder = base / "garden"
    folder.mkdir()
    with server.running(base / "data") as found:
        with found.control() as control:
            control.procedure("initialise", project(folder))
        yield found


@pytest.fixture
def browser(live: Running) -> Iterator[Running]:
    """The shared server, seen by a browser that is signed in."""
    live.sign_in()
    yield live
    live.cookie = ""


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with the project `ledger`, run to its end, seen by a browser that is signed in; read it only."""
    base = tmp_path_factory.mktemp("finished")
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


def project(folder: Path, *, objective: str = "Grow something.") -> dict[str, str]:
    """What `workstead init` sends."""
    return {"folder": str(folder), "name": folder.name, "title": "The garden", "objective": objective}
