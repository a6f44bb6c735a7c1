"""Budgets through real runs: a run that stops itself and says so, an owner who raises it, and what was used."""

from dataclasses import replace
from pathlib import Path

import pytest

from support import workplace
from support.workplace import Line, activate, call, result, write
from work import folder
from workstead import errors
from workstead.accounts import credentials, people
from workstead.accounts.roles import Role
from workstead.accounts.tables import share
from workstead.agents.models.shape import Answer, Finish, Request, Usage
from workstead.kernel import evidence
from workstead.kernel.access import SecretProof
from workstead.kernel.operations import Door
from workstead.kernel.store import prepared
from workstead.kernel.transaction import Tx
from workstead.runs.runs import Ending
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases

COVERS_MODULES = ("runs/halting.py", "work/workflow/budgets.py")

_BUDGETS = """
budgets:
  currency: EUR
  project: {tokens: 20000, money: 0.05, minutes: 30}
  agents:
    judge: {money: 0.02}
"""
SOURCE = (
    folder.changed(
        "practice: {kind: practice, models: [practice]}",
        'practice: {kind: openai-chat, models: [practice], base_url: "http://127.0.0.1:9/v1", '
        "prices: {practice: {input: 1.5, output: 2.25}}}",
        source=workplace.SOURCE,
    )
    + _BUDGETS
)


def using(calls: Line, given: int, taken: int) -> Line:
    """A line with what its provider counted."""

    def say(request: Request) -> workplace.Said:
        said = calls(request) if callable(calls) else calls
        assert isinstance(said, list)
        usage = Usage(input_tokens=given, output_tokens=taken)
        numbered = tuple(replace(one, id=f"u{index}") for index, one in enumerate(said))
        return Answer(text="", calls=numbered, finish=Finish.CALLS, usage=usage)

    return say


@pytest.mark.covers("X03")
async def test_a_run_stops_at_its_budget_says_so_and_goes_on_once_it_is_raised(tmp_path: Path) -> None:
    """X03: a run stops cleanly at the limit and says so; raise it, then Run."""
    async with workplace.opened(tmp_path, source=SOURCE) as shed:
        made = call("create_card", type="task", title="Saw", bootstrap_content="Saw it.")
        shed.voice.add("steer", using([made], 2000, 100), using(activate("Saw"), 2000, 100))
        shed.voice.add("do", using([call("read", path="practice.yaml")], 11_000, 700))
        run = await shed.run()
        assert run.ending is Ending.STOPPED
        assert run.reason is not None
        assert run.reason.startswith("The budget of the project is spent: 15,900 of 20,000 tokens are used")
        assert "Raise it on the project's page" in run.reason
        assert shed.statuses() == {"project": Status.STOPPED, "card-a": Status.STOPPED}
        assert len(shed.voice.asked) == 3
        facts = shed.look(lambda tx: evidence.listed(tx, shed.scope, evidence.Lane.EVENTS))
        assert [(one.event, one.detail["what"]) for one in facts] == [("agents:budget:spent", "tokens")]

        raised = await shed.ask("set_budget", tokens=100_000, money="1.00")
        assert (raised.source, raised.limit_seconds, raised.micros) == ("owner", None, 15_000 * 1.5 + 900 * 2.25)
        assert "0.024525 of 1.00 EUR" in raised.sentence
        shed.voice.add("steer", using(activate("Saw"), 1, 1))
        shed.voice.add("do", [write("status.md", "Sawn."), result("done")])
        shed.voice.add("steer", [write("status.md", "S"), result("ready")])
        shed.voice.add("check", [write("review.md", "R"), result("good")])
        run = await shed.run()
        assert run.ending is Ending.DONE


@pytest.mark.covers("X03")
async def test_the_budget_of_a_card_ends_that_card_and_the_rest_goes_on(tmp_path: Path) -> None:
    """X03: per card, with what is below it."""
    async with workplace.opened(tmp_path, source=SOURCE) as shed:
        await shed.ask("set_budget")
        made = call("create_card", type="task", title="Saw", bootstrap_content="Saw it.")

        async def limit(_request: Request) -> workplace.Said:
            await shed.ask("set_budget", card_id="card-a", tokens=10)
            return [call("activate_card", card_id="card-a", instructions="Go.")]

        shed.voice.add("steer", [made], limit, [write("status.md", "S"), result("stuck")])
        run = await shed.run()
        assert run.ending is Ending.BLOCKED
        card = shed.card("card-a")
        assert card.status is Status.BLOCKED
        assert card.result is not None
        assert card.result.summary.startswith("The budget of card-a and what is below it is spent: 0 of 10 tokens")


@pytest.mark.covers("X03", "K10")
async def test_usage_is_summed_by_project_card_agent_model_and_day(tmp_path: Path) -> None:
    """X03: pages and doors show what was used."""
    async with workplace.opened(tmp_path, source=SOURCE) as shed:
        made = call("create_card", type="task", title="Saw", bootstrap_content="Saw it.")
        shed.voice.add("steer", using([made], 1000, 10), using(activate("Saw"), 1000, 10))
        shed.voice.add("do", using([write("status.md", "Sawn."), result("done")], 500, 5))
        shed.voice.add("steer", using([write("status.md", "S"), result("ready")], 1, 1))
        shed.voice.add("check", using([write("review.md", "R"), result("good")], 400, 4))
        run = await shed.run()
        assert run.ending is Ending.DONE
        sums = {}
        for by in ("project", "card", "agent", "model", "day"):
            page = await shed.ask("list_usage", by=by)
            sums[by] = [(one.key, one.calls, one.input_tokens) for one in page.usage]
            assert sum(one.micros for one in page.usage) == 2 * 1523 + 762 + 4 + 609
        below = await shed.ask("list_usage", by="agent", card_id="card-a")
        listed = (await shed.ask("get_budgets")).budgets
    assert sums["project"] == [(sums["project"][0][0], 5, 2901)]
    assert sums["card"] == [("project", 4, 2401), ("card-a", 1, 500)]
    assert sums["agent"] == [("lead", 4, 2501), ("judge", 1, 400)]
    assert sums["model"] == [("practice:practice", 5, 2901)]
    assert len(sums["day"]) == 1
    assert [(one.key, one.input_tokens) for one in below.usage] == [("lead", 500)]
    assert [(one.kind, one.name, one.standing, one.source) for one in listed] == [
        ("project", "", "open", "configuration"),
        ("agent", "judge", "open", "configuration"),
    ]


@pytest.mark.covers("X03", "K19")
async def test_only_an_owner_sets_a_budget_and_a_mistake_is_explained(tmp_path: Path) -> None:
    """S7: budgets are the owner's; an editor runs, and reads what may be spent."""
    add = prepared(share.insert())
    async with workplace.opened(tmp_path, source=SOURCE, serve=False) as shed:
        secrets: dict[Role, str] = {}

        def people_of(tx: Tx) -> None:
            for role in (Role.EDITOR, Role.OWNER):
                one = people.add(tx, name=role.value, operator=False)
                tx.run(add, project_id=shed.project_id, person_id=one.id, role=role.value, at=tx.at)
                secret = credentials.issue(tx, kind=credentials.CredentialKind.SIGN_IN, person_id=one.id)
                secrets[role] = credentials.digest(secret)

        await shed.change(people_of)
        ask = shed.app.operations.run
        fields = {"project": shed.project, "tokens": 10}
        for role, allowed in ((Role.EDITOR, False), (Role.OWNER, True)):
            proof = SecretProof(digest=secrets[role])
            if allowed:
                assert (await ask(proof, "set_budget", fields, door=Door.PAGE)).limit_tokens == 10
            else:
                with pytest.raises(errors.Refusal, match="project:budget"):
                    await ask(proof, "set_budget", fields, door=Door.PAGE)
            assert (await ask(proof, "get_budgets", {"project": shed.project}, door=Door.PAGE)).currency == "EUR"
        for mistake, code in (
            ({"card_id": "card-z"}, "card_not_found"),
            ({"agent": "nobody"}, "agent_not_found"),
            ({"agent": "lead", "card_id": "card-a"}, "budget_target_unclear"),
            ({"money": "1e3"}, "budget_money_malformed"),
        ):
            with pytest.raises(errors.Refusal) as refused:
                await shed.ask("set_budget", **mistake)
            assert refused.value.code == code
        assert (await shed.ask("set_budget", remove=True)).limit_tokens == 20_000


@pytest.mark.covers("X03")
@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("money: 0.05", "money: 0.0000001", "budgets.project.money"),
        ("money: 0.02", "money: lots", "budgets.agents.judge.money"),
        ("judge: {money", "jugde: {money", "budgets.agents"),
        ("currency: EUR", "currency: euro", "budgets.currency"),
        ("input: 1.5, ", "", "providers.practice.prices.practice"),
        ("prices: {practice:", "prices: {other:", "providers.practice.prices"),
    ],
)
def test_a_mistake_in_a_budget_or_a_price_names_its_place(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, path: str
) -> None:
    """Quality, "Bad input"."""
    found = folder.issues_of(folder.changed(old, new, source=SOURCE))
    assert any(path in issue for issue in found), found
