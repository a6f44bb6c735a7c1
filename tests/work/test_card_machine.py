"""The life of cards against a small model: refusals foretold, invariants checked after each step (W02, W11)."""

import asyncio
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from support import database as databases
from work import checks, folder, office
from workstead import errors
from workstead.kernel.operations import Door
from workstead.work.workflow import identity
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases

COVERS_MODULES = ("work/cards.py", "work/card_lists.py", "work/notifications.py", "work/rules.py")

ENDED = {Status.BLOCKED, Status.DONE, Status.FAILED}
OPEN = {Status.BACKLOG, Status.CHANGED, Status.BLOCKED, Status.STOPPED}
WALKS = {
    Status.BACKLOG: [Status.RUNNING],
    Status.CHANGED: [Status.RUNNING],
    Status.STOPPED: [Status.RUNNING],
    Status.BLOCKED: [Status.RUNNING],
    Status.RUNNING: [Status.DONE, Status.FAILED, Status.BLOCKED, Status.STOPPED],
}


@dataclass
class Known:
    """What the model knows of a card. children: living ones, in their order."""

    parent: str | None
    title: str
    status: Status = Status.BACKLOG
    needs: list[str] = field(default_factory=list)
    children: list[str] = field(default_factory=list)
    made: int = 0


async def prepare(tmp_path: Path) -> None:
    """The instance every example starts from, in which tasks may have tasks below."""
    place = office.write_folder(
        tmp_path / "shed",
        source=folder.changed("permitted_child_types: []", "permitted_child_types: [task]"),
    )
    with office.opened(tmp_path) as (found, running):
        raw = {"folder": str(place), "name": "Shed", "title": "Build", "objective": "A shed."}
        await running.operations.run(found.operator.proof, "create_project", raw, door=Door.CLI)
    (tmp_path / "secret").write_text(found.operator.secret, encoding="utf-8")


@pytest.fixture
def start(tmp_path: Path) -> Path:
    asyncio.run(prepare(tmp_path))
    return tmp_path


class CardMachine(RuleBasedStateMachine):
    """Random lives of a tree."""

    start: Path

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.runner = self.stack.enter_context(asyncio.Runner())
        place = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        databases.copy(self.start / "data" / "workstead.sqlite3", place / "workstead.sqlite3")
        self.shed = self.runner.run(self.open(place))
        self.cards = {"project": Known(parent=None, title="Build")}

    async def open(self, place: Path) -> office.Office:
        secret = (self.start / "secret").read_text(encoding="utf-8")
        return office.reopen(place / "workstead.sqlite3", secret=secret, stack=self.stack)

    def teardown(self) -> None:
        self.stack.close()

    def pick(self, place: int) -> str:
        return sorted(self.cards)[place % len(self.cards)]

    def ask(self, expected: str | None, name: str, **fields: Any) -> None:
        """Run an operation and compare with what the model foretold: a code, or None for success."""
        try:
            self.runner.run(self.shed.run(name, **fields))
            code = None
        except errors.Refusal as refusal:
            code = refusal.code
        assert code == expected, f"{name} {fields}: {code}, not {expected}"

    def branch(self, card_id: str) -> list[str]:
        return [one for one in self.cards if identity.is_within(one, card_id)]

    def propagate(self, card_id: str) -> None:
        here: str | None = card_id
        while here is not None:
            card = self.cards[here]
            if card.status in ENDED:
                card.status = Status.CHANGED
            here = None if card.status is Status.RUNNING else card.parent

    @rule(parent=st.integers(0, 50), needs=st.lists(st.integers(0, 50), max_size=2))
    def create(self, parent: int, needs: list[int]) -> None:
        above = self.pick(parent)
        wanted = [self.pick(one) for one in needs]
        card = self.cards[above]
        expected = None
        if card.status is Status.RUNNING:
            expected = "parent_running"
        elif card.status not in OPEN:
            expected = "parent_closed"
        elif len(set(wanted)) != len(wanted):
            expected = "dependency_repeated"
        elif any(identity.is_within(above, one) for one in wanted):
            expected = "dependency_on_ancestor"
        self.ask(
            expected,
            "create_card",
            parent=above,
            type="task",
            title="New",
            bootstrap_content="Do.",
            depends_on=wanted,
        )
        if expected is None:
            made = identity.child_of(above, identity.segment_at(card.made))
            card.made += 1
            card.children.append(made)
            self.cards[made] = Known(parent=above, title="New", needs=wanted)
            self.propagate(above)

    @rule(place=st.integers(0, 50), title=st.sampled_from(["New", "Other", "Third"]))
    def edit(self, place: int, title: str) -> None:
        card_id = self.pick(place)
        card = self.cards[card_id]
        expected = {
            Status.RUNNING: "card_running",
            Status.DONE: "card_done",
            Status.CANCELLED: "card_cancelled",
        }.get(card.status)
        self.ask(expected, "edit_card", card_id=card_id, title=title)
        if expected is None and card.title != title:
            card.title = title
            self.propagate(card_id)

    @rule(place=st.integers(0, 50))
    def reopen(self, place: int) -> None:
        card_id = self.pick(place)
        expected = None if self.cards[card_id].status in ENDED else "card_not_reopenable"
        self.ask(expected, "reopen_card", card_id=card_id)
        if expected is None:
            self.propagate(card_id)

    @rule(place=st.integers(0, 50))
    def cancel(self, place: int) -> None:
        card_id = self.pick(place)
        statuses = {self.cards[one].status for one in self.branch(card_id)}
        expected = None
        if card_id == "project":
            expected = "card_is_root"
        elif statuses & {Status.DONE, Status.CANCELLED}:
            expected = "card_not_cancellable"
        elif Status.RUNNING in statuses:
            expected = "card_running"
        self.ask(expected, "cancel_card", card_id=card_id)
        if expected is None:
            for one in self.branch(card_id):
                self.cards[one].status = Status.CANCELLED
            parent = self.cards[card_id].parent
            assert parent is not None
            self.propagate(parent)

    @rule(place=st.integers(0, 50))
    def delete(self, place: int) -> None:
        card_id = self.pick(place)
        gone = set(self.branch(card_id))
        expected = None
        if card_id == "project":
            expected = "card_is_root"
        elif any(self.cards[one].status is Status.RUNNING for one in gone):
            expected = "subtree_running"
        elif any(set(card.needs) & gone for one, card in self.cards.items() if one not in gone):
            expected = "card_depended_on"
        self.ask(expected, "delete_card", ids=[card_id])
        if expected is None:
            parent = self.cards[card_id].parent
            assert parent is not None
            self.cards[parent].children.remove(card_id)
            for one in gone:
                del self.cards[one]

    @rule(place=st.integers(0, 50), seed=st.randoms(use_true_random=False))
    def reorder(self, place: int, seed: object) -> None:
        card_id = self.pick(place)
        card = self.cards[card_id]
        order = list(card.children)
        seed.shuffle(order)  # type: ignore[attr-defined]  # a random.Random
        below = [one for one in self.branch(card_id) if one != card_id]
        expected = None
        if card.status is Status.RUNNING:
            expected = "parent_running"
        elif any(self.cards[one].status is Status.RUNNING for one in below):
            expected = "subtree_running"
        self.ask(expected, "reorder_child", parent=card_id, ordered_child_ids=order)
        if expected is None and order != card.children:
            card.children = order
            self.propagate(card_id)

    @rule(place=st.integers(0, 50), which=st.integers(0, 3))
    def walk(self, place: int, which: int) -> None:
        """What a run would do."""
        card_id = self.pick(place)
        card = self.cards[card_id]
        ways = WALKS.get(card.status)
        if ways:
            card.status = ways[which % len(ways)]
            self.shed.walk(card_id, card.status)

    @invariant()
    def nothing_is_broken(self) -> None:
        assert checks.check(self.shed.founded.path) == []

    @invariant()
    def the_tree_is_the_models(self) -> None:
        page = self.runner.run(self.shed.run("get_tree", depth=12))
        shown = [(one.card_id, one.title, one.status, one.children) for one in page.cards]
        assert shown == self.preorder("project")

    def preorder(self, card_id: str) -> list[tuple[str, str, Status, int]]:
        card = self.cards[card_id]
        below = [line for child in card.children for line in self.preorder(child)]
        return [(card_id, card.title, card.status, len(card.children)), *below]


@pytest.mark.covers("W02", "W11", "K04")
def test_cards_live_as_the_model_says(start: Path, database_kind: str) -> None:
    """W02, W11: whatever is done in whatever order, the tree, the refusals and the rows are the model's."""
    CardMachine.start = start
    case = CardMachine.TestCase
    case.settings = settings(
        max_examples=25 if database_kind == "sqlite" else 2,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    case().runTest()
