"""The life of a record against a small model: starters, drafts, accepted texts, each refusal foretold (W04)."""

import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from support import database as databases
from support import instance
from work import checks, office
from workstead import errors
from workstead.kernel.access import AgentProof, Author
from workstead.kernel.operations import Door
from workstead.kernel.transaction import Tx
from workstead.work import cards, records
from workstead.work.records import Record, Source

pytestmark = pytest.mark.both_databases

COVERS_MODULES = ("work/records.py",)

TEXTS = st.sampled_from(["one", "two", "one two", "two\n\none", "ünï"])
NAME = "status.md"


async def prepare(tmp_path: Path) -> None:
    """The instance every example starts from: a card and an agent on it."""
    async with office.open_office(tmp_path) as shed:
        await shed.card("Task")
        (tmp_path / "secret").write_text(shed.founded.operator.secret, encoding="utf-8")
        (tmp_path / "grant").write_text(shed.agent("card-a").grant_id, encoding="utf-8")


@pytest.fixture
def start(tmp_path: Path) -> Path:
    asyncio.run(prepare(tmp_path))
    return tmp_path


class RecordMachine(RuleBasedStateMachine):
    """Random lives of one record; an agent drafts, a person accepts at once, a run's step opens and ends drafts."""

    start: Path

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.runner = self.stack.enter_context(asyncio.Runner())
        place = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        databases.copy(self.start / "data" / "workstead.sqlite3", place / "workstead.sqlite3")
        self.shed = self.runner.run(self.open(place))
        self.agent = AgentProof(grant_id=(self.start / "grant").read_text(encoding="utf-8"))
        self.there = False
        self.accepted: list[str] = []
        self.baseline: str | None = None
        self.draft: str | None = None
        self.draft_is_starter = False

    async def open(self, place: Path) -> office.Office:
        secret = (self.start / "secret").read_text(encoding="utf-8")
        return office.reopen(place / "workstead.sqlite3", secret=secret, stack=self.stack)

    def teardown(self) -> None:
        self.stack.close()

    def effective(self) -> str | None:
        """The text that counts, as the model has it."""
        if self.draft is not None:
            return self.draft
        return self.accepted[-1] if self.accepted else self.baseline

    def ask(self, expected: str | None, name: str, *, by_agent: bool, **fields: Any) -> None:
        proof = self.agent if by_agent else None
        door = Door.AGENT if by_agent else Door.REST
        try:
            self.runner.run(self.shed.run(name, proof=proof, door=door, card_id="card-a", name=NAME, **fields))
            code = None
        except errors.Refusal as refusal:
            code = refusal.code
        assert code == expected, f"{name} {fields}: {code}, not {expected}"

    def put(self, text: str, *, by_agent: bool) -> None:
        self.there = True
        self.baseline = None
        if by_agent:
            self.draft, self.draft_is_starter = text, False
        else:
            self.accepted.append(text)

    def refusal_of(self, text: str, *, by_agent: bool) -> str | None:
        if not text.strip():
            return "record_empty"
        if by_agent:
            return "record_unchanged" if self.effective() == text else None
        if self.draft is not None:
            return "record_draft_open"
        return "record_unchanged" if self.accepted[-1:] == [text] else None

    @rule(text=st.one_of(TEXTS, st.just(" \n")), by_agent=st.booleans())
    def write(self, text: str, by_agent: bool) -> None:
        expected = self.refusal_of(text, by_agent=by_agent)
        self.ask(expected, "write_record", by_agent=by_agent, content=text)
        if expected is None:
            self.put(text, by_agent=by_agent)

    @rule(
        old=st.sampled_from(["one", "two", "n"]),
        new=st.sampled_from(["one", "three", ""]),
        everywhere=st.booleans(),
        by_agent=st.booleans(),
    )
    def edit(self, old: str, new: str, everywhere: bool, by_agent: bool) -> None:
        now = self.effective()
        text = "" if now is None else now.replace(old, new)
        if now is None:
            expected: str | None = "record_absent"
        elif old not in now:
            expected = "old_text_absent"
        elif now.count(old) > 1 and not everywhere:
            expected = "old_text_repeated"
        elif text == now:
            expected = "record_unchanged"
        else:
            expected = self.refusal_of(text, by_agent=by_agent)
        self.ask(expected, "edit_record", by_agent=by_agent, old=old, new=new, replace_all=everywhere)
        if expected is None:
            self.put(text, by_agent=by_agent)

    @rule(text=TEXTS)
    def initialize(self, text: str) -> None:
        """A node gives an absent record its starter."""
        with instance.transaction(self.shed.founded.path) as tx:
            card = cards.read(tx, self.shed.project_id_in(tx), "card-a")
            assert card is not None
            records.initialize(tx, card, NAME, text=text)
        if not self.there:
            self.there, self.baseline = True, text

    @rule()
    def open_clean(self) -> None:
        """A node wants a fresh draft."""
        with instance.transaction(self.shed.founded.path) as tx:
            card = cards.read(tx, self.shed.project_id_in(tx), "card-a")
            assert card is not None
            records.open_draft(tx, card, NAME)
        self.there = True
        self.draft, self.draft_is_starter = self.baseline or "", self.baseline is not None
        self.baseline = None

    @rule(accept=st.booleans())
    @precondition(lambda self: self.draft is not None)
    def end_the_step(self, accept: bool) -> None:
        """A node ends: its draft is accepted or dropped; an empty or unwritten one cannot be accepted."""
        acceptable = bool(self.draft and self.draft.strip()) and not self.draft_is_starter
        with instance.transaction(self.shed.founded.path) as tx:
            one = self.record()
            card = cards.read(tx, self.shed.project_id_in(tx), "card-a")
            assert card is not None
            if not accept:
                records.discard(tx, one)
            elif acceptable:
                records.accept_draft(tx, card, one, author=Author(kind="agent", name="lead"))
            else:
                with pytest.raises(errors.Refusal, match="no written draft"):
                    records.accept_draft(tx, card, one, author=Author(kind="agent", name="lead"))
        if accept and acceptable:
            assert self.draft is not None
            self.accepted.append(self.draft)
        if not accept or acceptable:
            self.draft = None

    def record(self) -> Record:
        found = self.shed.instance.store.read_here(
            lambda connection: records.read(
                Tx(connection, clock=self.shed.instance.clock),
                self.shed.founded.project.id,
                "card-a",
                NAME,
            )
        )
        assert found is not None
        return found

    @invariant()
    def nothing_is_broken(self) -> None:
        assert checks.check(self.shed.founded.path) == []

    @invariant()
    def the_text_is_the_models(self) -> None:
        if not self.there:
            with pytest.raises(errors.Refusal, match="no record"):
                self.runner.run(self.shed.run("read_record", card_id="card-a", name=NAME))
            return
        now = self.runner.run(self.shed.run("read_record", card_id="card-a", name=NAME))
        source = (
            Source.DRAFT
            if self.draft is not None
            else Source.ACCEPTED
            if self.accepted
            else Source.BASELINE
            if self.baseline is not None
            else None
        )
        assert (now.content, now.source, now.accepted) == (self.effective() or "", source, len(self.accepted))

    @invariant()
    def accepted_texts_stay(self) -> None:
        for number, text in enumerate(self.accepted, start=1):
            kept = self.runner.run(self.shed.run("read_record_version", card_id="card-a", name=NAME, version=number))
            assert kept.content == text


@pytest.mark.covers("W04", "K04")
def test_records_live_as_the_model_says(start: Path, database_kind: str) -> None:
    """W04: the text that counts, the numbers of accepted texts and every refusal are the model's."""
    RecordMachine.start = start
    case = RecordMachine.TestCase
    case.settings = settings(
        max_examples=20 if database_kind == "sqlite" else 2,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    case().runTest()
