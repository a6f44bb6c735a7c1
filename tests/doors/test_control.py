"""The control socket: round trips, and everybody and everything it turns away."""

import json
import os
import tempfile
from pathlib import Path

import pytest

from support import server
from support.server import Running
from workstead import instance
from workstead.doors import control

COVERS_MODULES = ("doors/watch.py", "work/setup.py")

pytestmark = pytest.mark.covers("K22")


def test_a_greeting_names_exactly_the_process_in_the_lock_file(live: Running) -> None:
    """K22: the command line speaks only to the verified live server."""
    holder = instance.holder(live.data)
    with live.control() as found:
        hello = found.hello
    assert holder is not None
    assert (hello["pid"], hello["boot_id"]) == (holder.pid, holder.boot_id)
    assert hello["address"] == live.origin


def test_an_operation_answers_and_a_second_request_may_follow(live: Running) -> None:
    """One connection carries any number of requests."""
    with live.control() as found:
        projects = found.operation("list_projects", {})["projects"]
        detail = found.operation("get_project", {"project": "garden"})
    assert [one["slug"] for one in projects] == ["garden"]
    assert detail["title"] == "The garden"


def test_a_refusal_carries_kind_code_sentence_and_advice(live: Running) -> None:
    """Architecture, errors: each door has its own reply to a kind."""
    with server.raw_control(live.data) as connected:
        reply = server.say(connected, b'{"operation":"get_project","input":{"project":"nowhere"}}')
    assert reply["ok"] is False
    assert (reply["kind"], reply["code"]) == ("not_found", "project_not_found")
    assert reply["advice"] == "correct your call"


def test_wrong_input_is_answered_with_the_path_of_each_mistake(live: Running) -> None:
    """Quality, bad input: issues with paths, and the connection goes on."""
    with server.raw_control(live.data) as connected:
        reply = server.say(connected, b'{"operation":"get_project","input":{"projekt":"garden"}}')
        again = server.say(connected, b'{"hello":true}')
    issues = reply["issues"]
    assert isinstance(issues, list)
    assert {issue["path"] for issue in issues} == {"project", "projekt"}
    assert again["ok"] is True


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense",
        b"[]",
        b'{"a":1,"a":2}',
        b'{"operation":"x"}',
        b"\xff\xfe",
        b'{"operation":"x","input":{"a":"\\ud800"}}',
    ],
)
def test_a_malformed_line_is_refused_and_the_next_one_is_heard(live: Running, line: bytes) -> None:
    """Quality, bad input."""
    with server.raw_control(live.data) as connected:
        assert server.say(connected, line)["kind"] == "invalid"
        assert server.say(connected, b'{"hello":true}')["ok"] is True


def test_a_line_past_the_limit_is_refused_and_the_connection_ends(live: Running) -> None:
    """Four mebibytes a line."""
    with server.raw_control(live.data) as connected, connected.makefile("rb") as lines:
        connected.sendall(b"x" * (control.LINE_LIMIT_BYTES + 1))
        assert json.loads(lines.readline())["code"] == "line_too_long"


def test_an_operation_of_other_doors_is_not_there(live: Running) -> None:
    """Signing in with a link belongs to browsers only."""
    with server.raw_control(live.data) as connected:
        reply = server.say(connected, b'{"operation":"sign_in","input":{"link":"ws_link_x"}}')
    assert reply["code"] == "operation_not_found"


def test_following_a_project_shows_each_change_after_the_cursor(live: Running) -> None:
    """Rows come once and in order, and again from an earlier cursor."""
    with live.control() as watching, live.control() as changing:
        pages = watching.follow("garden")
        _, start = next(pages)
        made = changing.operation("create_card", new_card("Dig"))
        rows, _ = next(page for page in pages if page[0])
    assert f"cards/{made['card_id']}" in {row["topic"] for row in rows}
    with live.control() as later:
        again, _ = next(page for page in later.follow("garden", cursor=start) if page[0])
    assert again[: len(rows)] == rows


def test_a_stranger_project_cannot_be_followed(live: Running) -> None:
    """Missing and forbidden look the same."""
    with server.raw_control(live.data) as connected:
        assert server.say(connected, b'{"follow":"nowhere"}')["code"] == "project_not_found"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_account_is_refused_even_where_the_folder_lets_it_in() -> None:
    """SO_PEERCRED decides, not the file mode alone."""
    with tempfile.TemporaryDirectory(prefix="workstead-peer-", dir="/var/tmp") as name:
        data = Path(name) / "data"
        with server.running(data):
            for folder in (Path(name), data):
                folder.chmod(0o711)
            (data / instance.CONTROL).chmod(0o666)
            os.seteuid(65534)
            try:
                connected = server.raw_control(data)
            finally:
                os.seteuid(0)
            with connected, connected.makefile("rb") as lines:
                assert json.loads(lines.readline())["code"] == "peer_denied"


def test_init_twice_on_one_folder_answers_the_project_that_is_there(live: Running, tmp_path: Path) -> None:
    """Repeating `init` is harmless: nothing is written a second time, and files that stood there stay."""
    folder = tmp_path / "orchard"
    (folder / ".workstead/prompts/process/project").mkdir(parents=True)
    mine = folder / ".workstead/prompts/process/project/plan.md"
    mine.write_text("Plan it my way.\n", encoding="utf-8")
    wanted = {"folder": str(folder), "name": "orchard", "title": "Trees", "objective": "Plant trees."}
    with live.control() as found:
        first = found.procedure("initialise", wanted)
        again = found.procedure("initialise", wanted)
    assert ".workstead/workstead.yaml" in first["written"]
    assert ".workstead/prompts/process/project/plan.md" not in first["written"]
    assert mine.read_text(encoding="utf-8") == "Plan it my way.\n"
    assert (again["slug"], again["existed"], again["written"]) == (first["slug"], True, [])


def new_card(title: str) -> dict[str, object]:
    """A card below the project's own."""
    return {"project": "garden", "parent": "project", "type": "code", "title": title, "bootstrap_content": "Do it."}
