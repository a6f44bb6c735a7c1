"""The example that the demo works on, and the script that practice plays on it."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from examples.workplace import ROOT, Crash, Done, Workplace
from workstead.agents.models import practice_script
from workstead.agents.tools import activate, files, processes, searches
from workstead.kernel import canonical
from workstead.kernel.operations import Input
from workstead.work import card_operations, template

EXAMPLE = Path(__file__).parents[2] / "examples" / "ledger"
SCRIPT = practice_script.compile_script((EXAMPLE / "practice.yaml").read_bytes())
REFUSAL = "Refuse days that cannot be read"
INPUTS: dict[str, type[Input]] = {
    "activate_card": activate.ActivateCard,
    "apply_patch": files.ApplyPatch,
    "create_card": card_operations.CreateCard,
    "edit": files.Edit,
    "glob": searches.GlobArguments,
    "grep": searches.GrepArguments,
    "read": files.Read,
    "run_command": processes.RunCommand,
    "write": files.Write,
}
ORDERED = ["Due dates: plan", "Keep due dates in the ledger: execute", "Add and list by due date: execute"]
ORDERED += ["Due dates: review", "Due dates: plan", f"{REFUSAL}: execute", "Due dates: review"]
ORDERED += ["Due dates: assess-completion"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy to work on."""
    return copied(tmp_path / "ledger")


def copied(target: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, target, ignore=shutil.ignore_patterns("__pycache__")))


def passes(folder: Path, *names: str) -> bool:
    argv = [sys.executable, "-B", "-m", "unittest", "-q", *names]
    return subprocess.run(argv, cwd=folder, capture_output=True, timeout=60, check=False).returncode == 0


def arguments(done: Done) -> dict[str, Any]:
    return cast("dict[str, Any]", canonical.parse(done.call.arguments))


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.covers("X01")
def test_before_the_work_the_acceptance_test_fails_and_the_other_tests_pass(folder: Path) -> None:
    """A demo whose acceptance test passes before would show nothing."""
    assert not passes(folder, "acceptance")
    assert passes(folder)


@pytest.mark.covers("X01")
async def test_the_script_does_the_work(folder: Path) -> None:
    """Two dependent cards, a failed test that is fixed, a review that asks for one revision, assessment, done."""
    workplace = Workplace(SCRIPT, folder)
    await workplace.run()
    assert [card.status for card in workplace.cards.values()] == ["done"] * 4
    assert workplace.nodes == ORDERED
    assert [done.call.arguments for done in workplace.done if done.error] == []
    assert passes(folder, "acceptance")
    assert passes(folder)
    for done in workplace.done:
        if done.call.name in INPUTS:
            given = {"project": "p"} if done.call.name == "create_card" else {}
            INPUTS[done.call.name].model_validate_json(canonical.text(arguments(done) | given))
    assert {done.call.name for done in workplace.done} - INPUTS.keys() == {"list_cards", "emit_result"}
    assert workplace.cards[ROOT].records.keys() == {"status.md", "review.md"}


async def test_commands_fail_exactly_where_the_story_says_so(folder: Path) -> None:
    """The status records speak of failed runs; they must have happened."""
    workplace = Workplace(SCRIPT, folder)
    codes: list[tuple[str, int]] = []
    run = workplace._command

    def noted(command: str) -> int:
        codes.append((command.rsplit(maxsplit=1)[-1], run(command)))
        return codes[-1][1]

    workplace._command = noted  # type: ignore[method-assign]  # the test's own double
    await workplace.run()
    assert [code for _, code in codes] == [1, 0, 1, 0, 0, 1, 0, 0]
    assert [name for name, _ in codes] == ["-q", "-q", "acceptance", "-q", "acceptance", "-q", "-q", "acceptance"]


@pytest.mark.covers("W10")
async def test_the_script_ends_done_from_every_point_it_is_interrupted_at(tmp_path: Path) -> None:
    """No call is skipped or made twice in effect, whatever had happened when everything went away."""
    plain = Workplace(SCRIPT, copied(tmp_path / "plain"), commands=False)
    await plain.run()
    calls = len(plain.done)
    assert calls > 50
    for number in range(1, calls):
        folder = copied(tmp_path / str(number))
        workplace = Workplace(SCRIPT, folder, commands=False)
        workplace.crash_after = number
        with pytest.raises(Crash):
            await workplace.run()
        workplace.crash_after = None
        await workplace.run()
        assert [card.status for card in workplace.cards.values()] == ["done"] * 4, number
        assert texts(folder) == texts(tmp_path / "plain"), number


async def test_a_second_run_on_the_finished_project_changes_nothing(folder: Path) -> None:
    """A person may reopen the root card and press Run again."""
    workplace = Workplace(SCRIPT, folder, commands=False)
    await workplace.run()
    before = texts(folder)
    workplace.cards[ROOT].status = "changed"
    await workplace.run()
    assert workplace.cards[ROOT].status == "done"
    assert texts(folder) == before
    assert len(workplace.cards) == 4


def test_every_call_is_a_tool_that_its_agent_has_in_the_classic_template() -> None:
    """A tool that is not offered would only fail in the demo."""
    config: Any = yaml.safe_load(template.materialise(template.CLASSIC)["workstead.yaml"])
    for scene in SCRIPT.scenes:
        offered = {*config["agents"][scene.agent]["tools"], "emit_result"}
        assert {call.tool for turn in scene.turns for call in turn.calls} <= offered
        assert any(call.unless is None for turn in scene.turns for call in turn.calls)


def test_every_scene_stands_at_a_node_of_its_agent_and_ends_with_one_of_its_outcomes() -> None:
    """What the graph does not know would block the card."""
    config: Any = yaml.safe_load(template.materialise(template.CLASSIC)["workstead.yaml"])
    for scene in SCRIPT.scenes:
        node = config["card_types"]["code" if scene.card else "project"]["workflow"]["nodes"][scene.node]
        assert node["execution"]["agent"] == scene.agent
        last = scene.turns[-1].calls[-1]
        assert last.tool == "emit_result"
        assert last.arguments["outcome"] in node["edges"]
        assert 0 < len(str(last.arguments["summary"])) <= 2000
