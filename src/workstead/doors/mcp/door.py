"""The door built: its endpoint over the methods, with the limits that the operator chose."""

from dataclasses import dataclass

from workstead.accounts.uses import Uses
from workstead.clock import Clock
from workstead.doors.limits import FAILURES_PER_MINUTE, Allowance
from workstead.doors.mcp.endpoint import Endpoint
from workstead.doors.mcp.library import Library
from workstead.doors.mcp.methods import Methods
from workstead.kernel.acts import AnyAct
from workstead.kernel.effects import Effects
from workstead.kernel.operations import Operations
from workstead.kernel.redaction import Redactor


@dataclass(frozen=True, kw_only=True)
class Rates:
    """How much in a minute: calls of one assistant; requests, and wrong tokens, of one address."""

    calls: int
    requests: int
    failures: int = FAILURES_PER_MINUTE


@dataclass(frozen=True, kw_only=True)
class Behind:
    """What stands behind the door. acts: offered as tools beside the operations."""

    operations: Operations
    effects: Effects
    redactor: Redactor
    uses: Uses
    library: Library
    acts: tuple[AnyAct, ...] = ()


def build(behind: Behind, rates: Rates, *, clock: Clock) -> Endpoint:
    """The door as an ASGI application; a Guard has to stand before it."""
    methods = Methods(
        operations=behind.operations,
        effects=behind.effects,
        redactor=behind.redactor,
        uses=behind.uses,
        calls=Allowance(per_minute=rates.calls, clock=clock),
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
