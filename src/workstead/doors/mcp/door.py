"""The door built: its endpoint over the methods, with the limits that the operator chose."""

from dataclasses import dataclass, field

from workstead.accounts.uses import Uses
from workstead.clock import Clock
from workstead.doors.limits import FAILURES_PER_MINUTE, Active, Allowance
from workstead.doors.mcp.endpoint import Endpoint
from workstead.doors.mcp.library import Library
from workstead.doors.mcp.methods import Limits, Methods
from workstead.kernel.acts import AnyAct
from workstead.kernel.effects import Effects
from workstead.kernel.operations import Operations
from workstead.kernel.redaction import Redactor


@dataclass(frozen=True, kw_only=True)
class Rates:
    """How much in a minute: calls of one assistant, and of one account; requests, and wrong tokens, of one address."""

    calls: int
    account_calls: int
    requests: int
    failures: int = FAILURES_PER_MINUTE


@dataclass(frozen=True, kw_only=True)
class Behind:
    """What stands behind the door. acts: tools beside the operations. active: counts changes, with other doors."""

    operations: Operations
    effects: Effects
    redactor: Redactor
    uses: Uses
    library: Library
    acts: tuple[AnyAct, ...] = ()
    active: Active = field(default_factory=Active)


def build(behind: Behind, rates: Rates, *, clock: Clock) -> Endpoint:
    """The door as an ASGI application; a Guard has to stand before it."""
    methods = Methods(
        operations=behind.operations,
        effects=behind.effects,
        redactor=behind.redactor,
        uses=behind.uses,
        limits=Limits(
            calls=Allowance(per_minute=rates.calls, clock=clock),
            accounts=Allowance(per_minute=rates.account_calls, clock=clock),
            active=behind.active,
        ),
        library=behind.library,
        acts=behind.acts,
    )
    return Endpoint(
        methods,
        effects=behind.effects,
        clock=clock,
        addresses=Allowance(per_minute=rates.requests, clock=clock),
        failures=Allowance(per_minute=rates.failures, clock=clock),
    )
