"""The command line: arguments only; what is done, the live server does. Exit codes stand in docs/cli.md."""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import _click as click

from workstead import budget_cli, errors, instance, secrets_cli, settings
from workstead.doors import clients, control_client
from workstead.doors.control_client import Server
from workstead.terminal import Answer, Terminal, counts, run_end

Json = Annotated[bool, typer.Option("--json", help="Print JSON, one value a line.")]
ProjectName = Annotated[
    str | None, typer.Argument(metavar="[PROJECT]", help="A project's short name; default: the one of this folder.")
]
CardName = Annotated[str, typer.Argument(metavar="CARD", help="A card's id, as in card-a-b.")]
InProject = Annotated[str | None, typer.Option("--project", help="A project's short name; default: of this folder.")]


class Exit(IntEnum):
    """How a command ended; documented, so never renumbered."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    NO_SERVER = 3
    RUN_NOT_DONE = 4
    INTERRUPTED = 130


commands = typer.Typer(
    name="workstead",
    help="A self-hosted workplace for AI agents.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

assistants = typer.Typer(help="The assistants that may act for you.", no_args_is_help=True, rich_markup_mode=None)
commands.add_typer(assistants, name="assistants")


@commands.command()
def up(
    folder: Annotated[Path | None, typer.Argument(help="Also print the page of the project in this folder.")] = None,
) -> None:
    """Start the server here and print a sign-in link; end it with Ctrl+C."""
    data = _data_folder()
    try:
        with control_client.connect(data) as server:
            link = server.ask({"sign_in_link": True})
            _terminal(as_json=False).say(f"A server already runs at {server.hello['address']}\nSign in: {link['link']}")
            return
    except errors.Refusal as refusal:
        if refusal.code != "no_server":
            raise
    named = [str(folder.absolute())] if folder is not None else []
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "workstead.app", *named])  # noqa: S606 - our own module


@commands.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def demo(context: typer.Context) -> None:
    """The main job on a copy of an example project; --headless runs to the end and exits 0 only if it was done."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "workstead.demo", *context.args])  # noqa: S606 - our own module


@commands.command()
def bridge() -> None:
    """Connect an assistant's program that runs a local process; WORKSTEAD_URL and WORKSTEAD_TOKEN say where to."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "workstead.bridge"])  # noqa: S606 - our own module


@commands.callback(invoke_without_command=True)
def about(
    version: Annotated[bool, typer.Option("--version", "-V", help="Say which release this is.", is_eager=True)] = False,
) -> None:
    """A self-hosted workplace for AI agents."""
    if version:
        print(instance.VERSION)  # noqa: T201 - the answer itself
        raise typer.Exit


@commands.command()
def init(
    folder: Annotated[Path, typer.Argument(help="The folder that becomes a project.")],
    objective: Annotated[str, typer.Option(help="What is wanted, in Markdown; `@FILE` reads it from a file.")],
    title: Annotated[str | None, typer.Option(help="The title of the project's own card.")] = None,
    name: Annotated[str | None, typer.Option(help="What people call the project; default: the folder's name.")] = None,
    template: Annotated[str, typer.Option(help="What its configuration starts from.")] = "classic",
    verbose: Annotated[bool, typer.Option("--verbose", help="Name every file that was written.")] = False,
    as_json: Json = False,
) -> None:
    """Make a project of a folder and write its configuration into `.workstead/`; existing files stay."""
    terminal = _terminal(as_json=as_json)
    text = Path(objective[1:]).read_text(encoding="utf-8") if objective.startswith("@") else objective
    called = name or folder.absolute().resolve().name
    given = {"folder": str(folder.absolute()), "name": called, "objective": text, "template": template}
    given["title"] = title or called
    with _server() as server:
        made = server.procedure("initialise", given)
        page = f"{server.hello['address']}/projects/{made['slug']}"
    first = f"{made['slug']} was a project already." if made["existed"] else f"{made['slug']} is a project now."
    ask = [] if made["trusted"] else ["Its configuration asks for things you must accept; `workstead run` shows them."]
    paths = made["written"]
    listed = paths if verbose else [path for path in paths if path.endswith(".yaml")]
    more = f" and {len(paths) - len(listed)} more (--verbose names them)" if len(listed) < len(paths) else ""
    wrote = [f"Wrote {', '.join(listed)}{more}."] if paths else []
    terminal.answer(made, [first, *ask, f"Next: workstead run {made['slug']}", f"Page: {page}", *wrote])


@commands.command()
def run(
    project: ProjectName = None,
    trust: Annotated[bool, typer.Option("--trust", help="Accept what the configuration asks for.")] = False,
    follow: Annotated[bool, typer.Option("--follow/--detach", help="Show what happens until the run ends.")] = True,
    as_json: Json = False,
) -> None:
    """Run a project; shows first what its configuration asks for, and asks, unless it is trusted already."""
    terminal = _terminal(as_json=as_json)
    with _server() as server:
        slug = _project(server, project)
        _settle_trust(server, terminal, slug, trust=trust)
        with _server() as watching:
            pages = watching.follow(slug)
            next(pages)
            started = server.operation("start_run", {"project": slug})
            terminal.answer(started, [f"{slug} runs. Page: {server.hello['address']}/projects/{slug}"])
            if follow:
                raise typer.Exit(_follow(server, terminal, slug, pages))


@commands.command()
def status(project: ProjectName = None, as_json: Json = False) -> None:
    """Say whether the server lives, and how its projects stand."""
    terminal = _terminal(as_json=as_json)
    with _server() as server:
        listed = server.operation("list_projects", {})["projects"]
        if project is not None:
            listed = [one for one in listed if project in {one["slug"], one["id"]}] or [_missing(project)]
        rows = [one | {"run": _live_run(server, one["slug"])} for one in listed]
        hello = server.hello
    if as_json:
        terminal.json({"server": hello, "projects": rows})
        return
    isolation = hello["isolation"] or "not tested yet"
    terminal.say(f"The server runs at {hello['address']} (process {hello['pid']}, isolation: {isolation}).")
    for one in rows:
        state = one["run"]["state"] if one["run"] else one["status"]
        terminal.say(f"  {one['slug']}: {state} ({counts(one['counts'])})")
    if not rows:
        terminal.say("  No projects yet; make one with `workstead init FOLDER --objective TEXT`.")


@commands.command()
def pause(project: ProjectName = None, as_json: Json = False) -> None:
    """Pause a project's run: what is being done ends, nothing new begins."""
    _control_run("pause_run", project, "pauses: what is being done ends, nothing new begins", as_json=as_json)


@commands.command()
def resume(project: ProjectName = None, as_json: Json = False) -> None:
    """Go on with a paused run."""
    _control_run("resume_run", project, "goes on", as_json=as_json)


@commands.command()
def stop(project: ProjectName = None, as_json: Json = False) -> None:
    """Stop a project's run and every process in it."""
    _control_run("stop_run", project, "stops, with every process in it", as_json=as_json)


@commands.command()
def cards(project: ProjectName = None, as_json: Json = False) -> None:
    """Show a project's cards as a tree."""
    terminal = _terminal(as_json=as_json)
    with _server() as server:
        found = server.all("get_tree", {"project": _project(server, project), "depth": 12}, of="cards")
    if as_json:
        terminal.json({"cards": found})
    else:
        terminal.tree(found)


@commands.command()
def show(card: CardName, project: InProject = None, as_json: Json = False) -> None:
    """Show one card and the text of its records."""
    terminal = _terminal(as_json=as_json)
    with _server() as server:
        given = {"project": _project(server, project), "card_id": card}
        found = server.operation("get_card", given)
        names = [line["name"] for line in server.all("list_records", given, of="records")]
        texts = {name: server.operation("read_record", {**given, "name": name})["content"] for name in names}
    if as_json:
        terminal.json(found | {"records": texts})
        return
    terminal.facts([(key.replace("_", " "), _shown(value)) for key, value in found.items() if value not in (None, [])])
    for name, text in texts.items():
        terminal.say(f"\n{name}", style="bold")
        terminal.say(text)


@commands.command()
def reopen(card: CardName, project: InProject = None, as_json: Json = False) -> None:
    """Make an ended card changed, so that the next run works on it again; nothing starts."""
    with _server() as server:
        given = {"project": _project(server, project), "card_id": card}
        made = server.operation("reopen_card", given)
    _terminal(as_json=as_json).answer(made, [f"{card} is {made['status']}. Next: workstead run {given['project']}"])


@commands.command()
def history(card: CardName, project: InProject = None, as_json: Json = False) -> None:
    """Show every version of a card, newest first."""
    terminal = _terminal(as_json=as_json)
    with _server() as server:
        given = {"project": _project(server, project), "card_id": card}
        found = server.all("list_card_versions", given, of="versions")
    if as_json:
        terminal.json({"versions": found})
        return
    for one in found:
        terminal.say(f"{one['version']:>4}  {one['at'][:19]}  {one['change']:<10}  {_author(one)}")


@commands.command()
def doctor(as_json: Json = False) -> None:
    """Show what the server found out about this machine."""
    terminal = _terminal(as_json=as_json)
    with _server() as server:
        found = server.ask({"doctor": True})
        hello = server.hello
    if as_json:
        terminal.json({"server": hello, "machine": found})
        return
    terminal.facts(
        [(key.replace("_", " "), _shown(value)) for key, value in {**hello, **found}.items() if key != "operations"]
    )


@commands.command()
def link(as_json: Json = False) -> None:
    """Print a fresh sign-in link: one use, ten minutes."""
    with _server() as server:
        made = server.ask({"sign_in_link": True})
    _terminal(as_json=as_json).answer(made, [made["link"]])


def _live() -> AbstractContextManager[Server]:
    return _server()


def _named(server: Server, project: str | None) -> str:
    return _project(server, project)


commands.add_typer(secrets_cli.commands(_live))
commands.add_typer(budget_cli.commands(_live, _named))


@commands.command()
def connect(
    client: Annotated[str, typer.Argument(help="claude-code, codex, gemini, cursor, vscode, stdio or http.")],
    token: Annotated[
        str, typer.Option(envvar=clients.TOKEN_VARIABLE, help="Its token, to stand in the text.")
    ] = clients.TOKEN_SHOWN,
    as_json: Json = False,
) -> None:
    """Print the set-up that tells an assistant's program where Workstead is."""
    with _server() as server:
        found = {one.client: one for one in clients.setups(server.hello["address"], token=token)}
    if client not in found:
        raise errors.invalid("client_unknown", f"There is no client {client!r}; choose among {', '.join(found)}.")
    one = found[client]
    made = {"client": one.client, "where": one.where, "text": one.text}
    _terminal(as_json=as_json).answer(made, [f"{one.title}, in {one.where}:", one.text])


@assistants.command("create")
def create_assistant(
    name: Annotated[str, typer.Argument(help="What you call it.")],
    allow: Annotated[list[str], typer.Option(help="A permission, as projects:read; may be repeated.")],
    project: Annotated[list[str] | None, typer.Option(help="A project it may reach; may be repeated.")] = None,
    every_project: Annotated[
        bool, typer.Option("--all-projects", help="Every project you see, later ones too.")
    ] = False,
    operation: Annotated[list[str] | None, typer.Option(help="Only these operations; may be repeated.")] = None,
    days: Annotated[int, typer.Option(help="How long its token is good, 90 at most.")] = 30,
    as_json: Json = False,
) -> None:
    """Make an assistant; its token is printed once."""
    reach = "all" if every_project else project or None
    given = {"name": name, "permissions": allow, "projects": reach, "operations": operation or None, "days": days}
    with _server() as server:
        made = server.operation("create_assistant", given)
    _terminal(as_json=as_json).answer(
        made, [made["token"], f"Good until {made['assistant']['expires_at'][:16]}; it is not shown again."]
    )


@assistants.command("list")
def list_assistants(as_json: Json = False) -> None:
    """Show your assistants with their last use and refusals."""
    terminal = _terminal(as_json=as_json)
    with _server() as server:
        found = server.operation("list_assistants", {})["assistants"]
    lines = [
        f"{one['name']}: {'until ' + one['expires_at'][:10] if one['holds'] else 'ended'}, "
        f"{', '.join(one['permissions'])}, {_shown(one['projects'])}; {one['calls']} calls, "
        f"{one['refusals']} refused, last {(one['last_used_at'] or 'never')[:16]}"
        for one in found
    ]
    terminal.answer({"assistants": found}, lines or ["No assistants yet."])


@assistants.command("revoke")
def revoke_assistant(
    name: Annotated[str, typer.Argument(help="Its name or id.")],
    as_json: Json = False,
) -> None:
    """End an assistant's token; its next call fails."""
    with _server() as server:
        ended = server.operation("revoke_assistant", {"assistant": name})
    _terminal(as_json=as_json).answer(ended, [f"{ended['name']} has ended."])


def main() -> None:
    """Run one command and exit as docs/cli.md says."""
    try:
        code = commands(standalone_mode=False)
    except errors.Refusal as refusal:
        _terminal(as_json="--json" in sys.argv).refusal(refusal)
        sys.exit(Exit.NO_SERVER if refusal.code == "no_server" else Exit.REFUSED)
    except click.exceptions.ClickException as wrong:
        wrong.show()
        sys.exit(wrong.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(Exit.INTERRUPTED)
    sys.exit(code if isinstance(code, int) else Exit.DONE)


@contextmanager
def _server() -> Iterator[Server]:
    with control_client.connect(_data_folder()) as server:
        yield server


def _data_folder() -> Path:
    return settings.load(os.environ).data_folder


def _terminal(*, as_json: bool) -> Terminal:
    return Terminal(as_json=as_json, out=sys.stdout, err=sys.stderr)


def _project(server: Server, named: str | None) -> str:
    """The named project, or the one whose folder holds the current one."""
    if named is not None:
        return named
    here = Path.cwd().resolve()
    for one in server.operation("list_projects", {})["projects"]:
        folder = server.operation("get_project", {"project": one["slug"]})["folder"]
        if folder is not None and here.is_relative_to(folder):
            return str(one["slug"])
    raise errors.invalid(
        "project_unnamed", "This folder belongs to no project; name one, as `workstead status` lists them."
    )


def _missing(project: str) -> Any:
    raise errors.not_found("project", project)


def _settle_trust(server: Server, terminal: Terminal, slug: str, *, trust: bool) -> None:
    """Show what is not trusted yet and ask; refuses when nobody can be asked."""
    found = server.operation("get_configuration", {"project": slug})
    if not found["compiles"]:
        issues = [errors.Issue(path=each["path"], message=each["message"]) for each in found["issues"]]
        message = f"The configuration of {slug} has mistakes; correct them in its folder."
        raise errors.invalid("configuration_invalid", message, issues=issues)
    if found["trusted"]:
        return
    terminal.say(f"The configuration of {slug} is new. It asks for:")
    for line in found["needs_trust"] or ["nothing that needs your permission"]:
        terminal.say(f"  {line}")
    if not trust:
        if not sys.stdin.isatty() or terminal.as_json:
            message = f"Nobody has accepted the configuration of {slug}; look at it, then run again with --trust."
            raise errors.denied("configuration_untrusted", message, needs_trust=list(found["needs_trust"]))
        typer.confirm("Accept it?", abort=True)
    server.operation("trust_configuration", {"project": slug, "digest": found["digest"]})


def _follow(server: Server, terminal: Terminal, slug: str, pages: Iterator[tuple[list[dict[str, Any]], int]]) -> int:
    """Show what happens until the run has ended; Ctrl+C stops looking, not the run."""
    said: set[str | None] = {None}
    told: dict[str, str] = {}
    try:
        for rows, _ in pages:
            for row in rows:
                _show_row(server, terminal, slug, row, told=told)
            if not rows or any(row["topic"] == "run" for row in rows):
                run = _newest_run(server, slug)
                if run is not None and run["notice"] not in said:
                    said.add(run["notice"])
                    terminal.say(run["notice"], style="yellow")
                if run is not None and run["ended_at"] is not None:
                    terminal.answer(run, [run_end(run)])
                    return Exit.DONE if run["ending"] == "done" else Exit.RUN_NOT_DONE
    except KeyboardInterrupt:
        terminal.say(f"The run goes on; stop it with `workstead stop {slug}`.")
        return Exit.INTERRUPTED
    return Exit.REFUSED


def _show_row(server: Server, terminal: Terminal, slug: str, row: Answer, *, told: dict[str, str]) -> None:
    """Show what became of a card, once for each status; told: what was last said of each."""
    if terminal.as_json:
        terminal.json(row)
        return
    area, _, rest = str(row["topic"]).partition("/")
    if area != "cards" or row["event"] not in {"work:card:changed", "work:card:created"}:
        return
    try:
        card = server.operation("get_card", {"project": slug, "card_id": rest})
    except errors.Refusal:
        return
    if told.get(rest) != card["status"]:
        told[rest] = card["status"]
        terminal.say(f"{row['at'][11:19]}  {card['title']}: {card['status']}")


def _newest_run(server: Server, slug: str) -> Answer | None:
    runs: list[Answer] = server.operation("list_runs", {"project": slug})["runs"]
    return runs[0] if runs else None


def _live_run(server: Server, slug: str) -> Answer | None:
    if "list_runs" not in server.hello["operations"]:
        return None
    run = _newest_run(server, slug)
    return run if run is not None and run["ended_at"] is None else None


def _control_run(operation: str, project: str | None, asked: str, *, as_json: bool) -> None:
    """asked: said when it was taken on; the state in the answer is still the one before."""
    with _server() as server:
        slug = _project(server, project)
        done = server.operation(operation, {"project": slug})
    _terminal(as_json=as_json).answer(done, [f"{slug} {asked}."])


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(each) for each in value) or "none"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_shown(each)}" for key, each in value.items()) or "none"
    return "unknown" if value is None else str(value)


def _author(version: Answer) -> str:
    author = version.get("author")
    return str(author.get("name")) if isinstance(author, dict) else str(author or "")
