"""Machines: the doors for programs built, assistants at one address and the API below another."""

from dataclasses import dataclass

from workstead import catalogue
from workstead.accounts.uses import Uses
from workstead.clock import Clock
from workstead.doors.http import Guard, Machines
from workstead.doors.limits import Active
from workstead.doors.mcp import door, endpoint, shelf
from workstead.doors.rest import endpoint as rest
from workstead.doors.rest import table as rest_table
from workstead.doors.watch import ServerFacts
from workstead.kernel.effects import Effects
from workstead.kernel.operations import Operations
from workstead.kernel.redaction import Redactor
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


def doors(parts: Parts) -> tuple[Machines, ...]:
    """Both doors, each behind its guard; what is under way is counted together."""
    chosen = parts.settings
    active = Active(per_account=chosen.active_changes_per_account, per_process=chosen.active_changes)
    return (
        Machines(app=_assistants(parts, active), paths=endpoint.PATHS),
        Machines(app=_api(parts, active), prefix=f"{rest_table.PREFIX}/"),
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
