"""Documents and receipts against a small model, driven through the write path (K04, K05; quality, "Tests")."""

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from support import instance, invariants, notes
from support.notes import NoteView
from workstead.errors import Refusal
from workstead.kernel.operations import Door

pytestmark = pytest.mark.both_databases

NOTES = st.sampled_from(["a", "b"])
TEXTS = st.sampled_from(["one", "two", "long " * 500])
REQUEST_IDS = st.sampled_from(["r-1", "r-2", "r-3", None])
BASES = st.sampled_from([None, 0, -1])


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What a request id was used for and what was said."""

    given: Mapping[str, object]
    answer: NoteView


class Notes(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.path = Path(self.stack.enter_context(tempfile.TemporaryDirectory())) / "db"
        self.proof = instance.founded(self.path).operator.proof
        self.loop = asyncio.new_event_loop()
        self.stack.callback(self.loop.close)
        self.opened = self.stack.enter_context(instance.opened(self.path, operations=notes.OPERATIONS))
        self.notes: dict[str, NoteView] = {}
        self.answers: dict[tuple[str, str], Answered] = {}
        self.versions = 0

    def teardown(self) -> None:
        self.stack.close()

    @rule(note=NOTES, text=TEXTS, request_id=REQUEST_IDS)
    def create(self, note: str, text: str, request_id: str | None) -> None:
        now = NoteView(project="garden", note=note, revision=1, version=1, text=text)
        no = "note_exists" if note in self.notes else None
        self.compare("create_note", {"note": note, "text": text}, request_id, now=now, no=no)

    @rule(note=NOTES, text=TEXTS, request_id=REQUEST_IDS, base=BASES)
    def edit(self, note: str, text: str, request_id: str | None, base: int | None) -> None:
        was = self.notes.get(note)
        revision = was.revision if was is not None else 1
        given: dict[str, object] = {"note": note, "text": text} | (
            {} if base is None else {"base_revision": revision + base}
        )
        now = NoteView(project="garden", note=note, revision=revision + 1, version=revision + 1, text=text)
        if was is not None and was.text == text:
            now = was
        no = "note_not_found" if was is None else "note_stale" if base else None
        self.compare("edit_note", given, request_id, now=now, no=no)

    @rule(note=NOTES, request_id=REQUEST_IDS)
    def touch(self, note: str, request_id: str | None) -> None:
        was = self.notes.get(note)
        now = NoteView(
            project="garden",
            note=note,
            revision=was.revision + 1 if was else 1,
            version=was.version if was else 1,
            text=was.text if was else "",
        )
        self.compare(
            "touch_note", {"note": note, "text": ""}, request_id, now=now, no=None if was else "note_not_found"
        )

    def compare(
        self, name: str, given: dict[str, object], request_id: str | None, *, now: NoteView, no: str | None
    ) -> None:
        """Call, and hold the answer or the refusal against what the model says."""
        known = self.answers.get((name, request_id)) if request_id is not None else None
        raw = {"project": "garden", **given} | ({} if request_id is None else {"request_id": request_id})
        run = self.opened.operations.run(self.proof, name, raw, door=Door.REST)
        if known is not None and known.given != given:
            no = "request_id_reused"
        elif known is not None:
            assert self.loop.run_until_complete(run) == known.answer
            return
        if no is not None:
            with pytest.raises(Refusal) as refused:
                self.loop.run_until_complete(run)
            assert refused.value.code == no
            return
        answer = self.loop.run_until_complete(run)
        assert answer == now
        was = self.notes.get(now.note)
        self.versions += int(was is None or was.version != now.version)
        self.notes[now.note] = now
        if request_id is not None:
            self.answers[name, request_id] = Answered(given=given, answer=answer)

    @invariant()
    def the_database_is_the_model(self) -> None:
        assert invariants.check(self.path) == []
        for note, now in self.notes.items():
            raw = {"project": "garden", "note": note}
            read = self.opened.operations.run(self.proof, "read_note", raw, door=Door.REST)
            assert self.loop.run_until_complete(read) == now


@pytest.mark.covers("K04", "K05")
def test_documents_and_receipts_live_as_the_model_says(database_kind: str) -> None:
    """K04, K05: whatever is asked in whatever order, under whichever key."""
    case = Notes.TestCase
    case.settings = settings(max_examples=25 if database_kind == "sqlite" else 2, stateful_step_count=25, deadline=None)
    case().runTest()
