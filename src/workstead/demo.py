"""The demo: the main job on a copy of an example project, by the product itself, without a key or with a real model.

`python -m workstead.demo [--headless] [--folder DIR] [--model PROVIDER:MODEL]`. Headless it runs to the end and exits 0
only if the work was really done: the example's acceptance test failed before, the run ended done and the test passes
after.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from workstead import app, demo_models, errors, logs, opening, settings
from workstead.accounts import people
from workstead.demo_models import Chosen
from workstead.kernel import feed
from workstead.kernel.access import ControlProof
from workstead.kernel.operations import Door
from workstead.kernel.redaction import Redactor
from workstead.kernel.transaction import Tx
from workstead.work import template
from workstead.work.configuration import FILE
from workstead.work.pages import Slice
from workstead.work.workflow import money
from workstead.workspace import folders
from workstead.workspace.files import Folder
from workstead.workspace.spec import Command

EXAMPLE = "ledger"
EXAMPLES = (EXAMPLE, "bakery")
WATCHABLE_PACE_MS = 1200

_NOT_DONE, _REFUSED = 4, 1
_ACCEPTANCE = ("python3", "-m", "unittest", "-q", "acceptance")
_PROOF = ControlProof(uid=os.geteuid())


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """What the summary compares: the acceptance test and every file's digest."""

    passes: bool
    last_line: str
    files: Mapping[str, str]


def main() -> None:
    """Run the demo and exit as its docstring says."""
    os.umask(0o077)
    chosen = _arguments()
    with tempfile.TemporaryDirectory(prefix="workstead-demo-data-") as data:
        try:
            code = anyio.run(_demo, chosen, Path(data), backend_options={"use_uvloop": True})
        except errors.Refusal as refusal:
            _say(f"workstead: {refusal.message}")
            code = _REFUSED
    sys.exit(code)


def really_done(*, before: _Seen, after: _Seen, ending: str | None) -> bool:
    """Whether the acceptance test failed before, the run ended done and the test passes after."""
    return not before.passes and after.passes and ending == "done"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="workstead demo", description="The main job on a copy of an example.")
    parser.add_argument("--headless", action="store_true", help="run to the end and exit; 0 only if the work was done")
    parser.add_argument("--example", choices=EXAMPLES, default=EXAMPLE, help="which example; ledger unless said")
    parser.add_argument("--folder", type=Path, help="where the copy goes; a new temporary folder if absent")
    real = parser.add_argument_group("with a real model, whose key an environment variable holds")
    real.add_argument("--model", metavar="PROVIDER:MODEL", help="anthropic:..., openai:... or openai-chat:...")
    real.add_argument("--base-url", metavar="URL", help="a server of your own that speaks the provider's protocol")
    real.add_argument("--tokens", type=int, default=demo_models.DEFAULT_TOKENS, help="the most it may use")
    real.add_argument("--minutes", type=int, default=demo_models.DEFAULT_MINUTES, help="how long it may work")
    real.add_argument("--money", metavar="AMOUNT", help="the most it may cost; needs --price")
    real.add_argument("--price", metavar="INPUT/OUTPUT", help="what a million tokens cost, as 3/15")
    return parser.parse_args()


def _model(chosen: argparse.Namespace) -> Chosen | None:
    if chosen.model is None:
        return None
    return demo_models.choose(
        chosen.model,
        base_url=chosen.base_url,
        tokens=chosen.tokens,
        minutes=chosen.minutes,
        amount=chosen.money,
        price=chosen.price,
    )


async def _demo(chosen: argparse.Namespace, data: Path) -> int:
    headless: bool = chosen.headless
    model = _model(chosen)
    base = settings.load({**os.environ, "WORKSTEAD_PORT": "0"}, data_folder=data)
    pace_ms = 0 if headless else max(base.practice_pace_ms, WATCHABLE_PACE_MS)
    variables = base.key_variables | ({model.key} if model is not None and model.key is not None else set())
    used = replace(base, practice_pace_ms=pace_ms, log_level="warning", key_variables=variables)
    redactor = Redactor()
    logs.configure(level=used.log_level, style=used.log_format, redactor=redactor)
    folder = _copy(_example(chosen.example), chosen.folder, model=model)
    built = app.build(used, redactor=redactor)
    if built.store.read_here(lambda connection: people.operator(Tx(connection, clock=built.clock))) is not None:
        built.close()
        message = "The database of the database_url setting holds work already; the demo needs an empty one."
        raise errors.conflict("demo_database_used", message)
    stop, started, codes = anyio.Event(), anyio.Event(), [_REFUSED]

    async def serving() -> None:
        started.set()

    async def work() -> None:
        await started.wait()
        try:
            codes[0] = await _work(built, folder, example=chosen.example, headless=headless, model=model)
            if not headless:
                _say("\nThe server stays up so that you can look around; end it with Ctrl+C.")
                await anyio.sleep_forever()
        finally:
            stop.set()

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        group.start_soon(app.signals, stop)
        await app.serve(built, stop=stop, started=serving)
        group.cancel_scope.cancel()
    return codes[0]


async def _work(built: app.App, folder: Path, *, example: str, headless: bool, model: Chosen | None) -> int:
    """From the objective to the summary; returns the exit code."""
    began = time.monotonic()
    folders.prepare(folder)
    before = await _look(built, folder)
    _say(f"Example: {example}, copied to {folder}")
    _say(f"Its acceptance test before: {_verdict(before)}")
    run = partial(built.operations.run, _PROOF, door=Door.CLI)
    objective = (_example(example) / "OBJECTIVE.md").read_text()
    title = objective.splitlines()[0].removeprefix("# ").strip()
    made = await run(
        "create_project",
        {"folder": str(folder), "name": example.capitalize(), "title": title, "objective": objective},
    )
    link = await built.control.sign_in_link(_PROOF)
    _say(f"Project: {built.facts.address}/projects/{made.slug}")
    if not headless:
        _say(f"Sign in and watch: {link['link']}")
        opening.show(str(link["link"]))
    _say(f"Isolation of commands: {(await built.launcher.probe(folder)).level.value}\n")
    if model is not None:
        await _accept(built, made.id, model)
    await run("start_run", {"project": made.id})
    end = await _follow(built, made.id)
    after = await _look(built, folder)
    await _summary(built, made.id, before=before, after=after)
    _say(f"\n{end.reason}")
    if model is not None:
        await _cost(built, made.id)
    took_s = time.monotonic() - began
    _say(f"Acceptance test: {_verdict(before)} before, {_verdict(after)} after. {took_s:.1f} s, {_memory_mb():.0f} MB.")
    return 0 if really_done(before=before, after=after, ending=end.ending) else _NOT_DONE


async def _accept(built: app.App, project: str, model: Chosen) -> None:
    """Show where texts go and what may be spent, and accept it for the person who named the model."""
    run = partial(built.operations.run, _PROOF, door=Door.CLI)
    for line in model.lines():
        _say(line)
    found = await run("get_configuration", {"project": project})
    if not found.compiles:
        raise errors.invalid("demo_model_refused", f"The model cannot be used: {found.issues[0].message}")
    for line in found.needs_trust:
        _say(line)
    _say("")
    await run("trust_configuration", {"project": project, "digest": found.digest})


async def _cost(built: app.App, project: str) -> None:
    run = partial(built.operations.run, _PROOF, door=Door.CLI)
    used = await run("list_usage", {"project": project, "by": "model"})
    _say("\nModels")
    for one in used.usage:
        cost = f"{money.amount(one.micros)} {used.currency}" if not one.unpriced_tokens else "cost not known"
        _say(f"  {one.key}: {one.calls} calls, {one.input_tokens:,} tokens in, {one.output_tokens:,} out, {cost}")
    budget = (await run("get_budgets", {"project": project})).budgets[0]
    _say(f"  {budget.sentence}")


async def _follow(built: app.App, project: str) -> Any:
    """Print what happens until the run has ended; returns the run."""
    run = partial(built.operations.run, _PROOF, door=Door.CLI)
    shown: dict[str, str] = {}
    async for page in built.watch.project(_PROOF, project, after=0):
        for row in page.rows:
            area, _, card_id = row.topic.partition("/")
            if area == "cards" and row.event in {feed.Event.CARD_CHANGED, feed.Event.CARD_CREATED}:
                card = await run("get_card", {"project": project, "card_id": card_id, "section": "summary"})
                now = f"{card.title}: {card.status}"
                if shown.get(card_id) != now:
                    shown[card_id] = now
                    _say(f"{row.at[11:19]}  {now}")
        newest = await run("get_run", {"project": project})
        if newest.ended_at is not None:
            return newest
    raise AssertionError("the stream ended before the run")


async def _summary(built: app.App, project: str, *, before: _Seen, after: _Seen) -> None:
    """Cards with what their steps came to, commands with how they ended, files that changed."""
    run = partial(built.operations.run, _PROOF, door=Door.CLI)
    listed = await _all(run, "list_cards", {"project": project}, of="cards")
    _say("\nCards")
    commands: list[str] = []
    for card in listed:
        _say(f"  {card.title}: {card.status}")
        of = {"project": project, "card_id": card.card_id}
        for activation in await _all(run, "list_activations", of, of="activations"):
            for visit in activation.visits:
                _say(f"    {visit.node} by {visit.executor}: {visit.outcome} - {visit.summary}")
        for process in await _all(run, "list_processes", of, of="processes"):
            ended = process.end.code if process.end is not None and process.end.code is not None else "?"
            commands.append(f"  {' '.join(process.command.split())[:90]} -> exit {ended}")
    _say("\nCommands")
    for line in commands:
        _say(line)
    _say("\nChanged files")
    for path in sorted(before.files.keys() | after.files.keys()):
        if before.files.get(path) != after.files.get(path):
            _say(f"  {'new' if path not in before.files else 'changed' if path in after.files else 'gone'}  {path}")


async def _all(
    run: Callable[[str, Mapping[str, object]], Awaitable[Any]], name: str, given: Mapping[str, object], *, of: str
) -> list[Any]:
    """Every item of a paged read that is not itself larger than a page."""
    items: list[Any] = []
    position: str | None = None
    while True:
        page = await run(name, {**given, "position": position})
        items += [item for item in getattr(page, of) if not isinstance(item, Slice)]
        position = page.next
        if position is None:
            return items


async def _look(built: app.App, folder: Path) -> _Seen:
    """The acceptance test, contained like any command, and the files as they are."""
    finished = await built.launcher.run(Command(folder=folder, argv=_ACCEPTANCE), timeout_s=60)
    said = (finished.stderr or finished.stdout).decode("utf-8", "replace").strip().splitlines()
    with Folder(folder) as opened:
        digests = {entry.path: opened.digest(entry.path) for entry in opened.walk() if entry.kind == "file"}
    return _Seen(
        passes=finished.ending.kind == "exited" and finished.ending.code == 0,
        last_line=said[-1] if said else "",
        files={path: digest for path, digest in digests.items() if not path.startswith(".workstead/")},
    )


def _copy(source: Path, wanted: Path | None, *, model: Chosen | None) -> Path:
    folder = wanted.absolute() if wanted is not None else Path(tempfile.mkdtemp(prefix="workstead-demo-")) / source.name
    if folder.exists():
        raise errors.conflict("demo_folder_exists", f"{folder} is there already; name a folder that is not.")
    # A real model is not shown the script that solves the example.
    left_out = ("__pycache__",) if model is None else ("__pycache__", "practice.yaml")
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns(*left_out))
    if model is not None:
        own = folder / ".workstead"
        for path, content in template.materialise().items():
            (own / path).parent.mkdir(parents=True, exist_ok=True)
            (own / path).write_bytes(demo_models.configured(content, model) if path == FILE else content)
    return folder


def _example(name: str = EXAMPLE) -> Path:
    """An example, in an installed package or in the repository."""
    here = Path(template.__file__).parent.parent
    for root in (here / "examples", here.parent.parent / "examples"):
        if (root / name).is_dir():
            return root / name
    raise errors.unavailable("example_missing", f"The example {name!r} is not installed here.")


def _verdict(seen: _Seen) -> str:
    return "passes" if seen.passes else f"fails ({seen.last_line})"


def _memory_mb() -> float:
    status = Path("/proc/self/status").read_text()
    line = next(one for one in status.splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the demo talks to whoever watches it


if __name__ == "__main__":
    main()
