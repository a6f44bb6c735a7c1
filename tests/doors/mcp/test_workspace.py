"""Files and commands of a project's folder through the door: where one may, contained, answered once (S1, S6)."""

import hashlib
import http.client
import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from support import door, server
from support.server import Running

COVERS_MODULES = ("runs/command_acts.py", "runs/file_acts.py", "runs/folder_acts.py")

READS = ("projects:read", "runs:read")


@pytest.fixture(scope="module")
def folder(live: Running) -> Path:
    """The folder of the project."""
    return live.data.parent / "garden"


@pytest.fixture(scope="module")
def writer(live: Running) -> str:
    """May read and write."""
    return door.token_of(live, "writer", *READS, "workspace:write", projects=["garden"])


@pytest.fixture(scope="module")
def runner(live: Running) -> str:
    """May read and run commands."""
    return door.token_of(live, "commander", *READS, "workspace:run", projects=["garden"])


def data(result: dict[str, Any]) -> dict[str, Any]:
    """The answer of a call that was not refused."""
    assert not result["isError"], result
    found: dict[str, Any] = result["structuredContent"]
    return found


def facts(live: Running, event: str) -> list[dict[str, Any]]:
    """Evidence of one kind."""
    with live.control() as control:
        found = control.operation("list_evidence", {"project": "garden", "lane": "events"})["facts"]
    return [each for each in found if each["event"] == event]


@pytest.mark.covers("D02", "W17")
def test_a_file_is_written_and_edited_with_a_receipt_and_a_fact(live: Running, folder: Path, writer: str) -> None:
    """K05: a key is answered once; S23: evidence says what was written, never the text."""
    given = {"project": "garden", "path": "notes/plan.md", "content": "Dig.\n", "request_id": "w1"}
    made = data(door.call(live, writer, "write_file", **given))
    assert made == {
        "path": "notes/plan.md",
        "sha256": hashlib.sha256(b"Dig.\n").hexdigest(),
        "size_bytes": 5,
        "created": True,
    }
    (folder / "notes/plan.md").write_text("Changed by somebody.\n")
    assert data(door.call(live, writer, "write_file", **given)) == made
    assert (folder / "notes/plan.md").read_text() == "Changed by somebody.\n"
    assert door.refused(door.call(live, writer, "write_file", **{**given, "content": "x"})) == "request_id_reused"
    edit = {"project": "garden", "path": "notes/plan.md", "old": "somebody", "new": "nobody"}
    stale = door.call(live, writer, "edit_file", **edit, base_sha256=made["sha256"])
    assert door.refused(stale) == "file_stale"
    changed = data(door.call(live, writer, "edit_file", **edit))
    assert (folder / "notes/plan.md").read_text() == "Changed by nobody.\n"
    newest = facts(live, "workspace:file:written")[0]
    assert (newest["actor"], newest["subject"]) == ("assistant:writer", "notes/plan.md")
    assert newest["detail"]["sha256"] == changed["sha256"]
    assert "nobody" not in json.dumps(newest)


@pytest.mark.covers("D02", "K06")
@pytest.mark.parametrize(
    ("name", "given", "code"),
    [
        ("write_file", {"path": "../out.md"}, "path_outside"),
        ("write_file", {"path": "/etc/motd"}, "path_outside"),
        ("write_file", {"path": ".workstead/workstead.yaml"}, "path_protected"),
        ("write_file", {"path": "link/out.md"}, "path_blocked"),
        ("write_file", {"path": "a\0b"}, "path_invalid"),
        ("edit_file", {"path": "none.md", "old": "a", "new": "b"}, "file_not_found"),
        ("edit_file", {"path": "bytes.bin", "old": "a", "new": "b"}, "file_not_text"),
        ("edit_file", {"path": "once.md", "old": "x", "new": "b"}, "edit_old_missing"),
    ],
)
def test_what_a_folder_refuses_leaves_the_key_free(
    live: Running, folder: Path, writer: str, name: str, given: dict[str, str], code: str
) -> None:
    """S3: no link is followed, what is Workstead's own stays; nothing was done, so the key may be used again."""
    if not (folder / "link").is_symlink():
        (folder / "link").symlink_to("/tmp")
    (folder / "bytes.bin").write_bytes(b"\xff\xfe\x00")
    (folder / "once.md").write_text("once")
    whole = {"project": "garden", "request_id": f"again {name} {given['path']!r}", **given}
    if name == "write_file":
        whole["content"] = "x"
    if "\0" in given["path"]:
        raw = door.ask(live, writer, "tools/call", {"name": name, "arguments": whole})
        assert door.failed(raw) == -32700
        return
    assert door.refused(door.call(live, writer, name, **whole)) == code
    free = {"project": "garden", "request_id": whole["request_id"], "path": "free.md", "content": "free"}
    if name == "write_file":
        assert not door.call(live, writer, "write_file", **free)["isError"]


@pytest.mark.covers("W17", "K19")
def test_a_command_runs_contained_and_its_output_stays_readable(live: Running, folder: Path, runner: str) -> None:
    """S1: in the folder, without network and without the server's own files; captures are read like an agent's."""
    script = f"echo hello; echo made > made.txt; yes line | head -c 30000 >&2; ls {live.data} 2>&1; exit 3"
    given = {"project": "garden", "command": script, "request_id": "c1"}
    ended = data(door.call(live, runner, "run_command", **given))
    assert (ended["status"], ended["exit_code"]) == ("exited", 3)
    assert ended["stdout"]["text"].startswith("hello\n")
    assert "No such file" in ended["stdout"]["text"]
    assert ended["stderr"]["total_bytes"] == 30_000 > len(ended["stderr"]["text"])
    assert (folder / "made.txt").read_text() == "made\n"
    (folder / "made.txt").unlink()
    again = data(door.call(live, runner, "run_command", **given))
    assert (again["process_id"], again["exit_code"]) == (ended["process_id"], 3)
    assert not (folder / "made.txt").exists()
    rest = {"project": "garden", "card_id": ended["card_id"], "process_id": ended["process_id"], "stream": "stderr"}
    assert data(door.call(live, runner, "read_capture", **rest))["total_bytes"] == 30_000
    assert facts(live, "workspace:command:ended")[0]["detail"] == {"status": "exited", "exit_code": 3}


@pytest.mark.covers("W17")
def test_a_command_past_its_time_is_ended_with_all_it_started(live: Running, runner: str) -> None:
    """A call has one command, and the command one end."""
    given = {"project": "garden", "command": "sleep 60 & sleep 60", "timeout_s": 1}
    ended = data(door.call(live, runner, "run_command", **given))
    assert ended["status"] == "stopped"
    assert "after 1 s" in ended["reason"]


@pytest.mark.covers("W17", "D01")
def test_a_command_reports_while_it_runs_and_ends_when_its_reader_leaves(
    live: Running, folder: Path, runner: str
) -> None:
    """Issue: cancellation when the client goes away; and a client that waits sees that something goes on."""
    pid_file = folder / "pid"
    pid_file.unlink(missing_ok=True)
    arguments = {"project": "garden", "command": "echo up > pid; sleep 55", "request_id": "left"}
    params = {"name": "run_command", "arguments": arguments, "_meta": {"progressToken": "t"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {
        "Authorization": f"Bearer {runner}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=5)
    connection.request("POST", "/mcp", body=body, headers=headers)
    answer = connection.getresponse()
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.readline() == b"event: message\n"
    report = json.loads(answer.readline().removeprefix(b"data: "))
    assert report["params"]["progressToken"] == "t"
    assert "running for" in report["params"]["message"]
    assert pid_file.exists()
    answer.close()
    connection.close()
    ended = within(lambda: [each for each in processes(live) if each["command"].endswith("sleep 55") and each["end"]])
    assert ended[0]["end"]["kind"] == "killed"
    assert door.refused(door.call(live, runner, "run_command", **arguments)) == "outcome_unknown"


@pytest.mark.covers("K06", "K20")
def test_writing_and_running_are_permissions_of_their_own(live: Running, writer: str, runner: str) -> None:
    """S6: neither comes with the other, nor with reading; a project outside the boundary looks like none."""
    reader = door.token_of(live, "looker", *READS, "projects:write", "projects:control", "projects:run")
    write = {"project": "garden", "path": "x.md", "content": "x"}
    run = {"project": "garden", "command": "true"}
    for token, name, given in [
        (reader, "write_file", write),
        (reader, "run_command", run),
        (runner, "write_file", write),
        (writer, "run_command", run),
        (writer, "write_file", {**write, "project": "nothing"}),
    ]:
        assert door.refused(door.call(live, token, name, **given)) == "permission_missing"
    exact = door.token_of(live, "exact writer", "workspace:write", operations=["edit_file"])
    assert door.refused(door.call(live, exact, "write_file", **write)) == "operation_not_granted"
    hidden = {**write, "content": "key = [redacted:secret]"}
    assert door.refused(door.call(live, writer, "write_file", **hidden)) == "placeholder_in_write"
    ended = door.token_of(live, "ended writer", "workspace:write")
    door.revoke(live, "ended writer")
    for name, given in [("write_file", write), ("write_file", {**write, "project": "nothing"})]:
        assert door.ask(live, ended, "tools/call", {"name": name, "arguments": given}).status == 401


@pytest.mark.covers("W10", "K15")
def test_a_command_of_a_server_that_was_killed_is_gone_and_unknown(tmp_path: Path) -> None:
    """After kill -9: no process is left, the effect and its key say unknown, and nothing is done again."""
    base = tmp_path / "garden"
    base.mkdir()
    given = {"project": "garden", "command": "echo $$ > pid; sleep 50", "request_id": "k"}
    with server.running(tmp_path / "data") as live:
        with live.control() as control:
            control.procedure("initialise", {"folder": str(base), "name": "garden", "title": "G", "objective": "Grow."})
        token = door.token_of(live, "runner", *READS, "workspace:run")
        connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=5)
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "run_command", "arguments": given},
        }
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", "/mcp", body=json.dumps(body), headers=headers)
        within((base / "pid").exists)
        live.process.send_signal(signal.SIGKILL)
        live.process.wait(timeout=5)
        connection.close()
    (base / "pid").unlink()
    with server.running(tmp_path / "data") as live:
        assert door.refused(door.call(live, token, "run_command", **given)) == "outcome_unknown"
        ended = within(lambda: [each for each in processes(live) if each["end"]])
        assert ended[0]["end"]["kind"] == "killed"
    assert not (base / "pid").exists()
    assert "sleep 50" not in commands()


def processes(live: Running) -> list[dict[str, Any]]:
    """What was run for the project's own card."""
    with live.control() as control:
        found = control.operation("list_processes", {"project": "garden", "card_id": "project"})["processes"]
    return list(found)


def commands() -> str:
    """Every command line of this machine."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return "\n".join(found)


def within(look: Any) -> Any:
    """What a look finds, within five seconds."""
    end_s = time.monotonic() + 5
    while time.monotonic() < end_s:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come about")
