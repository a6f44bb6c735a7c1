"""The command line's `budget` and `usage`: what may be spent, what was, and the limits an owner sets."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Annotated

import typer

from workstead.doors.control_client import Server
from workstead.terminal import Answer, Terminal
from workstead.work.workflow import money

Json = Annotated[bool, typer.Option("--json", help="Print JSON, one value a line.")]
ProjectName = Annotated[
    str | None, typer.Argument(metavar="[PROJECT]", help="A project's short name; default: the one of this folder.")
]
OfCard = Annotated[str | None, typer.Option("--card", help="A card's id; what is below it counts, too.")]
OfAgent = Annotated[str | None, typer.Option("--agent", help="An agent's name.")]
Live = Callable[[], AbstractContextManager[Server]]
Named = Callable[[Server, str | None], str]


def commands(server: Live, named: Named) -> typer.Typer:
    """The commands over a way to reach the live server and to find the project that is meant."""
    made = typer.Typer(
        name="budget",
        help="What a project, a card or an agent may spend on models.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    _add_show(made, server, named)
    _add_set(made, server, named)
    _add_usage(made, server, named)
    return made


def _add_show(made: typer.Typer, server: Live, named: Named) -> None:
    @made.command("show")
    def show(project: ProjectName = None, as_json: Json = False) -> None:  # noqa: FBT002 - typer reads plain parameters
        """Show the project's budget, and those of agents and cards that have limits."""
        with server() as live:
            found = live.all("get_budgets", {"project": named(live, project)}, of="budgets")
        _terminal(as_json=as_json).answer({"budgets": found}, [one["sentence"] for one in found])


def _add_set(made: typer.Typer, server: Live, named: Named) -> None:
    @made.command("set")
    def set_one(
        project: ProjectName = None,
        *,
        card: OfCard = None,
        agent: OfAgent = None,
        tokens: Annotated[int | None, typer.Option(help="Tokens, input and output together.")] = None,
        amount: Annotated[str | None, typer.Option("--money", help="An amount such as 12.50.")] = None,
        minutes: Annotated[int | None, typer.Option(help="Minutes of model calls and the tools they use.")] = None,
        remove: Annotated[bool, typer.Option("--remove", help="Go back to what the configuration says.")] = False,
        as_json: Json = False,
    ) -> None:
        """Set the limits of the project, or of a card or an agent; a limit that is not named is none."""
        given = {"card_id": card, "agent": agent, "tokens": tokens, "money": amount, "minutes": minutes}
        with server() as live:
            done = live.operation("set_budget", {"project": named(live, project), **given, "remove": remove})
        _terminal(as_json=as_json).answer(done, [done["sentence"]])


def _add_usage(made: typer.Typer, server: Live, named: Named) -> None:
    @made.command("usage")
    def usage(
        project: ProjectName = None,
        *,
        by: Annotated[str, typer.Option(help="project, card, agent, model or day.")] = "day",
        since: Annotated[str | None, typer.Option(help="The first day, as 2026-01-31.")] = None,
        card: OfCard = None,
        as_json: Json = False,
    ) -> None:
        """Show what model calls came to."""
        wanted = {"by": by, "since": since, "card_id": card}
        given = {key: value for key, value in wanted.items() if value is not None}
        with server() as live:
            found = live.all("list_usage", {"project": named(live, project), **given}, of="usage")
        lines = [_line(one) for one in found]
        _terminal(as_json=as_json).answer({"usage": found}, lines or ["No model was called yet."])


def _line(one: Answer) -> str:
    tokens = f"{one['input_tokens']:,} in, {one['output_tokens']:,} out"
    unknown = f", {one['unknown_tokens']:,} unknown" if one["unknown_tokens"] else ""
    unpriced = f" ({one['unpriced_tokens']:,} without a price)" if one["unpriced_tokens"] else ""
    cost = money.amount(one["micros"])
    minutes = f"{one['milliseconds'] / 60_000:.1f} min"
    return f"{one['key']}: {one['calls']} calls, {tokens}{unknown}, {cost}{unpriced}, {minutes}"


def _terminal(*, as_json: bool) -> Terminal:
    return Terminal(as_json=as_json, out=sys.stdout, err=sys.stderr)
