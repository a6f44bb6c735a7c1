"""Action nodes: a command's observed end chooses the edge, and its output may be a record."""

from pathlib import Path

import pytest

from runs import checks
from support import workplace
from support.workplace import Line, Lines, Said, activate, call, result, write
from work import folder
from workstead.agents.models.shape import Request
from workstead.kernel.access import Author
from workstead.runs.runs import Ending
from workstead.work import records
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases

MADE = call("create_card", type="task", title="Saw", bootstrap_content="Saw it.")
STUCK: Line = [write("status.md", "S"), result("stuck")]


def measuring(script: str, *, output: bool = True, timeout_s: int = 60) -> str:
    """The small configuration whose task starts with an action."""
    edge = "done: {target: {terminal: DONE, promote: current, export_records: [status.md]}}"
    action = folder.ACTION.replace("script: 'make \"$1\"'", f"script: '{script}'").replace(
        "timeout_s: 60", f"timeout_s: {timeout_s}, grace_s: 1"
    )
    if not output:
        action = action.replace("          output_record: status.md\n", "").replace(", export_records: [status.md]", "")
    pending = "passed: {pending_notifications: {node: do, prompt: {reference: handoff}}, "
    whole = workplace.SOURCE.replace(edge, "go: {target: {node: measure}}") + action.replace("passed: {", pending)
    head, _, task = whole.rpartition("  task:\n")
    return head + "  task:\n" + task.replace("BACKLOG: {node: do}", "BACKLOG: {node: measure}")


async def outcome(tmp_path: Path, source: str, *do: Line) -> tuple[Status, str, str, list[str]]:
    """Run one task; its status, node, outcome and the nodes it visited."""
    lines: Lines = {"steer": [[MADE], activate("Saw"), STUCK], "do": list(do)}
    async with workplace.opened(tmp_path, lines=lines, source=source) as shed:
        ended = await shed.run()
        assert ended.ending is Ending.BLOCKED
        card = shed.card("card-a")
        assert card.result is not None
        visits = (await shed.ask("list_activations", card_id="card-a")).activations[0].visits
        assert checks.check(shed.database) == []
        return card.status, card.result.outcome, card.result.summary, [one.node for one in visits]


@pytest.mark.covers("W07")
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("exit 64", (Status.FAILED, "failed", "The command ended with exit code 64.", ["measure"])),
        ("exit 99", (Status.FAILED, "failed", "The command ended with exit code 99.", ["measure"])),
        ("kill -TERM $$", (Status.FAILED, "signalled", "The command ended by signal 15.", ["measure"])),
        ("exit 75", (Status.BLOCKED, "execution:blocked", "no line for Saw/do", ["measure", "do"])),
        ("exit 1", (Status.BLOCKED, "execution:blocked", "no line for Saw/do", ["measure", "do"])),
        ("exit 0", (Status.DONE, "passed", "The command ended with exit code 0.", ["measure"])),
    ],
)
async def test_the_observed_end_chooses_the_edge(
    tmp_path: Path, script: str, expected: tuple[Status, str, str, list[str]]
) -> None:
    """Spec, action nodes: the first case that holds, otherwise the rest; signals are an outcome of their own."""
    assert await outcome(tmp_path, measuring(script, output=False)) == expected


@pytest.mark.covers("W07")
async def test_a_deadline_is_an_outcome_and_ends_the_command(tmp_path: Path) -> None:
    """Spec, action nodes: timed_out is observed, and nothing of the command is left."""
    found = await outcome(tmp_path, measuring("sleep 3617 & sleep 3617", output=False, timeout_s=1))
    assert found == (Status.FAILED, "timed_out", "The command was ended at its deadline.", ["measure"])
    assert not _alive("3617")


@pytest.mark.covers("W07", "W04")
async def test_the_output_becomes_a_record_by_the_action(tmp_path: Path) -> None:
    """Spec, records: the bound stdout is accepted as new factual output, equal text too; it is exported."""
    lines: Lines = {
        "steer": [[MADE], activate("Saw"), [call("reopen_card", card_id="card-a")], activate("Saw"), STUCK],
        "do": [[write("status.md", "Mine."), result("go")]],
    }
    source = measuring('echo "# $1 $2 $WORKSTEAD_CARD"').replace("get_card]", "get_card, reopen_card]")
    async with workplace.opened(tmp_path, lines=lines, source=source) as shed:
        await shed.run()
        assert shed.accepted("status.md", "card-a") == "# all card-a card-a\n"
        one = shed.record("status.md", "card-a")
        assert one is not None
        found = shed.look(lambda tx: records.history(tx, shed.project_id, "card-a", "status.md"))
        assert [facts.author for facts in found] == [
            Author(kind="action", name="shell.run"),
            Author(kind="agent", name="lead"),
            Author(kind="action", name="shell.run"),
        ]
        card = shed.card("card-a")
        assert card.result is not None
        assert (card.result.executor, [(each.name, each.version) for each in card.result.exports]) == (
            "action:shell.run",
            [("status.md", 3)],
        )


@pytest.mark.covers("W07")
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("true", "measure: The command's output is empty or holds NUL; it cannot be a record."),
        (r'printf "\\377"', "measure: The command's output is not UTF-8; it cannot be a record."),
        (r'printf "a\\000b"', "measure: The command's output is empty or holds NUL; it cannot be a record."),
    ],
)
async def test_output_that_is_no_text_is_no_record(tmp_path: Path, script: str, reason: str) -> None:
    """Spec, records: only text is kept; the card is blocked with the reason, nothing is accepted."""
    status, name, summary, _ = await outcome(tmp_path, measuring(script))
    assert (status, name, summary) == (Status.BLOCKED, "execution:blocked", reason)


@pytest.mark.covers("W07", "W04")
async def test_an_open_draft_is_not_replaced_by_output(tmp_path: Path) -> None:
    """Spec, records: an open draft refuses the action before anything runs."""
    async with workplace.opened(tmp_path, source=measuring("echo ran > ran; echo x")) as shed:

        async def draft(request: Request) -> Said:
            card = shed.card("card-a")
            await shed.change(lambda tx: records.write_draft(tx, card, "status.md", text="Mine."))
            return activate("Saw")(request)

        shed.voice.add("steer", [MADE], draft, STUCK)
        await shed.run()
        card = shed.card("card-a")
        assert card.result is not None
        assert card.result.summary == "measure: status.md has an open draft; the action's output cannot replace it."
        assert not (shed.folder / "ran").exists()


def _alive(marker: str) -> bool:
    return any(marker in _command(each) for each in Path("/proc").iterdir() if each.name.isdigit())


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
