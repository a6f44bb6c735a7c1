"""Every way a provider fails, through real runs: goes on or ends as docs/models.md says, with evidence, and no secret.

All journeys run at once, each a project of its own with a model behind one of the three wires. Waits pass at once on a
clock that each journey has for itself.
"""

import io
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from runs.test_models import CAPABILITIES
from support.database import rows
from support.model_server import Api, Fails, ModelServer, Reply, Says, Tool, failing, serving
from support.models import KINDS
from support.player import Player
from workstead import app, demo_models, logs, settings
from workstead.accounts import first_start
from workstead.agents.models import routing
from workstead.agents.models.availability import Availability
from workstead.agents.models.shape import Transport
from workstead.demo_models import Chosen
from workstead.kernel import scopes
from workstead.kernel.access import ControlProof
from workstead.kernel.operations import Door
from workstead.kernel.redaction import Redactor
from workstead.outbound.calls import Limits
from workstead.runs import playing
from workstead.testing import START, SetClock
from workstead.work import template
from workstead.work.workflow.graph import KeyName, Provider, Route

PROOF = ControlProof(uid=os.geteuid())
KEY = "sk-ant-canary-0123456789abcdef0123456789"
BODY = "the-providers-own-words"
AFTER_90_S = (START + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")
SCRIPT = b"""\
- when: {agent: planner, node: plan}
  turns:
    - say: One card is enough.
      calls:
        - create_card: {type: code, title: Say hello, bootstrap_content: "# Say hello in hello.txt"}
          as: hello
    - calls: [{activate_card: {card_id: "${hello.card_id}", instructions: Go.}}]
    - calls:
        - write: {path: "record:///status.md?card=${card.id}", content: "# Greeting"}
        - emit_result: {outcome: admit_review, summary: It is done.}
- when: {agent: planner, node: assess-completion}
  turns:
    - calls:
        - write: {path: "record:///status.md?card=${card.id}", content: "# Greeting, assessed"}
        - emit_result: {outcome: complete_reviewed, summary: All is well.}
- when: {agent: executor, node: execute}
  turns:
    - say: I look first.
      calls: [{read: {path: OBJECTIVE.md}}]
    - calls:
        - write: {path: hello.txt, content: "hello"}
        - write: {path: "record:///status.md?card=${card.id}", content: "# Hello said"}
        - emit_result: {outcome: done, summary: It is said.}
- when: {agent: reviewer, node: review}
  turns:
    - calls:
        - write: {path: "record:///review.md?card=${card.id}", content: "# Review"}
        - emit_result: {outcome: approved, summary: Good.}
"""


@dataclass(kw_only=True)
class Journey:
    """A run whose provider fails in the middle of it. replies: before the script goes on, at the turn `at`.

    failures: the classes that the exchanges record. waits: what was waited, by the clock of the journey. reason: a part
    of the sentence that people read at the end.
    """

    replies: list[Reply]
    api: Api = "chat"
    at: tuple[str, int] = ("execute", 1)
    ending: str = "done"
    reason: str = "Good."
    failures: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    jumps: list[timedelta] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    quick: bool = False


def fails(status: int, **headers: str) -> Fails:
    return Fails(
        status=status, body=f"{BODY} {KEY}", headers={name.replace("_", "-"): headers[name] for name in headers}
    )


HTML = Fails(status=200, body=f"<html>{BODY} {KEY}</html>", content_type="text/html")
SILENT = Limits(inactivity_s=1.5, silence_s=2.5)
PLAN = ("plan", 1)
JOURNEYS: dict[str, Journey] = {
    "429-seconds": Journey(api="messages", replies=[fails(429, Retry_After="7")], waits=[7]),
    "429-date": Journey(api="responses", replies=[fails(429, Retry_After=AFTER_90_S)], waits=[90]),
    "503": Journey(replies=[fails(503)] * 2, waits=[15, 45]),
    "529": Journey(api="messages", replies=[failing("messages", 529, code="overloaded_error")], waits=[30]),
    "overload": Journey(
        api="responses",
        replies=[failing("responses", 503, code="server_is_overloaded")] * 5,
        waits=[30, 60, 120, 240, 480],
    ),
    "html": Journey(replies=[HTML], waits=[15]),
    "cut": Journey(api="responses", replies=[Says(text="half", events=3, then="cut")], waits=[15]),
    "stalled": Journey(api="messages", replies=[Says(text="half", events=3, then="stall")], quick=True, waits=[15]),
    "pings": Journey(api="messages", replies=[Says(text="half", events=3, then="pings")], quick=True, waits=[15]),
    "broken-json": Journey(replies=[Says(text="half", events=3, then="garbage")], waits=[15]),
    "no-end-mark": Journey(api="responses", replies=[Says(text="half", events=3)], waits=[15]),
    "error-inside": Journey(replies=[Says(text="half", events=3, then="error")], waits=[30]),
    "down-two-minutes": Journey(api="messages", replies=[Fails(status=502, body=BODY)] * 3, waits=[15, 45, 90]),
    "clock-forward": Journey(replies=[fails(429, Retry_After="7")], waits=[7], jumps=[timedelta(days=400)]),
    "clock-back": Journey(api="messages", replies=[fails(503)] * 2, waits=[15, 45], jumps=[timedelta(days=-400)] * 2),
    "wrong-tool": Journey(api="messages", replies=[Says(calls=(Tool(name="fly"),))]),
    "broken-arguments": Journey(replies=[Says(calls=(Tool(name="read", arguments='{"path": '),))]),
    "parallel-calls": Journey(
        api="responses",
        replies=[Says(calls=(Tool(name="read", arguments={"path": "OBJECTIVE.md"}, id="one"), Tool(name="fly")))],
    ),
    "empty": Journey(api="messages", replies=[Says()]),
    "refused-once": Journey(api="messages", replies=[Says(finish="refusal")], failures=["content_policy"]),
    "refused-twice": Journey(
        at=PLAN,
        ending="blocked",
        api="responses",
        replies=[Says(finish="refusal")] * 2,
        failures=["content_policy"] * 2,
        reason="Change what the card asks for, then Run.",
    ),
    "key-revoked": Journey(
        at=PLAN,
        ending="blocked",
        api="messages",
        replies=[fails(401)],
        failures=["auth"],
        reason="does not take the key (HTTP 401). Replace the key",
    ),
    "too-long": Journey(
        at=("plan", 0),
        ending="blocked",
        replies=[failing("chat", 400, code="context_length_exceeded", message=BODY)] * 9,
        failures=["context_exhausted"],
        reason="cannot be shortened",
    ),
    "no-such-model": Journey(
        at=PLAN,
        ending="failed",
        replies=[fails(404)],
        failures=["rejected"],
        reason="Correct the model or its route in the configuration",
    ),
    "html-for-ever": Journey(
        at=PLAN,
        ending="failed",
        api="messages",
        replies=[HTML] * 4,
        waits=[15, 45, 90],
        failures=["malformed"],
        reason="It was asked 4 times. Once it answers again",
    ),
    "down-for-ever": Journey(
        at=PLAN,
        ending="failed",
        api="responses",
        replies=[fails(503)] * 4,
        waits=[15, 45, 90],
        failures=["transient"],
        reason="It was asked 4 times. Once it answers again",
    ),
    "limited-for-ever": Journey(
        at=PLAN,
        ending="failed",
        replies=[fails(429)] * 4,
        waits=[60, 60, 60],
        failures=["rate_limit"],
        reason="reopen the card and Run.",
    ),
    "limited-for-a-day": Journey(
        at=PLAN,
        ending="failed",
        replies=[fails(429, Retry_After="86400")],
        failures=["rate_limit"],
        reason="m1 of model",
    ),
    "silent-for-ever": Journey(
        at=PLAN,
        ending="failed",
        replies=[Says(text="half", events=3, then="stall")] * 4,
        quick=True,
        waits=[15, 45, 90],
        failures=["timeout"],
        reason="It was asked 4 times. Once it answers again",
    ),
}


# What each protocol writes in its own way goes through a run of each.
OTHERS: dict[Api, tuple[Api, Api]] = {
    "chat": ("messages", "responses"),
    "messages": ("chat", "responses"),
    "responses": ("chat", "messages"),
}
TOLD_APART = (
    "broken-json",
    "cut",
    "empty",
    "no-end-mark",
    "parallel-calls",
    "refused-once",
    "refused-twice",
    "wrong-tool",
)
JOURNEYS |= {
    f"{name}-{api}": replace(JOURNEYS[name], api=api, waited=[], replies=list(JOURNEYS[name].replies))
    for name in TOLD_APART
    for api in OTHERS[JOURNEYS[name].api]
}
SAYS_SO: dict[str, tuple[tuple[Api, Fails], ...]] = {
    "overload": (
        ("chat", failing("chat", 503, code="server_is_overloaded")),
        ("messages", failing("messages", 529, code="overloaded_error")),
    ),
    "too-long": (
        ("messages", failing("messages", 400, message="prompt is too long: 210000 tokens > 200000 maximum")),
        ("responses", failing("responses", 400, code="context_length_exceeded", message=BODY)),
    ),
}
JOURNEYS |= {
    f"{name}-{api}": replace(JOURNEYS[name], api=api, waited=[], replies=[reply] * len(JOURNEYS[name].replies))
    for name, replies in SAYS_SO.items()
    for api, reply in replies
}


class Office:
    """The whole server, and for each journey a folder, a model server, and means with a clock of their own."""

    def __init__(self, built: app.App) -> None:
        self.built = built
        self.means: dict[Path, routing.Means] = {}

    def transport_of(self, route: Route, providers: Mapping[str, Provider], folder: Path) -> Transport:
        return playing.transport_of(route, providers, folder, means=self.means[folder])

    def prepare(self, folder: Path, journey: Journey, server: ModelServer) -> None:
        chosen = Chosen(
            kind=KINDS[journey.api].value, model="m1", base_url=server.url, key="MODEL_KEY",
            tokens=10**9, minutes=1000, amount=None, prices=None,
        )  # fmt: skip
        for path, content in template.materialise().items():
            place = folder / ".workstead" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            text = demo_models.configured(content, chosen) if path == "workstead.yaml" else content
            place.write_bytes(
                text.replace(b'models: ["m1"]', f'models: ["m1"]\n    capabilities: {CAPABILITIES}'.encode())
            )
        (folder / "OBJECTIVE.md").write_text("Greet.")
        clock = SetClock()

        async def sleep(seconds: float) -> None:
            journey.waited.append(round(seconds))
            if journey.jumps:
                clock.set(clock.now() + journey.jumps.pop())
            clock.advance(seconds=seconds)
            await anyio.lowlevel.checkpoint()

        self.means[folder] = routing.Means(
            client=self.built.client, availability=Availability(clock=clock), key_of=_key, clock=clock,
            limits=SILENT if journey.quick else Limits(), sleep=sleep,
        )  # fmt: skip

    async def ask(self, operation: str, /, **given: object) -> Any:
        return await self.built.operations.run(PROOF, operation, given, door=Door.CLI)

    async def travel(self, name: str, folder: Path) -> Any:
        """One run to its end."""
        made = await self.ask("create_project", folder=str(folder), name=name, title="Greeting", objective="# Greet")
        found = await self.ask("get_configuration", project=made.id)
        assert found.compiles, found.issues
        await self.ask("trust_configuration", project=made.id, digest=found.digest)
        await self.ask("start_run", project=made.id)
        async for _ in self.built.watch.project(PROOF, made.id, after=0):
            run = await self.ask("get_run", project=made.id)
            if run.ended_at is not None:
                return run
        raise AssertionError("the stream ended before the run")


def _key(_name: KeyName) -> str:
    return KEY


EXCHANGES = (
    "SELECT project.name, exchange_end.failure, exchange_end.sent_bytes > 0 FROM exchange_end "
    "JOIN exchange ON exchange.id = exchange_end.exchange_id "
    "JOIN conversation ON conversation.id = exchange.conversation_id "
    "JOIN project ON project.id = conversation.project_id ORDER BY exchange.id"
)


@pytest.mark.covers("W15", "W16", "K09")
async def test_every_failure_of_a_provider_is_survived_or_said(tmp_path: Path) -> None:
    """docs/models.md, "What happens when a model fails": one run for each row, at the level people see."""
    redactor, log = Redactor(), io.StringIO()
    redactor.learn(KEY)
    logs.configure(level="debug", style="text", redactor=redactor, stream=log)
    built = app.build(
        settings.load({"WORKSTEAD_PORT": "0", "WORKSTEAD_DURABILITY": "normal"}, data_folder=tmp_path / "data"),
        redactor=redactor,
    )
    office = Office(built)
    supervisor = replace(built.supervisor, transport_of=office.transport_of)
    ended: dict[str, Any] = {}
    players: dict[str, Player] = {}
    with ExitStack() as stack:
        stack.callback(built.close)
        for name, journey in JOURNEYS.items():
            players[name] = Player(SCRIPT, at=journey.at, before=journey.replies)
            office.prepare(tmp_path / name, journey, stack.enter_context(serving(choose=players[name])))
        await built.effects.settle(scopes.INSTANCE, partial(first_start.seed, operator_name="ada"))
        async with anyio.create_task_group() as group:
            group.start_soon(supervisor.serve)
            with anyio.fail_after(120):
                await _all(office, tmp_path, ended)
            group.cancel_scope.cancel()
        await built.client.aclose()
    seen = {
        name: (run.ending, JOURNEYS[name].reason in run.reason, JOURNEYS[name].waited) for name, run in ended.items()
    }
    wanted = {name: (one.ending, True, one.waits) for name, one in JOURNEYS.items()}
    assert seen == wanted, {name: run.reason for name, run in ended.items() if seen[name] != wanted[name]}
    assert {name: player.stuck for name, player in players.items() if player.stuck} == {}
    recorded: dict[str, list[str]] = {name: [] for name in JOURNEYS}
    for name, failure, sent in rows(tmp_path / "data" / "workstead.sqlite3", EXCHANGES):
        if failure is not None:
            assert sent, name
            recorded[str(name)].append(str(failure))
    assert recorded == {name: one.failures for name, one in JOURNEYS.items()}
    kept = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    told = log.getvalue() + "".join(run.reason for run in ended.values())
    for secret in (KEY, BODY):
        assert secret.encode() not in kept
        assert secret not in told
    assert "model call failed" in told


async def _all(office: Office, root: Path, ended: dict[str, Any]) -> None:
    async def one(name: str) -> None:
        ended[name] = await office.travel(name, root / name)

    async with anyio.create_task_group() as group:
        for name in JOURNEYS:
            group.start_soon(one, name)
