"""Real clients at the door: both TypeScript SDKs, the Inspector and FastMCP, as their documentation connects (D11)."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance import suite
from support import door, server
from support.server import Running

HERE = Path(__file__).parent / "clients"
BUILD = suite.ROOT / "build" / "clients"
PREPARE_S, RUN_S = 300, 60

pytestmark = pytest.mark.covers("D11", "D03", "D09")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A server with a project, and what a client is told of it."""

    live: Running
    url: str
    token: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A door with an assistant that may read."""
    base = tmp_path_factory.mktemp("clients")
    (base / "garden").mkdir()
    with server.running(base / "data") as live:
        with live.control() as control:
            made = {"folder": str(base / "garden"), "name": "garden", "title": "The garden", "objective": "Grow."}
            control.procedure("initialise", made)
        token = door.token_of(live, "client", "projects:read", "catalog:read")
        yield Place(live=live, url=f"{live.origin}/mcp", token=token)


@pytest.fixture(scope="module")
def node() -> Path:
    """A Node with the clients beside it; skipped where they cannot be had."""
    try:
        found = suite.prepare()
    except suite.Unprepared as reason:
        pytest.skip(str(reason))
    BUILD.mkdir(parents=True, exist_ok=True)
    for path in HERE.iterdir():
        shutil.copy(path, BUILD / path.name)
    if not (BUILD / "node_modules" / "@modelcontextprotocol" / "client").exists():
        # Not `ci`: the Inspector asks for an optional package that the registry does not have.
        run(["npm", "install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"], limit_s=PREPARE_S)
    return found


def run(command: list[str], *, limit_s: int = RUN_S) -> str:
    """What a program printed; it must end well."""
    ended = subprocess.run(command, cwd=BUILD, capture_output=True, text=True, timeout=limit_s, check=False)
    if ended.returncode != 0 and command[0] in {"npm", sys.executable} and limit_s == PREPARE_S:
        pytest.skip(f"the clients cannot be installed: {ended.stderr.strip()[-300:]}")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def check(said: dict[str, Any]) -> None:
    """The client saw what its token may, an answer with data, and a refusal it can read."""
    assert {"list_projects", "get_card", "search_documentation"} <= set(said["tools"])
    assert not {"edit_card", "start_run"} & set(said["tools"])
    assert said["answer"]["structuredContent"]["projects"][0]["slug"] == "garden"
    assert not said["answer"].get("isError")
    # A project that is not there looks like one that the token may not know of.
    assert said["refusal"]["isError"]
    assert json.loads(said["refusal"]["content"][0]["text"])["code"] == "permission_missing"
    assert said["resources"]
    assert said["prompts"]


@pytest.mark.parametrize("script", ["v1.mjs", "v2.mjs"])
def test_a_typescript_client_works(place: Place, node: Path, script: str) -> None:
    """Version 1 begins with a handshake; version 2 asks for the newest revision."""
    check(json.loads(run([str(node), script, place.url, place.token])))


def test_the_inspector_works(place: Place, node: Path) -> None:
    """Its command line lists the tools and calls one."""
    inspector = BUILD / "node_modules" / ".bin" / "mcp-inspector"
    command = [str(node), str(inspector), "--cli", place.url, "--transport", "http"]
    command += ["--header", f"Authorization: Bearer {place.token}", "--method"]
    listed = json.loads(run([*command, "tools/list"]))
    assert "list_projects" in {one["name"] for one in listed["tools"]}
    called = json.loads(run([*command, "tools/call", "--tool-name", "list_projects"]))
    assert called["structuredContent"]["projects"][0]["slug"] == "garden"


def test_fastmcp_works(place: Place) -> None:
    """In an environment of its own: it needs other versions than ours."""
    BUILD.mkdir(parents=True, exist_ok=True)
    python = BUILD / "fastmcp" / "bin" / "python"
    made = BUILD / "fastmcp" / "made-from.lock"
    lock = HERE / "fastmcp.lock"
    if not made.exists() or made.read_bytes() != lock.read_bytes():
        shutil.rmtree(BUILD / "fastmcp", ignore_errors=True)
        run([sys.executable, "-m", "venv", str(BUILD / "fastmcp")], limit_s=PREPARE_S)
        install = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--require-hashes"]
        ended = subprocess.run(
            [*install, "-r", str(lock)], capture_output=True, text=True, timeout=PREPARE_S, check=False, env=os.environ
        )
        if ended.returncode != 0:
            pytest.skip(f"FastMCP cannot be installed: {ended.stderr.strip()[-300:]}")
        shutil.copy(lock, made)
    check(json.loads(run([str(python), str(HERE / "fast.py"), place.url, place.token])))
