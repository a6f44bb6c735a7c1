"""The stdio bridge as a process: the SDK speaks through it, and it goes only where a token may go (D07)."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import mcp
import pytest
from mcp import StdioServerParameters

from support import door, server
from support.server import Running
from workstead import bridge
from workstead.guides import documents

pytestmark = pytest.mark.covers("D07")

TOKEN = "ws_ast_" + "x" * 43


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with the project `garden`."""
    base = tmp_path_factory.mktemp("bridge")
    (base / "garden").mkdir()
    with server.running(base / "data") as found:
        with found.control() as control:
            given = {"folder": str(base / "garden"), "name": "garden", "title": "The garden", "objective": "Grow."}
            control.procedure("initialise", given)
        yield found


def talk(environ: dict[str, str], *lines: object) -> subprocess.CompletedProcess[str]:
    """One run of the bridge with these messages."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    command = [sys.executable, "-I", bridge.__file__]
    return subprocess.run(command, input=text, env=environ, capture_output=True, text=True, timeout=15, check=False)


@pytest.mark.parametrize(("mode", "revision"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_the_sdk_works_through_one_file_that_stands_alone(
    live: Running, tmp_path: Path, mode: str, revision: str
) -> None:
    """No package of ours or of anybody's is on its path; negotiation passes through."""
    alone = shutil.copy(bridge.__file__, tmp_path / "bridge.py")
    environ = {"WORKSTEAD_URL": live.origin, "WORKSTEAD_TOKEN": door.token_of(live, f"bridged {mode}")}
    parameters = StdioServerParameters(command=sys.executable, args=["-I", "-S", str(alone)], env=environ)
    with anyio.fail_after(30):
        async with mcp.Client(parameters, mode=mode) as client:
            assert client.protocol_version == revision
            assert "get_card" in {tool.name for tool in (await client.list_tools()).tools}
            found = await client.call_tool("get_card", {"project": "garden", "card_id": "project"})
            assert found.structured_content is not None
            assert found.structured_content["title"] == "The garden"


def test_a_token_that_ended_is_an_error_under_the_callers_id(live: Running) -> None:
    """Nothing secret is printed, on either stream."""
    environ = {"WORKSTEAD_URL": f"{live.origin}/mcp", "WORKSTEAD_TOKEN": TOKEN}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    done = talk(environ, note, {"jsonrpc": "2.0", "id": "a", "method": "tools/list"}, "not a message")
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["id"] == "a"
    assert "revoked or has expired" in json.loads(line)["error"]["message"]
    assert TOKEN not in done.stdout + done.stderr


def test_a_server_that_is_not_there_is_an_error_too() -> None:
    """The program that asked is told, instead of waiting."""
    environ = {"WORKSTEAD_URL": "http://127.0.0.1:9", "WORKSTEAD_TOKEN": TOKEN}
    done = talk(environ, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert "cannot be reached" in json.loads(done.stdout)["error"]["message"]


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "http://127.0.0.1.example.com",
        "ftp://127.0.0.1",
        "https://user:secret@example.com",
        "https://example.com/elsewhere",
        "https://example.com?x=1",
        "nothing",
    ],
)
def test_a_token_travels_encrypted_or_stays_on_this_machine(url: str) -> None:
    """D07: HTTPS or loopback only; the message names no value."""
    done = talk({"WORKSTEAD_URL": url, "WORKSTEAD_TOKEN": TOKEN})
    assert done.returncode == 1
    assert "WORKSTEAD_URL" in done.stderr
    assert "secret" not in done.stderr


def test_without_a_token_there_is_nothing_to_do() -> None:
    """The environment says where to and as whom."""
    assert talk({}).returncode == 1
    assert bridge.target_of({"WORKSTEAD_TOKEN": TOKEN}).port == 8777
    assert bridge.target_of({"WORKSTEAD_TOKEN": TOKEN, "WORKSTEAD_URL": "https://x.example"}).secure


@pytest.mark.covers("D09")
async def test_guides_and_prompts_are_the_same_through_it(live: Running) -> None:
    """D09: the same over HTTP and stdio."""
    environ = {"WORKSTEAD_URL": live.origin, "WORKSTEAD_TOKEN": door.token_of(live, "bridged reader")}
    parameters = StdioServerParameters(command=sys.executable, args=["-I", bridge.__file__], env=environ)
    with anyio.fail_after(30):
        async with mcp.Client(parameters, mode="auto") as client:
            read = await client.read_resource("workstead://guides/planning")
            assert read.contents[0].model_dump()["text"] == documents.text("planning")
            found = await client.get_prompt("catch_up", {"project": "garden"})
            assert "`garden`" in found.messages[0].model_dump()["content"]["text"]


@pytest.mark.covers("W17")
def test_reports_pass_through_and_a_call_is_taken_back(live: Running) -> None:
    """A local client sees progress, and its cancellation ends what was begun (facts/mcp.md 1.4)."""
    token = door.token_of(live, "bridged runner", "workspace:run", "runs:read")
    environ = {"WORKSTEAD_URL": live.origin, "WORKSTEAD_TOKEN": token}
    with subprocess.Popen(
        [sys.executable, "-I", bridge.__file__], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def say(message: dict[str, object]) -> None:
            assert process.stdin is not None
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()

        def run(identity: str, command: str) -> None:
            params = {"name": "run_command", "arguments": {"project": "garden", "command": command}}
            say({"id": identity, "method": "tools/call", "params": params | {"_meta": {"progressToken": identity}}})

        run("first", "sleep 1.5; echo done")
        lines = [json.loads(process.stdout.readline()), json.loads(process.stdout.readline())]
        assert lines[0]["params"]["progressToken"] == "first"
        assert '"exit_code": 0' in lines[1]["result"]["content"][0]["text"]
        run("second", "sleep 51")
        assert json.loads(process.stdout.readline())["params"]["progressToken"] == "second"
        say({"method": "notifications/cancelled", "params": {"requestId": "second"}})
        say({"id": "third", "method": "ping"})
        answers = [json.loads(process.stdout.readline())]
        while answers[-1].get("id") != "third":
            answers.append(json.loads(process.stdout.readline()))
        assert all(each.get("id") != "second" for each in answers)
        assert process.stdin.close() is None
        assert process.stdout.read() == ""
    assert ended(live, "sleep 51")["kind"] == "killed"


def ended(live: Running, command: str) -> dict[str, object]:
    """How a command of the project's own card ended, within five seconds."""
    for _ in range(250):
        with live.control() as control:
            found = control.operation("list_processes", {"project": "garden", "card_id": "project"})["processes"]
        ends = [each["end"] for each in found if each["command"] == command and each["end"]]
        if ends:
            return dict(ends[0])
        time.sleep(0.02)
    raise AssertionError("it goes on")
