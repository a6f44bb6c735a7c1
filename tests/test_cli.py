"""The command line, end to end: a real server of its own, real commands, exit codes as documented."""

import ast
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rules import tree
from support import server
from support.server import Running
from workstead import instance
from workstead.cli import Exit

COVERS_MODULES = ("budget_cli.py", "secrets_cli.py", "terminal.py")

pytestmark = pytest.mark.covers("K22")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with the project `garden`, made by `init`."""
    base = tmp_path_factory.mktemp("cli")
    (base / "garden").mkdir()
    with server.running(base / "data") as found:
        made = server.cli(found.data, "init", str(base / "garden"), "--objective", "Grow.", "--title", "The garden")
        assert made.returncode == Exit.DONE, made.stderr
        assert "Next: workstead run garden" in made.stdout
        assert re.search(r"Wrote .*\.workstead/workstead\.yaml.* and \d+ more", made.stdout), made.stdout
        yield found


@pytest.mark.covers("K22")
def test_it_says_which_release_it_is_without_a_server(tmp_path: Path) -> None:
    """As every program does."""
    for option in ("--version", "-V"):
        said = server.cli(tmp_path / "data", option)
        assert (said.returncode, said.stdout.strip()) == (Exit.DONE, instance.VERSION)


@pytest.mark.covers("K22", "W11")
def test_a_card_that_cannot_be_reopened_says_why(up: Running) -> None:
    """The command asks the operation; what it says is what the person reads."""
    said = server.cli(up.data, "reopen", "project", "--project", "garden")
    assert said.returncode == Exit.REFUSED
    assert "cannot be reopened" in said.stderr


@pytest.mark.parametrize(
    "command", [["status"], ["doctor"], ["link"], ["run", "garden"], ["cards"], ["stop", "garden"]]
)
def test_every_command_says_that_no_server_lives(tmp_path: Path, command: list[str]) -> None:
    """K22: exact answers when none lives."""
    done = server.cli(tmp_path / "data", *command)
    assert done.returncode == Exit.NO_SERVER
    assert done.stdout == ""
    assert "workstead up" in done.stderr


def test_status_names_the_server_and_its_projects(up: Running) -> None:
    """Readable lines, or one JSON value."""
    shown = server.cli(up.data, "status")
    assert shown.returncode == Exit.DONE
    assert up.origin in shown.stdout
    assert "garden: backlog (1 backlog)" in shown.stdout
    value = json.loads(server.cli(up.data, "status", "--json").stdout)
    assert [one["slug"] for one in value["projects"]] == ["garden"]
    assert value["server"]["pid"] == up.process.pid


def test_the_project_is_the_one_of_the_current_folder(up: Running) -> None:
    """Left out, it is the project whose folder holds the current one."""
    inside = up.data.parent / "garden" / "beds"
    inside.mkdir(exist_ok=True)
    assert "The garden" in server.cli(up.data, "cards", cwd=inside).stdout
    elsewhere = server.cli(up.data, "cards", cwd=up.data.parent)
    assert elsewhere.returncode == Exit.REFUSED
    assert "belongs to no project" in elsewhere.stderr


def test_cards_show_and_history_tell_of_a_card(up: Running) -> None:
    """The tree, one card with its brief, and its versions."""
    with up.control() as control:
        made = control.operation("create_card", new_card("Dig"))
    card = made["card_id"]
    assert re.search(rf"The garden .*\n.*Dig .*{card}", server.cli(up.data, "cards", "garden").stdout)
    assert "Dig it." in server.cli(up.data, "show", card, "--project", "garden").stdout
    assert "create" in server.cli(up.data, "history", card, "--project", "garden").stdout
    value = json.loads(server.cli(up.data, "cards", "garden", "--json").stdout)
    assert card in [one["card_id"] for one in value["cards"]]


def test_doctor_says_which_isolation_was_reached(up: Running) -> None:
    """S1: the level found, never the one asked for."""
    value = json.loads(server.cli(up.data, "doctor", "--json").stdout)
    assert value["machine"]["isolation_floor"] == "namespaces"
    assert value["machine"]["data_folder"] == str(up.data)
    assert "isolation floor" in server.cli(up.data, "doctor").stdout


@pytest.mark.covers("K09")
def test_a_secret_is_set_from_standard_input_listed_without_its_value_and_forgotten(up: Running) -> None:
    """docs/models.md: never an argument, never shown again."""
    value = "sk-of-the-garden-0123456789"
    stored = server.cli(up.data, "secrets", "set", "garden", given=f"{value}\n")
    again = server.cli(up.data, "secrets", "set", "garden", given=value)
    assert (stored.returncode, "is stored" in stored.stdout, "is replaced" in again.stdout) == (Exit.DONE, True, True)
    listed = server.cli(up.data, "secrets", "list")
    assert listed.stdout.startswith("garden  set ")
    assert (up.data / "instance.key").stat().st_mode & 0o777 == 0o600
    files = [path.read_bytes() for path in up.data.rglob("*") if path.is_file()]
    assert not any(value.encode() in content for content in files)
    shown = [json.loads(server.cli(up.data, "secrets", action, "--json").stdout) for action in ("list",)]
    assert [one["name"] for one in shown[0]["stored"]] == ["garden"]
    assert server.cli(up.data, "secrets", "delete", "garden").returncode == Exit.DONE
    assert server.cli(up.data, "secrets", "delete", "garden").returncode == Exit.REFUSED


@pytest.mark.covers("X03")
def test_a_budget_is_set_shown_and_removed_and_usage_is_listed(up: Running) -> None:
    """docs/models.md, "Budgets"."""
    done = server.cli(up.data, "budget", "set", "garden", "--tokens", "5000", "--money", "0.5")
    assert (done.returncode, done.stdout.strip()) == (
        Exit.DONE,
        "0 of 5,000 tokens and 0.00 of 0.50 USD are used by the project.",
    )
    shown = json.loads(server.cli(up.data, "budget", "show", "garden", "--json").stdout)
    assert [(one["kind"], one["limit_micros"]) for one in shown["budgets"]] == [("project", 500_000)]
    assert server.cli(up.data, "budget", "set", "garden", "--money", "much").returncode == Exit.REFUSED
    assert "No model was called yet." in server.cli(up.data, "budget", "usage", "garden", "--by", "agent").stdout
    gone = server.cli(up.data, "budget", "set", "garden", "--remove")
    assert "there is no limit" in gone.stdout


@pytest.mark.parametrize("value", ["", "one\ntwo", "x" * 8193])
def test_what_is_no_secret_is_refused_without_repeating_it(up: Running, value: str) -> None:
    """One line."""
    done = server.cli(up.data, "secrets", "set", "garden", given=value)
    assert (done.returncode, "one line of 1 to 8192" in done.stderr) == (Exit.REFUSED, True)


def test_link_prints_a_link_that_signs_in(up: Running) -> None:
    """A new one whenever it is needed."""
    link = server.cli(up.data, "link").stdout.strip()
    assert up.post("/sign-in", {"link": server.secret_of(link)}).status == 303


def test_a_second_up_prints_where_the_first_one_is(up: Running) -> None:
    """One server for a data folder."""
    done = server.cli(up.data, "up")
    assert done.returncode == Exit.DONE
    assert f"{up.origin}/sign-in?link=" in done.stdout


def test_a_refusal_is_one_sentence_or_a_json_value(up: Running) -> None:
    """Errors say what to do; issues come with their paths."""
    done = server.cli(up.data, "show", "card-zz", "--project", "garden")
    assert done.returncode == Exit.REFUSED
    assert done.stderr == "workstead: There is no card 'card-zz' that you can see.\n"
    value = json.loads(server.cli(up.data, "show", "card-zz", "--project", "garden", "--json").stderr)
    assert value["code"] == "card_not_found"


def test_a_configuration_with_mistakes_is_refused_with_their_places(up: Running) -> None:
    """Issues listed with paths; nothing is started."""
    source = up.data.parent / "garden/.workstead/workstead.yaml"
    before = source.read_bytes()
    source.write_bytes(before + b"\nnonsense: true\n")
    done = server.cli(up.data, "run", "garden")
    source.write_bytes(before)
    assert done.returncode == Exit.REFUSED
    assert re.search(r"workstead\.yaml:\d+", done.stderr)


@pytest.mark.covers("K19")
def test_a_configuration_that_asks_for_something_needs_an_accepting_person(up: Running) -> None:
    """S2: shown first; without anybody to ask, refused and nothing is started."""
    source = up.data.parent / "garden/.workstead/workstead.yaml"
    before = source.read_text(encoding="utf-8")
    source.write_text(before.replace("network: none", "network: full"), encoding="utf-8")
    done = server.cli(up.data, "run", "garden")
    source.write_text(before, encoding="utf-8")
    assert done.returncode == Exit.REFUSED
    assert "--trust" in done.stderr
    assert "network" in done.stdout


@pytest.mark.parametrize("arguments", [["nothing"], ["init"], ["status", "--wrong"], ["show"]])
def test_a_command_that_is_not_understood_exits_with_two(tmp_path: Path, arguments: list[str]) -> None:
    """The usual code."""
    assert server.cli(tmp_path / "data", *arguments).returncode == Exit.USAGE


def test_bad_settings_stop_every_command_without_showing_values(tmp_path: Path) -> None:
    """Messages name the key, never the value."""
    done = server.cli(tmp_path / "data", "status", WORKSTEAD_PORT="s3cret")
    assert done.returncode == Exit.REFUSED
    assert "WORKSTEAD_PORT" in done.stderr
    assert "s3cret" not in done.stderr


def test_exit_codes_are_documented() -> None:
    """House style, line 69."""
    text = (tree.DOCS / "cli.md").read_text(encoding="utf-8")
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert documented == {code.value for code in Exit}


def test_every_command_is_documented() -> None:
    """House style, line 69."""
    source = ast.parse((tree.SOURCE / "cli.py").read_text(encoding="utf-8"))
    named = {
        node.name
        for node in source.body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(decorator) == "commands.command()" for decorator in node.decorator_list)
    }
    text = (tree.DOCS / "cli.md").read_text(encoding="utf-8")
    assert named
    assert not {name for name in named if not re.search(rf"`(?:workstead )?{name}\b", text)}


def test_commands_load_nothing_heavy(tmp_path: Path) -> None:
    """The command line must answer at once."""
    heavy = ("sqlalchemy", "starlette", "pydantic", "uvicorn", "jinja2", "anyio", "structlog")
    script = f"import sys, workstead.cli; print([name for name in {heavy!r} if name in sys.modules])"
    assert server.python(tmp_path / "data", script).stdout.strip() == "[]"


def new_card(title: str) -> dict[str, object]:
    """A card below the project's own."""
    return {"project": "garden", "parent": "project", "type": "code", "title": title, "bootstrap_content": "Dig it."}


@pytest.mark.covers("W10")
def test_a_run_is_followed_to_its_end_and_its_pages_tell_of_it(tmp_path: Path) -> None:
    """The exit code says how the run ended; the conversation of each agent has a page."""
    folder = tmp_path / "ledger"
    shutil.copytree(tree.ROOT / "examples/ledger", folder)
    with server.running(tmp_path / "data") as found:
        server.cli(found.data, "init", str(folder), "--objective", "Due dates.", "--title", "Due dates")
        done = server.cli(found.data, "run", "ledger")
        assert done.returncode == Exit.DONE, done.stdout + done.stderr
        assert "Due dates: done" in done.stdout
        found.sign_in()
        project = found.get("/projects/ledger").text
        card = found.get("/projects/ledger/cards/project").text
        spoken = found.get("/projects/ledger/cards/project/conversations/planner")
        stopped = server.cli(found.data, "stop", "ledger")
    assert 'data-status="done"' in project
    assert "/cards/project/conversations/planner" in card
    assert spoken.status == 200
    assert "create_card" in spoken.text
    assert (stopped.returncode, stopped.stdout) == (Exit.REFUSED, "")


@pytest.mark.covers("W10")
def test_a_run_that_ends_blocked_exits_with_four(tmp_path: Path) -> None:
    """Practice without a script has no turn for anybody: the run ends blocked."""
    folder = tmp_path / "empty"
    folder.mkdir()
    with server.running(tmp_path / "data") as found:
        server.cli(found.data, "init", str(folder), "--objective", "Anything.")
        done = server.cli(found.data, "run", "empty")
    assert done.returncode == Exit.RUN_NOT_DONE, done.stdout + done.stderr


@pytest.mark.covers("D02", "D08")
def test_an_assistant_is_made_listed_and_revoked(up: Running) -> None:
    """Its token is printed once; a set-up is printed with it."""
    made = server.cli(up.data, "assistants", "create", "Claude", "--allow", "projects:read", "--project", "garden")
    assert made.returncode == Exit.DONE, made.stderr
    token = made.stdout.splitlines()[0]
    assert token.startswith("ws_ast_")
    told = server.cli(up.data, "connect", "claude-code", "--token", token)
    assert f'{up.origin}/mcp --header "Authorization: Bearer {token}"' in told.stdout
    listed = server.cli(up.data, "assistants", "list")
    assert "Claude: until" in listed.stdout
    assert token not in listed.stdout
    assert server.cli(up.data, "assistants", "revoke", "Claude").returncode == Exit.DONE
    again = server.cli(up.data, "assistants", "revoke", "Claude")
    assert (again.returncode, "no assistant" in again.stderr) == (Exit.REFUSED, True)


@pytest.mark.covers("D02")
def test_an_assistant_needs_its_projects_named(up: Running) -> None:
    """Nothing is chosen for anybody."""
    refused = server.cli(up.data, "assistants", "create", "None", "--allow", "projects:read")
    assert refused.returncode == Exit.REFUSED
    assert "Name the projects" in refused.stderr
    assert server.cli(up.data, "connect", "nothing").returncode == Exit.REFUSED
