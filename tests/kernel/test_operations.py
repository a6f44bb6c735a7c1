"""The one write path: receipts, authority and order (K05, K06, K07; architecture, "An operation")."""

import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from support import instance, invariants, notes
from support.database import statement
from support.instance import Founded, Instance, Member
from workstead import errors
from workstead.accounts import credentials
from workstead.accounts.roles import Role
from workstead.errors import Kind, Refusal
from workstead.kernel.access import AnonymousProof, Caller, Proof, SecretProof, SystemProof
from workstead.kernel.operations import AnyOperation, Door
from workstead.kernel.transaction import Tx
from workstead.testing import SetClock

pytestmark = pytest.mark.both_databases

TABLE = {operation.name: operation for operation in notes.OPERATIONS}
UNSHARE = statement("DELETE FROM share WHERE person_id = :person_id")
SUSPEND = statement("UPDATE person SET suspended_at = :at WHERE id = :person_id")


@dataclass(frozen=True, kw_only=True)
class Garden:
    """An open instance with one project, and calls as its operator unless another proof is given."""

    found: Founded
    opened: Instance

    async def call(self, name: str, *, proof: Proof | None = None, door: Door = Door.REST, **given: Any) -> Any:
        raw = {"project": "garden", "note": "n", **given}
        return await self.opened.operations.run(proof or self.found.operator.proof, name, raw, door=door)

    async def refused(self, name: str, *, proof: Proof | None = None, **given: Any) -> Refusal:
        with pytest.raises(Refusal) as refused:
            await self.call(name, proof=proof, **given)
        return refused.value

    def rows(self, table: str) -> int:
        with instance.transaction(self.found.path) as tx:
            row = tx.one(statement(f"SELECT count(*) FROM {table}"))
        assert row is not None
        return int(row[0] or 0)


@asynccontextmanager
async def garden(
    path: Path, *, clock: SetClock | None = None, operations: tuple[AnyOperation, ...] = notes.OPERATIONS
) -> AsyncIterator[Garden]:
    found = instance.founded(path, clock=clock)
    with instance.opened(path, operations=operations, clock=clock) as opened, anyio.fail_after(5):
        yield Garden(found=found, opened=opened)
    assert invariants.check(path) == []


@pytest.mark.covers("K05")
async def test_a_repeated_request_gets_the_first_answer_and_no_second_effect(tmp_path: Path) -> None:
    """A client that lost the reply may ask again."""
    async with garden(tmp_path / "db") as here:
        first = await here.call("create_note", text="one", request_id="r")
        await here.call("edit_note", text="two")
        before = {table: here.rows(table) for table in ("version", "feed", "receipt")}
        assert await here.call("create_note", text="one", request_id="r") == first
        assert {table: here.rows(table) for table in before} == before


@pytest.mark.covers("K05")
async def test_a_long_answer_is_rendered_again_as_it_was(tmp_path: Path) -> None:
    """Receipts keep a kilobyte; longer answers name the version they showed."""
    async with garden(tmp_path / "db") as here:
        first = await here.call("create_note", text="long " * 1000, request_id="r")
        await here.call("edit_note", text="other")
        assert await here.call("create_note", text="long " * 1000, request_id="r") == first
        with instance.transaction(here.found.path) as tx:
            row = tx.one(statement("SELECT answer, answer_id FROM receipt WHERE request_id = 'r'"))
        assert row == (None, "garden/n")


@pytest.mark.covers("K05")
async def test_a_request_id_with_another_input_is_a_conflict(tmp_path: Path) -> None:
    """The second wish must not look done; its own words are not in the refusal."""
    async with garden(tmp_path / "db") as here:
        await here.call("create_note", text="one", request_id="r")
        refused = await here.refused("create_note", text="hidden words", request_id="r")
        assert (refused.kind, refused.code) == (Kind.CONFLICT, "request_id_reused")
        assert "hidden" not in str(refused) + str(refused.details)


@pytest.mark.covers("K05")
async def test_eight_repeats_at_once_are_one_change_with_one_answer(tmp_path: Path) -> None:
    """A double click, a retry and a queue may meet."""
    async with garden(tmp_path / "db") as here:
        answers: list[object] = []

        async def press() -> None:
            answers.append(await here.call("create_note", text="one", request_id="r"))

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(press)
        assert answers == [answers[0]] * 8
        assert (here.rows("version"), here.rows("receipt")) == (1, 1)


@pytest.mark.covers("K05")
async def test_an_answer_shown_once_is_neither_kept_nor_shown_again(tmp_path: Path) -> None:
    """It held a secret: the repeat says that it was done."""
    async with garden(tmp_path / "db") as here:
        assert (await here.call("reveal_note", text="one", request_id="r")).secret == "shown once"
        refused = await here.refused("reveal_note", text="one", request_id="r")
        assert (refused.kind, refused.code) == (Kind.CONFLICT, "answer_shown_once")
        assert here.rows("receipt WHERE answer IS NOT NULL OR answer_id IS NOT NULL") == 0
        assert here.rows("receipt") == 1


@pytest.mark.covers("K05")
async def test_a_refusal_leaves_the_key_free(tmp_path: Path) -> None:
    """The receipt is rolled back with the rest: a stale or missing thing must not become permanent."""
    async with garden(tmp_path / "db") as here:
        assert (await here.refused("edit_note", text="one", request_id="r")).kind is Kind.NOT_FOUND
        assert here.rows("receipt") == 0
        await here.call("create_note", text="zero")
        assert (await here.call("edit_note", text="one", request_id="r")).revision == 2


@pytest.mark.covers("K07")
async def test_every_write_leaves_its_invocation_record(tmp_path: Path) -> None:
    """With or without a request id: who, what, when; the input is a digest only."""
    async with garden(tmp_path / "db") as here:
        await here.call("create_note", text="one")
        await here.call("touch_note", text="a word that is nowhere else")
        with instance.transaction(here.found.path) as tx:
            rows = tx.all(statement("SELECT subject, operation, scope FROM receipt ORDER BY at"))
            kept = tx.all(statement("SELECT * FROM receipt"))
    subject, scope = f"person:{here.found.operator.person.id}", here.found.project.scope
    assert rows == [(subject, "create_note", scope), (subject, "touch_note", scope)]
    assert "nowhere else" not in str(kept)


async def test_a_failing_handler_leaves_nothing(tmp_path: Path) -> None:
    """A fault of ours must not keep half of a change or its key."""

    def fails(tx: Tx, caller: Caller, args: notes.WriteNote) -> notes.NoteView:
        notes.create(tx, caller, args)
        raise LookupError("on purpose")

    broken = replace(TABLE["create_note"], handler=fails)
    async with garden(tmp_path / "db", operations=(broken,)) as here:
        woken = here.opened.wakes.event(here.found.project.scope)
        with pytest.raises(LookupError):
            await here.call("create_note", text="one", request_id="r")
        assert [here.rows(table) for table in ("version", "head", "feed WHERE scope LIKE 'project:%'")] == [0, 0, 0]
        assert here.rows("receipt") == 0
        assert not woken.is_set()


@pytest.mark.covers("K11")
async def test_a_change_wakes_its_scope_and_a_refusal_or_no_op_does_not(tmp_path: Path) -> None:
    """Nothing is announced before or without the commit (house style 35)."""
    async with garden(tmp_path / "db") as here:
        scope = here.found.project.scope
        woken = here.opened.wakes.event(scope)
        await here.refused("edit_note", text="one")
        assert not woken.is_set()
        await here.call("create_note", text="one")
        assert woken.is_set()
        again = here.opened.wakes.event(scope)
        await here.call("edit_note", text="one")
        assert not again.is_set()


def _end_credential(here: Garden, member: Member) -> None:
    with instance.transaction(here.found.path) as tx:
        assert credentials.end(tx, credentials.digest(member.secret))


def _unshare(here: Garden, member: Member) -> None:
    with instance.transaction(here.found.path) as tx:
        assert tx.run(UNSHARE, person_id=member.person.id) == 1


def _suspend(here: Garden, member: Member) -> None:
    with instance.transaction(here.found.path) as tx:
        assert tx.run(SUSPEND, person_id=member.person.id, at=tx.at) == 1


@pytest.mark.covers("K05", "K06", "K03")
@pytest.mark.parametrize(
    ("loses", "kind"),
    [(_end_credential, Kind.UNAUTHENTICATED), (_suspend, Kind.UNAUTHENTICATED), (_unshare, Kind.DENIED)],
)
async def test_lost_authority_refuses_the_very_next_call_and_the_replay(tmp_path: Path, loses: Any, kind: Kind) -> None:
    """Authority is read inside the transaction, before the receipt answers."""
    async with garden(tmp_path / "db") as here:
        member = instance.joined(here.found, name="Eve", role=Role.EDITOR)
        await here.call("create_note", proof=member.proof, text="one", request_id="r")
        await here.call("read_note", proof=member.proof)
        loses(here, member)
        calls: tuple[tuple[str, dict[str, Any]], ...] = (
            ("create_note", {"text": "one", "request_id": "r"}),
            ("edit_note", {"text": "two"}),
            ("read_note", {}),
            ("scan_note", {}),
        )
        for name, given in calls:
            assert (await here.refused(name, proof=member.proof, **given)).kind is kind
        assert here.rows("version") == 1


@pytest.mark.covers("K06")
async def test_a_credential_ends_at_its_hour(tmp_path: Path) -> None:
    """Expiry is read live on every call."""
    clock = SetClock()
    async with garden(tmp_path / "db", clock=clock) as here:
        await here.call("create_note", text="one")
        clock.advance(seconds=credentials.LIFETIMES_S[credentials.CredentialKind.SIGN_IN] - 1)
        await here.call("read_note")
        clock.advance(seconds=1)
        assert (await here.refused("read_note")).kind is Kind.UNAUTHENTICATED


@pytest.mark.covers("K06")
@pytest.mark.parametrize(("name", "given"), [("create_note", {"text": "x"}), ("read_note", {}), ("scan_note", {})])
async def test_nobody_learns_which_projects_exist(tmp_path: Path, name: str, given: Mapping[str, Any]) -> None:
    """Without a credential both are 401; without a share both are the same no; only who may see all gets a 404."""
    async with garden(tmp_path / "db") as here:
        stranger = SecretProof(digest=credentials.digest("nobody's"))
        outsider = instance.joined(here.found, name="Eve").proof
        for proof, kind in ((stranger, Kind.UNAUTHENTICATED), (outsider, Kind.DENIED), (AnonymousProof(), Kind.DENIED)):
            there = await here.refused(name, proof=proof, **given)
            missing = await here.refused(name, proof=proof, **{**given, "project": "missing"})
            assert (there.kind, there.code, there.message) == (missing.kind, missing.code, missing.message)
            assert there.kind is kind
        refused = await here.refused(name, **{**given, "project": "missing"})
        assert (refused.kind, refused.code) == (Kind.NOT_FOUND, "project_not_found")


@pytest.mark.covers("K03", "K06")
async def test_a_viewer_reads_and_does_not_write(tmp_path: Path) -> None:
    """Roles (S7)."""
    async with garden(tmp_path / "db") as here:
        viewer = instance.joined(here.found, name="Vi", role=Role.VIEWER).proof
        await here.call("create_note", text="one")
        assert (await here.call("read_note", proof=viewer)).text == "one"
        refused = await here.refused("edit_note", proof=viewer, text="two")
        assert refused.details == {"missing": ["projects:write"]}


async def test_the_same_request_id_of_two_people_is_two_requests(tmp_path: Path) -> None:
    """Nobody gets another's answer."""
    async with garden(tmp_path / "db") as here:
        editor = instance.joined(here.found, name="Ed", role=Role.EDITOR).proof
        await here.call("create_note", text="one", request_id="r")
        refused = await here.refused("create_note", proof=editor, text="one", request_id="r")
        assert refused.code == "note_exists"


@pytest.mark.parametrize(
    ("given", "path", "message"),
    [
        ({}, "text", "this field is required"),
        ({"text": "x", "colour": "crimson"}, "colour", "there is no such field here"),
        ({"text": 7}, "text", "input should be a valid string"),
        ({"text": "x", "request_id": ""}, "request_id", "string should have at least 1 character"),
    ],
)
async def test_wrong_input_is_refused_with_the_place_and_without_the_value(
    tmp_path: Path, given: Mapping[str, Any], path: str, message: str
) -> None:
    """The caller can correct the call (quality, "Bad input")."""
    async with garden(tmp_path / "db") as here:
        refused = await here.refused("create_note", **given)
        assert (refused.kind, refused.code) == (Kind.INVALID, "input_invalid")
        assert [(issue.path, issue.message) for issue in refused.issues] == [(path, message)]
        assert "crimson" not in str(refused)


@pytest.mark.parametrize("text", ["\ud800", 2**70])
async def test_what_json_cannot_carry_is_invalid(tmp_path: Path, text: object) -> None:
    """It could be neither stored nor digested."""
    async with garden(tmp_path / "db") as here:
        assert (await here.refused("create_note", text=text)).kind is Kind.INVALID


async def test_a_door_shows_its_own_operations_only(tmp_path: Path) -> None:
    """A hidden operation looks like one that is not there."""
    async with garden(tmp_path / "db") as here:
        for name, door in (("reveal_note", Door.MCP), ("nothing", Door.REST)):
            with pytest.raises(Refusal) as refused:
                await here.call(name, door=door, text="one")
            assert refused.value.code == "operation_not_found"


async def test_calls_are_counted_by_outcome_and_made_up_names_are_not_kept(tmp_path: Path) -> None:
    """Refusals are counted, not stored (house style 28); strangers must not fill the memory."""
    async with garden(tmp_path / "db") as here:
        await here.call("create_note", text="one")
        await here.refused("create_note", text="one")
        for n in range(20):
            await here.refused(f"made-up-{n}")
        assert here.opened.operations.counts == {
            ("create_note", "ok"): 1,
            ("create_note", "note_exists"): 1,
            ("", "operation_not_found"): 20,
        }


async def test_two_operations_of_one_name_stop_the_start(tmp_path: Path) -> None:
    """The table is the one place that says what the product can do."""
    with pytest.raises(ValueError, match="two operations are named create_note"):
        async with garden(tmp_path / "db", operations=(*notes.OPERATIONS, TABLE["create_note"])):
            raise AssertionError("started")


async def test_a_scan_runs_beside_the_loop_and_a_key_read_on_it(tmp_path: Path) -> None:
    """A hop costs more than a lookup in a file, not more than one at a server; a list costs more than a hop."""
    threads: list[str] = []

    def seen(tx: Tx, caller: Caller, args: notes.ReadNote) -> notes.NoteView:
        threads.append(threading.current_thread().name)
        return notes.read(tx, caller, args)

    table = (*(replace(TABLE[name], handler=seen) for name in ("read_note", "scan_note")), TABLE["create_note"])
    async with garden(tmp_path / "db", operations=table) as here:
        await here.call("create_note", text="one")
        await here.call("read_note")
        await here.call("scan_note")
        on_loop = here.opened.store.near
    assert (threads[0] == threading.current_thread().name) == on_loop
    assert threads[1].startswith("store-reader-")


async def test_what_belongs_to_the_answer_is_written_in_the_same_transaction(tmp_path: Path) -> None:
    """An agent's tool result and the change it reports are both there or neither is."""
    async with garden(tmp_path / "db") as here:
        run, proof = here.opened.operations.run, here.found.operator.proof
        kept: list[object] = []

        def keeps(tx: Tx, answer: notes.NoteView) -> None:
            assert tx.one(statement("SELECT 1 FROM head")) == (1,)
            kept.append(answer)

        def fails(tx: Tx, answer: notes.NoteView) -> None:
            raise LookupError("on purpose")

        raw = {"project": "garden", "note": "n", "text": "one", "request_id": "r"}
        with pytest.raises(LookupError):
            await run(proof, "create_note", raw, door=Door.REST, also=fails)
        assert here.rows("head") == 0
        answer = await run(proof, "create_note", raw, door=Door.REST, also=keeps)
        assert await run(proof, "create_note", raw, door=Door.REST, also=keeps) == answer
        assert kept == [answer, answer]


async def test_what_a_write_gathers_is_read_after_the_permissions_and_not_for_a_replay(tmp_path: Path) -> None:
    """A folder is read for those who may ask only; a repeat is answered although the folder is gone."""
    gathered: list[str] = []

    def gather(tx: Tx, caller: Caller, args: notes.WriteNote) -> str:
        gathered.append(threading.current_thread().name)
        if len(gathered) > 1:
            raise errors.unavailable("folder_gone", "The folder is gone.")
        return "from the folder"

    def create(tx: Tx, caller: Caller, args: notes.WriteNote) -> notes.NoteView:
        return notes.create(tx, caller, args.model_copy(update={"text": tx.gathered}))

    gathering = replace(TABLE["create_note"], gather=gather, handler=create)
    async with garden(tmp_path / "db", operations=(gathering,)) as here:
        outsider = instance.joined(here.found, name="Eve").proof
        assert (await here.refused("create_note", proof=outsider, text="x")).kind is Kind.DENIED
        assert gathered == []
        first = await here.call("create_note", text="x", request_id="r")
        assert first.text == "from the folder"
        assert await here.call("create_note", text="x", request_id="r") == first
        assert len(gathered) == 1
        assert gathered[0].startswith("store-reader-")


async def test_the_server_itself_may_act_under_its_own_name(tmp_path: Path) -> None:
    """Sweeps and recovery go the same way as everybody (S10)."""
    async with garden(tmp_path / "db") as here:
        await here.call("create_note", proof=SystemProof(part="sweeper"), text="one", request_id="r")
        assert here.rows("receipt WHERE subject = 'system:sweeper'") == 1
