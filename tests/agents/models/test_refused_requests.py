"""Bodies of failed model calls: kept only where the operator wants it, privately, bounded, without known secrets."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support import models
from support.model_server import Fails, Says, serving
from workstead.agents.models.failures import RequestRejectedError
from workstead.agents.models.refused_requests import Folder, Refused
from workstead.agents.models.shape import Message, Role
from workstead.kernel.redaction import Redactor
from workstead.testing import SetClock

pytestmark = [pytest.mark.anyio, pytest.mark.covers("K18", "K09")]

SECRET = "the-instance-knows-this-one-0123"


async def at_once(job: Callable[[], None]) -> None:
    """No thread is needed here."""
    job()


def folder(path: Path, *, most: int = 2) -> Folder:
    """A folder of a test."""
    return Folder(path=path, most=most, clock=SetClock(), redactor=Redactor([SECRET]), work=at_once)


async def test_a_failed_call_is_kept_as_it_was_sent_and_a_good_one_is_not(tmp_path: Path) -> None:
    """What the provider was asked, and what became of it."""
    kept = folder(tmp_path / "kept")
    with serving(Fails(status=404), Says(text="Good.")) as server:
        async with models.route(keep=kept.keep) as route:
            with pytest.raises(RequestRejectedError):
                await route.over(models.endpoint(server.url)).complete(
                    models.asking(Message(role=Role.USER, text=f"Say {SECRET}."))
                )
            await route.over(models.endpoint(server.url)).complete(
                models.asking(Message(role=Role.USER, text="Again."))
            )
    (file,) = (tmp_path / "kept").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    said = json.loads(file.read_bytes())
    assert (said["failure"], said["bytes"]) == ("rejected", len(server.asked[0].raw))
    assert SECRET not in file.read_text()
    assert said["request"] == server.asked[0].text.replace(SECRET, "[redacted:instance-secret]")
    assert models.KEY not in file.read_text()


async def test_the_oldest_goes_and_a_disk_that_refuses_ends_nothing(tmp_path: Path) -> None:
    """Two are kept; a file in the folder's place is logged, not raised."""
    kept = folder(tmp_path / "kept")
    for number in range(4):
        kept.clock.advance(seconds=1)  # type: ignore[attr-defined]
        await kept.keep(Refused(provider="p", model="m", failure="cut", why="Cut.", body=b"%d" % number))
    assert sorted(json.loads(one.read_bytes())["request"] for one in (tmp_path / "kept").iterdir()) == ["2", "3"]
    (tmp_path / "blocked").write_text("a file")
    await folder(tmp_path / "blocked").keep(Refused(provider="p", model="m", failure="cut", why="Cut.", body=b"x"))
    await folder(tmp_path / "none", most=0).keep(Refused(provider="p", model="m", failure="cut", why="Cut.", body=b"x"))
    assert not (tmp_path / "none").exists()
