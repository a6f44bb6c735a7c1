"""Run's own gates: what a configuration asks for, and what stands in the tree (S2, S18)."""

from pathlib import Path

import pytest

from runs import test_actions
from support import workplace
from support.workplace import Line, Lines, call, result, write
from work import folder
from workstead import errors
from workstead.accounts import credentials, people
from workstead.accounts.roles import Role
from workstead.accounts.tables import share
from workstead.agents.conversations import RowKind
from workstead.kernel import evidence
from workstead.kernel.access import SecretProof
from workstead.kernel.operations import Door
from workstead.kernel.store import prepared
from workstead.kernel.transaction import Tx
from workstead.runs.runs import Ending, Wanted

pytestmark = pytest.mark.both_databases

COVERS_MODULES = ("runs/activations.py", "runs/runs.py")

STUCK: Line = [write("status.md", "S"), result("stuck")]
OUTSIDE = folder.changed(
    "practice: {kind: practice, models: [practice]}",
    'practice: {kind: openai-chat, models: [practice], base_url: "https://models.example/v1", key: "secret:models"}',
    source=workplace.SOURCE,
)


async def refusal_of(shed: workplace.Workplace, name: str = "start_run", **fields: object) -> errors.Refusal:
    with pytest.raises(errors.Refusal) as refusal:
        await shed.ask(name, **fields)
    return refusal.value


@pytest.mark.covers("K19", "W09")
@pytest.mark.parametrize(
    ("source", "asked"),
    [
        (test_actions.measuring("echo x"), "The step `measure` of `task` cards runs, without network"),
        (OUTSIDE, "sends the project's texts to https://models.example/v1 with the key `secret:models`"),
    ],
)
async def test_a_configuration_runs_only_as_it_was_accepted(tmp_path: Path, source: str, asked: str) -> None:
    """S2: before its digest is trusted, Run says what is new; one changed byte asks again, and a prompt counts too."""
    async with workplace.opened(tmp_path, lines={"steer": [STUCK]}, source=source, serve=False, trusted=False) as shed:
        found = await refusal_of(shed)
        assert (found.kind, found.code) == (errors.Kind.NEEDS_REVIEW, "configuration_untrusted")
        assert asked in str(found.details["needs_trust"])
        await shed.ask("trust_configuration", digest=found.details["digest"])
        for place, old, new in (
            (".workstead/workstead.yaml", b"max_tokens: 4096", b"max_tokens: 4097"),
            (".workstead/prompts/process/_shared/steer.md", b"steer", b"Steer"),
        ):
            path = shed.folder / place
            before = path.read_bytes()
            path.write_bytes(before.replace(old, new, 1))
            again = await refusal_of(shed)
            assert again.code == "configuration_untrusted"
            assert again.details["digest"] != found.details["digest"]
            path.write_bytes(before)
        started = await shed.start()
        assert started.configuration == found.details["digest"]


@pytest.mark.covers("W09")
async def test_a_run_keeps_the_configuration_it_began_with(tmp_path: Path) -> None:
    """S2, S18: compiled once at Run and pinned; a change in the folder counts from the next Run on."""
    async with workplace.opened(tmp_path) as shed:

        def change(_request: object) -> workplace.Said:
            (shed.folder / ".workstead" / "workstead.yaml").write_text("broken: [", encoding="utf-8")
            return [call("create_card", type="task", title="Saw", bootstrap_content="Saw it.")]

        shed.voice.add("steer", change, STUCK)
        assert (await shed.run()).ending is Ending.BLOCKED
        assert shed.results("lead")[0]["success"]
        assert (await refusal_of(shed)).code == "configuration_invalid"


@pytest.mark.covers("W09")
async def test_a_card_whose_type_is_gone_refuses_the_run_and_is_named(tmp_path: Path) -> None:
    """S18: renamed or missing types refuse the Run, naming the first card affected."""
    async with workplace.opened(tmp_path, serve=False) as shed:
        await shed.add_card("Saw")
        source = workplace.SOURCE.replace("\n  task:\n", "\n  job:\n").replace("[task]", "[job]")
        (shed.folder / ".workstead" / "workstead.yaml").write_text(source, encoding="utf-8")
        found = await refusal_of(shed)
        assert found.code == "type_missing"
        assert found.message == "card-a is of the type 'task', which the configuration no longer has."


@pytest.mark.covers("W09")
async def test_a_project_that_is_over_is_reopened_before_it_runs(tmp_path: Path) -> None:
    """Spec, Run: only an entry status starts."""
    async with workplace.opened(tmp_path, lines={"steer": [OSError("no"), STUCK]}) as shed:
        await shed.run()
        assert (await refusal_of(shed)).code == "project_not_startable"
        await shed.ask("reopen_card", card_id="project")
        assert (await shed.run()).ending is Ending.BLOCKED
        listed = (await shed.ask("list_runs")).runs
        assert [one.ending for one in listed] == [Ending.BLOCKED, Ending.FAILED]


@pytest.mark.covers("W09", "W13")
async def test_people_read_what_a_run_did(tmp_path: Path) -> None:
    """Pages read activations, conversations, commands and facts by these operations."""
    lines: Lines = {"steer": [[call("run_command", command="echo hi")], STUCK]}
    async with workplace.opened(tmp_path, lines=lines) as shed:
        assert (await refusal_of(shed, "get_run")).code == "run_not_found"
        run = await shed.run()
        activation = (await shed.ask("list_activations", card_id="project")).activations[0]
        assert (activation.run_id, activation.entry, activation.ending) == (run.id, "BACKLOG", "blocked")
        assert [(one.node, one.executor, one.outcome) for one in activation.visits] == [
            ("steer", "agent:lead", "stuck")
        ]
        conversation = (await shed.ask("list_conversations", card_id="project")).conversations[0]
        page = await shed.ask("read_conversation", card_id="project", agent="lead")
        assert (conversation.agent, conversation.rows, page.next) == ("lead", len(page.rows), None)
        assert page.rows[0].kind == RowKind.ACTIVATION.value
        rest = await shed.ask("read_conversation", card_id="project", agent="lead", after=2)
        assert [row.number for row in rest.rows] == list(range(3, conversation.rows + 1))
        assert (await refusal_of(shed, "read_conversation", card_id="project", agent="nobody")).code == (
            "conversation_not_found"
        )
        process = (await shed.ask("list_processes", card_id="project")).processes[0]
        assert (process.command, process.end.code if process.end else None) == ("echo hi", 0)
        facts = (await shed.ask("list_evidence", lane=evidence.Lane.CONTROL.value)).facts
        assert "runs:run:started" in [fact.event for fact in facts]


@pytest.mark.covers("W09", "K06")
async def test_whoever_may_only_read_presses_nothing(tmp_path: Path) -> None:
    """S7: viewers read runs; a stranger does not even see that there is a project."""
    async with workplace.opened(tmp_path, serve=False) as shed:
        await shed.start()
        viewer = await shed.change(lambda tx: _signed_in(tx, "Vic", shed.project_id))
        stranger = await shed.change(lambda tx: _signed_in(tx, "Eve", None))
        for name in ("start_run", "pause_run", "resume_run", "stop_run", "get_run"):
            codes = []
            for proof in (viewer, stranger):
                try:
                    await shed.app.operations.run(proof, name, {"project": "shed"}, door=Door.REST)
                except errors.Refusal as refusal:
                    codes.append(refusal.kind)
            if name == "get_run":
                assert len(codes) == 1
            else:
                assert codes[0] is errors.Kind.DENIED
                assert len(codes) == 2
        assert shed.newest.wanted is Wanted.RUN


def _signed_in(tx: Tx, name: str, project_id: str | None) -> SecretProof:
    person = people.add(tx, name=name, operator=False)
    if project_id is not None:
        role = Role.VIEWER.value
        tx.run(prepared(share.insert()), project_id=project_id, person_id=person.id, role=role, at=tx.at)
    secret = credentials.issue(tx, kind=credentials.CredentialKind.SIGN_IN, person_id=person.id)
    return SecretProof(digest=credentials.digest(secret))
