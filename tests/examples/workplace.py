"""A tiny workplace in memory that plays a script on a real folder; it knows the classic graph and nothing else."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from workstead import errors
from workstead.agents.models.practice import Practice
from workstead.agents.models.practice_script import Script
from workstead.agents.models.shape import Call, Child, Message, Request, Role, Situation
from workstead.agents.tools import edits, patches
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

# node -> agent, its record, outcome -> node or terminal
NODES: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "plan": ("planner", "status.md", {"admit_review": "review", "assess_completion": "assess-completion"}),
    "recover": ("planner", "status.md", {"admit_review": "review", "assess_completion": "assess-completion"}),
    "review": ("reviewer", "review.md", {"approved": "assess-completion", "revision_required": "plan"}),
    "assess-completion": ("planner", "status.md", {"replan": "plan", "complete_reviewed": "done"}),
    "execute": ("executor", "status.md", {"done": "done"}),
}
ROOT = "project"


class Crash(BaseException):
    """The machine went away; nobody may catch it."""


@dataclass(kw_only=True)
class Card:
    """A card as far as the graph needs it."""

    title: str
    status: str = "backlog"
    depends_on: list[str] = field(default_factory=list)
    records: dict[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class Done:
    """A call that was made, with its result."""

    card: str
    agent: str
    node: str
    call: Call
    error: str | None


class Workplace:
    """Cards, conversations and a folder. crash_after: the number of the call after which everything is gone."""

    def __init__(self, script: Script, folder: Path, *, commands: bool = True) -> None:
        self.cards = {ROOT: Card(title="Due dates")}
        self.done: list[Done] = []
        self.nodes: list[str] = []
        self.crash_after: int | None = None
        self._conversations: dict[tuple[str, str], list[Message]] = {}
        self._practice = Practice(script)
        self._written: set[tuple[str, str]] = set()
        self._folder = folder
        self._commands = commands

    async def run(self) -> None:
        """Work on the root card until it ends."""
        for card in self.cards.values():
            if card.status == "running":
                card.status = "stopped"
        await self._activate(ROOT)

    async def _activate(self, card_id: str) -> str:
        card = self.cards[card_id]
        entry = card.status.upper()
        node = "execute" if card_id != ROOT else "recover" if entry == "STOPPED" else "plan"
        card.status = "running"
        while node in NODES:
            self.nodes.append(f"{card.title}: {node}")
            node = await self._task(card_id, node, entry)
        card.status = node
        return node

    async def _task(self, card_id: str, node: str, entry: str) -> str:
        agent, record, edges = NODES[node]
        messages = self._conversations.setdefault((card_id, agent), [])
        self._written.discard((card_id, record))
        if node == "review":
            self.cards[card_id].records.pop(record, None)
        for turns in range(32):
            answer = await self._practice.complete(self._request(card_id, node, entry, turns=turns, messages=messages))
            messages.append(Message(role=Role.ASSISTANT, text=answer.text, calls=answer.calls))
            outcome = None
            for call in answer.calls:
                arguments = cast("dict[str, Json]", canonical.parse(call.arguments))
                data: Json = None
                error: str | None = None
                if call.name == "emit_result":
                    outcome = str(arguments["outcome"])
                    assert (card_id, record) in self._written, f"{agent} ends {node} without writing {record}"
                else:
                    data, error = await self._act(card_id, call.name, arguments)
                body = {"success": error is None, "data": data, "error": error}
                messages.append(Message(role=Role.TOOL, text=canonical.text(body), call_id=call.id))
                self.done.append(Done(card=card_id, agent=agent, node=node, call=call, error=error))
                if len(self.done) == self.crash_after:
                    raise Crash
            if outcome is not None:
                return edges[outcome]
        raise AssertionError("a step never ended")

    def _request(self, card_id: str, node: str, entry: str, *, turns: int, messages: list[Message]) -> Request:
        children = {
            card.title: Child(card_id=each, status=card.status)
            for each, card in self.cards.items()
            if card_id == ROOT and each != ROOT
        }
        situation = Situation(
            agent=NODES[node][0],
            card_id=card_id,
            card_title=self.cards[card_id].title,
            node=node,
            entry=entry,
            turns=turns,
            children=children,
        )
        return Request(
            model="practice",
            instructions="",
            messages=tuple(messages),
            tools=(),
            max_tokens=1,
            temperature=0,
            situation=situation,
        )

    async def _act(self, card_id: str, tool: str, given: dict[str, Json]) -> tuple[Json, str | None]:
        match tool:
            case "create_card":
                return self._create(given), None
            case "activate_card":
                return await self._start(str(given["card_id"]))
            case "get_card":
                return {"status": self.cards[str(given["card_id"])].status}, None
            case "write":
                return None, self._write(card_id, str(given["path"]), str(given["content"]))
            case "edit":
                return None, self._edit(str(given["path"]), old=str(given["old_string"]), new=str(given["new_string"]))
            case "apply_patch":
                return None, self._patch(str(given["patch"]))
            case "run_command":
                return {"exit_code": self._command(str(given["command"]))}, None
            case "read":
                path = str(given["path"])
                known = path.startswith("record:///") or (self._folder / path).is_file()
                return None, None if known else f"{path} is not there"
            case _:
                return None, None

    def _create(self, given: dict[str, Json]) -> Json:
        card_id = f"{ROOT}/{given['type']}-{len(self.cards)}"
        depends_on = [str(each) for each in cast("list[Json]", given.get("depends_on", []))]
        assert all(each in self.cards for each in depends_on)
        assert given["title"] not in [card.title for card in self.cards.values()], "a card was made twice"
        self.cards[card_id] = Card(title=str(given["title"]), depends_on=depends_on)
        return {"card_id": card_id}

    async def _start(self, card_id: str) -> tuple[Json, str | None]:
        card = self.cards[card_id]
        if card.status == "done" or any(self.cards[each].status != "done" for each in card.depends_on):
            return None, "this card cannot start"
        return {"outcome": await self._activate(card_id)}, None

    def _write(self, card_id: str, path: str, text: str) -> str | None:
        name, _, owner = path.removeprefix("record:///").partition("?card=")
        assert path.startswith("record:///"), f"a script writes files by edits only: {path}"
        assert owner == card_id
        records = self.cards[card_id].records
        if records.get(name) == text:
            return "record_unchanged"
        records[name] = text
        self._written.add((card_id, name))
        return None

    def _edit(self, path: str, *, old: str, new: str) -> str | None:
        text = (self._folder / path).read_text(encoding="utf-8")
        try:
            (self._folder / path).write_text(edits.replace(text, old=old, new=new, replace_all=False), encoding="utf-8")
        except errors.Refusal as refusal:
            return refusal.message
        return None

    def _patch(self, patch: str) -> str | None:
        try:
            (one,) = patches.parse(patch)
            place = self._folder / one.path
            place.write_text(patches.apply(one, place.read_text(encoding="utf-8")) or "", encoding="utf-8")
        except errors.Refusal as refusal:
            return refusal.message
        return None

    def _command(self, command: str) -> int:
        if not self._commands:
            return 0
        argv = [sys.executable, *command.split()[1:]]
        return subprocess.run(argv, cwd=self._folder, capture_output=True, timeout=60, check=False).returncode
