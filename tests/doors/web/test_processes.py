"""The commands of a card on work that was really done."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support import server
from support.server import Running
from workstead import instance
from workstead.doors.web import process_views

COVERS_MODULES = ("doors/web/pages/processes.py", "doors/web/process_views.py")
CARD = "/projects/ledger/cards/card-a"


@pytest.mark.covers("W28")
def test_a_cards_commands_are_listed_newest_first_with_how_they_ended(finished: Running) -> None:
    """It is seen, item 1: processes with captures and exit facts."""
    page = finished.get(f"{CARD}/processes").text
    assert page.index("exit code 0") < page.index("exit code 1")
    assert page.count("python3 -B -m unittest -q") == 2


@pytest.mark.covers("W28")
def test_the_output_of_a_failed_command_is_one_link_away(finished: Running) -> None:
    """It is seen: read the failing command's output."""
    page = finished.get(f"{CARD}/processes").text
    failed = re.search(r"exit code 1.*?href=\"([^\"]+/stderr)\"", page, re.DOTALL)
    assert failed
    assert "not JSON serializable" in finished.get(failed[1]).text


@pytest.mark.covers("W28")
def test_output_is_read_in_stretches(finished: Running) -> None:
    """A capture can have 64 MiB; a page has a stretch of it."""
    page = finished.get(f"{CARD}/processes").text
    failed = re.search(r"exit code 1.*?href=\"([^\"]+/stderr)\"", page, re.DOTALL)
    assert failed
    later = finished.get(f"{failed[1]}?offset=200").text
    assert 'rel="prev"' in later


@pytest.mark.parametrize("path", ["proc-000000000000/stdout", "proc-000000000000/..%2f..%2fworkstead.yaml"])
def test_another_process_is_not_found(finished: Running, path: str) -> None:
    """What is read is named by rows, never by a path of the reader."""
    assert finished.get(f"{CARD}/processes/{path}").status == 404


def test_another_stream_is_refused(finished: Running) -> None:
    """There are two."""
    page = finished.get(f"{CARD}/processes").text
    found = re.search(r'href="([^"]+/)stderr"', page)
    assert found
    assert finished.get(f"{found[1]}secrets").status == 400


def test_sizes_read_as_people_say_them() -> None:
    """Bytes mean nothing past a few digits."""
    assert [process_views.size(n) for n in (12, 2048, 5 << 20)] == ["12 B", "2.0 KiB", "5.0 MiB"]


@pytest.mark.covers("K10", "W28")
def test_commands_on_many_pages_are_all_counted_shown_and_found(tmp_path: Path) -> None:
    """The list is answered in pages of bytes; one command is itself larger than such a page."""
    folder = tmp_path / "garden"
    folder.mkdir()
    with server.running(tmp_path / "data") as running:
        with running.control() as control:
            made = control.procedure(
                "initialise", {"folder": str(folder), "name": "Garden", "title": "A garden", "objective": "Grow."}
            )
        with closing(sqlite3.connect(running.data / instance.DATABASE)) as raw, raw:
            (project_id,) = raw.execute("SELECT id FROM project").fetchone()
            for n in range(300):
                command = f"echo {n} " + ("long " * 20_000 if n == 150 else "")
                row = (
                    f"p-{n:03}",
                    project_id,
                    "project",
                    "none",
                    command,
                    ".",
                    1,
                    1,
                    "gone",
                    "2026-01-01T00:00:00Z",
                    0,
                )
                raw.execute(f"INSERT INTO process VALUES ({', '.join('?' * len(row))})", row)
                end = (f"p-{n:03}", "exited", n % 2, None, 0, 0, 1, 1, "2026-01-01T00:00:01Z")
                raw.execute(
                    "INSERT INTO process_end (process_id, kind, code, signal, stdout_bytes, stderr_bytes, "
                    "stdout_complete, stderr_complete, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    end,
                )
        with running.control() as control:
            given = {"project": made["slug"], "card_id": "project"}
            page = control.operation("list_processes", given)
            whole = control.all("list_processes", given, of="processes")
        assert (page["total"], page["next"] is not None) == (300, True)
        assert [one["id"] for one in whole] == [f"p-{n:03}" for n in range(300)]
        running.sign_in()
        card = f"/projects/{made['slug']}/cards/project"
        side = running.get(card).text.partition('id="talk"')[2]
        assert "300, 150 failed" in side
        listed = running.get(f"{card}/processes").text
        assert [n for n in range(300) if f"p-{n:03}" not in listed] == []
