"""A small project done from its objective to DONE by models behind three real wires, with keys from the store."""

import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from support.model_server import Asked, Fails, Reply, Says, Tool, serving
from workstead import app, settings
from workstead.accounts import secrets
from workstead.accounts.secrets import Safe
from workstead.kernel.access import ControlProof
from workstead.kernel.operations import Door
from workstead.work import template

COVERS_MODULES = ("runs/playing.py",)
PROOF = ControlProof(uid=os.geteuid())
PLANNER_KEY = "planner-key-0123456789"
EXECUTOR_KEY = "executor-key-0123456789"
PROVIDERS = """\
providers:
  anthropic: {kind: anthropic, base_url: "URL", models: [big], key: "secret:anthropic", capabilities: CAPABILITIES}
  chat: {kind: openai-chat, base_url: "URL", models: [small], key: "env:TEST_MODEL_KEY"}
  responses: {kind: openai-responses, base_url: "URL", models: [sharp]}
"""
CAPABILITIES = "{context_window_tokens: 200000, max_output_tokens: 8192}"


def configured(folder: Path, url: str) -> None:
    """The classic configuration with three providers of the loopback server in place of practice."""
    text = template.materialise(template.CLASSIC)["workstead.yaml"].decode()
    ours = PROVIDERS.replace("URL", url).replace("CAPABILITIES", CAPABILITIES)
    text = re.sub(r"^providers:\n(?:  .*\n)+", lambda _: ours, text, flags=re.MULTILINE)
    for agent, model in {"planner": "big", "executor": "small", "reviewer": "sharp"}.items():
        text = re.sub(rf"({agent}: {{candidates: )\[practice\]", rf"\1[{model}]", text)
    own = folder / ".workstead"
    own.mkdir(parents=True)
    (own / "workstead.yaml").write_text(text)


@asynccontextmanager
async def served(data: Path) -> AsyncIterator[app.App]:
    """The whole server in this process."""
    built = app.build(
        settings.load({"WORKSTEAD_PORT": "0", "WORKSTEAD_KEY_VARIABLES": "TEST_MODEL_KEY"}, data_folder=data)
    )
    stop, started = anyio.Event(), anyio.Event()

    async def up() -> None:
        started.set()

    async with anyio.create_task_group() as group:

        async def serve() -> None:
            await app.serve(built, stop=stop, started=up)

        group.start_soon(serve)
        await started.wait()
        yield built
        stop.set()


async def run_to_end(built: app.App, folder: Path) -> Any:
    """Create, trust, run, and wait for the end; the run."""

    async def ask(operation: str, **given: object) -> Any:
        return await built.operations.run(PROOF, operation, given, door=Door.CLI)

    made = await ask("create_project", folder=str(folder), name="Greeting", title="Greeting", objective="# Greet")
    found = await ask("get_configuration", project=made.id)
    assert found.compiles, found.issues
    await ask("trust_configuration", project=made.id, digest=found.digest)
    await ask("start_run", project=made.id)
    with anyio.fail_after(60):
        async for _ in built.watch.project(PROOF, made.id, after=0):
            run = await ask("get_run", project=made.id)
            if run.ended_at is not None:
                return run
    raise AssertionError("the stream ended before the run")


def texts(body: Any) -> list[tuple[str, str]]:
    """Who said what, whatever the wire: user, assistant, result."""
    said: list[tuple[str, str]] = []
    for item in body.get("messages") or body["input"]:
        kind, content = item.get("type"), item.get("content")
        if item.get("role") == "system":
            continue
        if item.get("role") == "tool" or kind == "function_call_output":
            said.append(("result", content or item.get("output")))
        elif kind == "function_call" or item.get("tool_calls"):
            said.append(("assistant", ""))
        elif isinstance(content, list):
            for block in content:
                who = "result" if block["type"] == "tool_result" else item["role"]
                said.append((who, block.get("text") or block.get("content") or ""))
        else:
            said.append((item["role"], content or ""))
    return said


class Workers:
    """What each agent says at each step; where it stands is read from the request itself."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def __call__(self, asked: Asked) -> Reply:
        said = texts(asked.body)
        step = re.findall(r"Step `([a-z-]+)`", said[0][1])[-1]
        begun = max(index for index, (_, text) in enumerate(said) if text.startswith("[Activation begins"))
        here = said[begun:]
        turn = sum(1 for index, (who, _) in enumerate(here) if who == "assistant" and here[index - 1][0] != "assistant")
        self.seen.append((step, turn))
        match step, turn:
            case "plan", 0:
                card = {"type": "code", "title": "Say hello", "bootstrap_content": "# Say hello in hello.txt"}
                return Says(text="One card is enough.", calls=(Tool(name="create_card", arguments=card),))
            case "plan", 1:
                card_id = json.loads(here[-1][1])["data"]["card_id"]
                return Says(calls=(Tool(name="activate_card", arguments={"card_id": card_id, "instructions": "Go."}),))
            case "plan", _:
                return Says(calls=(status("Greeting"), finished("admit_review")))
            case "execute", 0:
                calls = (Tool(name="write", arguments={"path": "hello.txt", "content": "hello\n"}), Tool(name="fly"))
                return Says(text="I write the file and try to fly.", calls=calls)
            case "execute", 1:
                return Says(text="That is done.")
            case "execute", _:
                return Says(calls=(status("Say hello"), finished("done")))
            case "review", _:
                content = "# Review\n\n## Verdict\nGood."
                write = Tool(name="write", arguments={"path": "record:///review.md", "content": content})
                return Says(calls=(write, finished("approved")))
            case _:
                return Says(calls=(status("Greeting, assessed"), finished("complete_reviewed")))


def status(title: str) -> Tool:
    return Tool(name="write", arguments={"path": "record:///status.md", "content": f"# {title}\n\nDone."})


def finished(outcome: str) -> Tool:
    return Tool(name="emit_result", arguments={"outcome": outcome, "summary": "It is done."})


@pytest.mark.covers("W15", "K09")
async def test_three_models_carry_a_project_from_its_objective_to_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 4: with a key the same job is done by a real model."""
    monkeypatch.setenv("TEST_MODEL_KEY", EXECUTOR_KEY)
    folder = tmp_path / "greeting"
    workers = Workers()
    with serving(choose=workers) as server:
        configured(folder, server.url)
        async with served(tmp_path / "data") as built:
            safe = Safe(built.settings.key_file, learn=lambda _: None)
            await secrets.put_sealed(built.operations, safe, PROOF, {"name": "anthropic", "value": PLANNER_KEY})
            run = await run_to_end(built, folder)
    assert run.ending == "done", (run.reason, workers.seen, texts(server.asked[-1].body)[-6:])
    assert (folder / "hello.txt").read_text() == "hello\n"
    keys = {(asked.api, asked.headers.get("x-api-key") or asked.headers.get("authorization")) for asked in server.asked}
    assert keys == {("messages", PLANNER_KEY), ("chat", f"Bearer {EXECUTOR_KEY}"), ("responses", None)}
    assert b"There is no tool 'fly'" in next(a.raw for a in server.asked if a.api == "chat" and b"try to fly" in a.raw)


@pytest.mark.covers("W15", "W16")
@pytest.mark.parametrize(
    ("reply", "stored", "ending", "reason"),
    [
        (Says(text="No.", finish="refusal"), True, "blocked", "one safety-respecting reframing attempt"),
        (Says(text="Never asked."), False, "blocked", "workstead secrets set anthropic"),
        (Fails(status=401), True, "blocked", "does not take the key"),
        (Fails(status=404), True, "failed", "does not take the request (HTTP 404)"),
    ],
    ids=["refused twice", "no key", "revoked key", "no such model"],
)
async def test_a_run_ends_with_a_sentence_where_its_model_cannot_go_on(
    tmp_path: Path, reply: Reply, *, stored: bool, ending: str, reason: str
) -> None:
    """docs/models.md, the table of failures."""
    folder = tmp_path / "greeting"
    with serving(reply) as server:
        configured(folder, server.url)
        async with served(tmp_path / "data") as built:
            if stored:
                safe = Safe(built.settings.key_file, learn=lambda _: None)
                await secrets.put_sealed(built.operations, safe, PROOF, {"name": "anthropic", "value": PLANNER_KEY})
            run = await run_to_end(built, folder)
    assert (run.ending, reason in run.reason) == (ending, True), run.reason
    assert len(server.asked) == {"one safety-respecting reframing attempt": 2}.get(reason, 1 if stored else 0)
