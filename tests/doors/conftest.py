"""What the tests of the doors share: a server with one project."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import finished as finishing
from support import server
from support.server import Running


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
    with finishing.finished(tmp_path_factory.mktemp("finished")) as found:
        yield found


def project(folder: Path, *, objective: str = "Grow something.") -> dict[str, str]:
    """What `workstead init` sends."""
    return {"folder": str(folder), "name": folder.name, "title": "The garden", "objective": objective}
