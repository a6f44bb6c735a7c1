"""Machines: the doors for programs built, assistants at one address and the API below another."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.types import ASGIApp

from workstead import catalogue, instance, metrics
from workstead.accounts.uses import Uses
from workstead.agents.partials import Partials
from workstead.clock import Clock
from workstead.doors import measures
from workstead.doors.http import Front, Guard, Machines
from workstead.doors.limits import Active
from workstead.doors.mcp import door, endpoint, shelf
from workstead.doors.measures import Lag, Measures, Source
from workstead.doors.rest import endpoint as rest
from workstead.doors.rest import table as rest_table
from workstead.doors.traffic import Traffic
from workstead.doors.watch import ServerFacts
from workstead.kernel.effects import Effects
from workstead.kernel.operations import Operations
from workstead.kernel.redaction import Redactor
from workstead.kernel.store import Store
from workstead.metrics import Family
from workstead.runs import runs
from workstead.runs.folder_acts import Means
from workstead.settings import Settings
from workstead.workspace.launcher import Launcher


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What stands behind the doors."""

    settings: Settings
    clock: Clock
    facts: ServerFacts
    redactor: Redactor
    operations: Operations
    effects: Effects
    launcher: Launcher
    uses: Uses
    store: Store
    partials: Partials
    traffic: Traffic
    lag: Lag = field(default_factory=Lag)


def front(pages: ASGIApp, parts: Parts) -> ASGIApp:
    """Everything that listens: pages, and the doors for machines beside them, counted."""
    return parts.traffic.around(Front(pages, *doors(parts)))


def doors(parts: Parts) -> tuple[Machines, ...]:
    """The doors, each behind its guard; what is under way in the first two is counted together."""
    chosen = parts.settings
    active = Active(per_account=chosen.active_changes_per_account, per_process=chosen.active_changes)
    return (
        Machines(app=_assistants(parts, active), paths=endpoint.PATHS),
        Machines(app=_api(parts, active), prefix=f"{rest_table.PREFIX}/"),
        Machines(app=Guard(Measures(*_sources(parts)), facts=parts.facts, bearer=True), prefix=measures.PREFIX),
    )


def _assistants(parts: Parts, active: Active) -> Guard:
    behind = door.Behind(
        operations=parts.operations,
        effects=parts.effects,
        redactor=parts.redactor,
        uses=parts.uses,
        library=shelf.library(),
        acts=catalogue.acts_table(Means(effects=parts.effects, launcher=parts.launcher)),
        active=active,
    )
    chosen = parts.settings
    rates = door.Rates(
        calls=chosen.assistant_calls_per_minute,
        account_calls=chosen.account_calls_per_minute,
        requests=chosen.address_calls_per_minute,
    )
    return Guard(door.build(behind, rates, clock=parts.clock), facts=parts.facts, bearer=True)


def _api(parts: Parts, active: Active) -> Guard:
    chosen = parts.settings
    limits = rest.limits(
        parts.clock,
        per_address=chosen.address_calls_per_minute,
        per_credential=chosen.assistant_calls_per_minute,
        active=active,
    )
    api = rest.Endpoint(parts.operations, facts=parts.facts, redactor=parts.redactor, limits=limits)
    return Guard(api, facts=parts.facts, bearer=True)


def _sources(parts: Parts) -> tuple[Source, ...]:
    """Whom the address of metrics asks."""

    async def inside() -> Sequence[Family]:
        return (*parts.traffic.families(), *parts.store.families(), *parts.lag.families())

    async def live() -> Sequence[Family]:
        states = Counter((each.state.value,) for each in await parts.effects.read(runs.all_live))
        said = "Runs that live, by their state."
        return (Family(name="workstead_runs", kind="gauge", help=said, samples=metrics.counted(states, ("state",))),)

    database = parts.settings.data_folder / instance.DATABASE
    return (
        inside,
        live,
        measures.operations(lambda: parts.operations.counts),
        measures.gauge("workstead_answers", "Answers of models that are being written.", lambda: parts.partials.count),
        measures.gauge(
            "workstead_database_bytes",
            "Size of the database's file; 0 where the database is a server.",
            lambda: database.stat().st_size if database.exists() else 0,
        ),
    )
