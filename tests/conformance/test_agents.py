"""Codex and Claude Code at the door, set up as `workstead connect` tells, each with a model on loopback (D08, D11)."""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance import suite
from support import door, server
from support.model_server import Asked, ModelServer, Says, Tool, serving
from support.server import Running

HERE = Path(__file__).parent / "agents"
BUILD = suite.ROOT / "build" / "agents"
BIN = BUILD / "node_modules" / ".bin"
PREPARE_S, RUN_S = 300, 120
SAID = "Seen by an agent."
CALLS: tuple[tuple[str, Mapping[str, object]], ...] = (
    ("list_projects", {}),
    ("comment_on_card", {"project": "garden", "card_id": "project", "text": SAID}),
    ("get_card", {"project": "elsewhere", "card_id": "project"}),
)

pytestmark = pytest.mark.covers("D08", "D11")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A server with a project, an assistant's token, a model, and a home and a folder for the agent's program."""

    live: Running
    token: str
    models: ModelServer
    home: Path

    def told(self, client: str) -> str:
        """The text of the set-up, as the command prints it for this token."""
        said = server.cli(self.live.data, "connect", client, "--token", self.token, "--json")
        assert said.returncode == 0, said.stderr
        return str(json.loads(said.stdout)["text"])

    def run(self, command: list[str], **environment: str) -> str:
        """What the program printed; it must end well, with nothing of ours around it."""
        kept = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(self.home), "LANG": "C.UTF-8"}
        folder = self.home / "work"
        folder.mkdir(exist_ok=True)
        ended = subprocess.run(
            command,
            cwd=folder,
            env=kept | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
        return ended.stdout

    def comments(self) -> list[str]:
        """What assistants said about the card."""
        with self.live.control() as control:
            found = control.operation("list_timeline", {"project": "garden", "card_id": "project"})
        return [one["text"] for one in found["entries"] if one["by"] == "assistant:cli"]


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    """Both programs; skipped where they cannot be had."""
    BUILD.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "package.json").read_bytes()
    made = BUILD / "made-from.json"
    if made.exists() and made.read_bytes() == wanted:
        return
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    (BUILD / "package.json").write_bytes(wanted)
    install = ["npm", "install", "--prefer-offline", "--no-audit", "--no-fund"]
    ended = subprocess.run(install, cwd=BUILD, capture_output=True, text=True, timeout=PREPARE_S, check=False)
    if ended.returncode != 0:
        pytest.skip(f"the programs cannot be installed: {ended.stderr.strip()[-300:]}")
    made.write_bytes(wanted)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with a project."""
    base = tmp_path_factory.mktemp("agents")
    (base / "garden").mkdir()
    with server.running(base / "data") as found:
        with found.control() as control:
            made = {"folder": str(base / "garden"), "name": "garden", "title": "The garden", "objective": "Grow."}
            control.procedure("initialise", made)
        yield found


def of_codex(asked: Asked) -> list[str]:
    """What the model was told that its calls came to."""
    return [str(one["output"]) for one in asked.body["input"] if one.get("type") == "function_call_output"]


def of_claude(asked: Asked) -> list[str]:
    """The same, in the other protocol."""
    parts = [part for one in asked.body["messages"] if isinstance(one["content"], list) for part in one["content"]]
    return [json.dumps(part["content"]) for part in parts if part.get("type") == "tool_result"]


def script(asked: Asked) -> Says:
    """Every call in its turn, then the last answer in words."""
    codex = asked.api == "responses"
    results = of_codex(asked) if codex else of_claude(asked)
    if len(results) == len(CALLS):
        return Says(text=f"I was told: {results[-1]}")
    name, arguments = CALLS[len(results)]
    identity = f"call_{len(results)}"
    if codex:
        return Says(calls=(Tool(name=name, arguments=arguments, id=identity, namespace="mcp__workstead"),))
    return Says(calls=(Tool(name=f"mcp__workstead__{name}", arguments=arguments, id=identity),))


@pytest.fixture
def place(live: Running, tmp_path: Path) -> Iterator[Place]:
    """A fresh home and a fresh assistant that may read and comment."""
    with live.control() as control:
        for one in control.operation("list_assistants", {})["assistants"]:
            if one["ended_at"] is None and one["name"] == "cli":
                control.operation("revoke_assistant", {"assistant": one["id"]})
    token = door.token_of(live, "cli", "projects:read", "projects:write", "catalog:read")
    with serving(choose=script) as models:
        yield Place(live=live, token=token, models=models, home=tmp_path)


def check(place: Place, results: list[str], *, before: int) -> None:
    """The tools ran here, and what they answered reached the model: data, an effect, and a refusal it can read."""
    projects, comment, refusal = results
    assert "The garden" in projects
    assert SAID in comment
    assert place.comments().count(SAID) == before + 1
    assert "permission_missing" in refusal


def test_codex_works_as_connect_tells_it(place: Place) -> None:
    """The lines for its configuration, and the token in the variable that they name."""
    before = len(place.comments())
    configuration = place.home / ".codex" / "config.toml"
    configuration.parent.mkdir()
    model = (
        'model = "m"\nmodel_provider = "loopback"\n[model_providers.loopback]\nname = "loopback"\n'
        f'base_url = "{place.models.url}"\nenv_key = "MODEL_KEY"\nwire_api = "responses"\n'
    )
    configuration.write_text(f"{model}{place.told('codex')}\n")
    command = ["codex", "exec", "--json", "--skip-git-repo-check", "-s", "read-only", "--disable", "plugins"]
    said = place.run([*command, "Look."], MODEL_KEY="none", WORKSTEAD_TOKEN=place.token)
    offered = next(one for one in place.models.asked[0].body["tools"] if one.get("name") == "mcp__workstead")
    assert {"list_projects", "comment_on_card"} <= {one["name"] for one in offered["tools"]}
    assert "start_run" not in {one["name"] for one in offered["tools"]}
    check(place, of_codex(place.models.asked[-1]), before=before)
    events = [json.loads(line) for line in said.splitlines()]
    assert "I was told:" in [one["item"]["text"] for one in events if _kind(one) == "agent_message"][-1]


def test_claude_code_works_as_connect_tells_it(place: Place) -> None:
    """The command line that adds the server, then a question."""
    before = len(place.comments())
    environment = {
        "ANTHROPIC_BASE_URL": place.models.url.removesuffix("/v1"),
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    place.run(shlex.split(place.told("claude-code")), **environment)
    command = ["claude", "-p", "--output-format", "json", "--model", "m", "--allowedTools", "mcp__workstead", "--"]
    said = json.loads(place.run([*command, "Look."], **environment))
    names = {one.get("name") for one in place.models.asked[0].body["tools"]}
    assert {"mcp__workstead__list_projects", "mcp__workstead__comment_on_card"} <= names
    assert "mcp__workstead__start_run" not in names
    check(place, of_claude(place.models.asked[-1]), before=before)
    assert not said["is_error"]
    assert said["result"].startswith("I was told:")


def _kind(event: Mapping[str, Any]) -> str:
    return str(event.get("item", {}).get("type"))
