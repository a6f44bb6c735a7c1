"""Acts: what a door offers beside operations because it waits on the world; each is one effect, claimed and settled."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from pydantic import TypeAdapter

from workstead.kernel import operations
from workstead.kernel.access import Permission, Proof
from workstead.kernel.media import Shown
from workstead.kernel.operations import Door, Effect, Input

I = TypeVar("I", bound=Input)  # noqa: E741 - input
I_co = TypeVar("I_co", bound=Input, covariant=True)
O = TypeVar("O")  # noqa: E741 - output


class Report(Protocol):
    """Tells whoever waits how far it is; may be told to nobody, and never fails."""

    async def __call__(self, *, done: float, total: float | None = None, message: str = "") -> None:
        """Done and total: in any unit, growing."""


@dataclass(frozen=True, kw_only=True)
class Asked(Generic[I_co]):
    """One call of an act. digest: of the input without its request id."""

    proof: Proof
    args: I_co
    digest: str
    request_id: str | None
    report: Report


@dataclass(frozen=True, kw_only=True)
class Act(Generic[I, O]):
    """One act. Its fields are those of an operation; its claim reads the caller's authority itself.

    perform: raises what the claim refuses; then nothing was done. shows: what stands beside the answer's data.
    """

    name: str
    summary: str
    input: type[I]
    output: type[O]
    permissions: frozenset[Permission]
    effect: Effect
    doors: frozenset[Door]
    perform: Callable[[Asked[I]], Awaitable[O]]
    shows: Callable[[O], tuple[Shown, ...]] | None = None
    adapter: TypeAdapter[O] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "adapter", TypeAdapter(self.output))


AnyAct = Act[Any, Any]


async def run(act: AnyAct, proof: Proof, raw: Mapping[str, object], *, report: Report) -> Any:
    """Check the input and perform; raises `invalid` with paths, and what the act refuses."""
    args, digest = operations.checked(act.input, raw), operations.input_digest(raw)
    request_id = getattr(args, "request_id", None)
    return await act.perform(Asked(proof=proof, args=args, digest=digest, request_id=request_id, report=report))


async def unheard(*, done: float, total: float | None = None, message: str = "") -> None:
    """A report that nobody listens to."""
