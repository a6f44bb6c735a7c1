"""Failed requests: the last ones that a door answered with an error, without what was in them (K18)."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from workstead.kernel import scopes
from workstead.kernel.access import Caller, Permission
from workstead.kernel.operations import AnyOperation, Door, Effect, Input, Operation
from workstead.kernel.transaction import Tx

MOST = 1_000


@dataclass(frozen=True, kw_only=True)
class FailedRequest:
    """One request. path: without its query. request_id: under which the log may have more; empty without one."""

    at: str
    door: str
    method: str
    path: str
    status: int
    milliseconds: int
    request_id: str


@dataclass(frozen=True, kw_only=True)
class FailedRequests:
    """The last ones, newest first. kept: how many are kept at most; 0 when none are."""

    requests: tuple[FailedRequest, ...]
    kept: int


class ListFailedRequests(Input):
    """The requests that failed last."""


class Ring:
    """As many as are kept; the oldest goes for the newest, and all go with the process."""

    def __init__(self, *, kept: int) -> None:
        self.kept = kept
        self._last: deque[FailedRequest] = deque(maxlen=kept)

    def add(self, one: FailedRequest) -> None:
        """Keep one."""
        self._last.append(one)

    def newest(self) -> FailedRequests:
        """What is kept."""
        return FailedRequests(requests=tuple(reversed(self._last)), kept=self.kept)


def operations(newest: Callable[[], FailedRequests]) -> tuple[AnyOperation, ...]:
    """The operation. newest: asked late, when the doors stand."""
    return (
        Operation(
            name="list_failed_requests",
            summary="The requests that were answered with an error last, without what was in them.",
            input=ListFailedRequests,
            output=FailedRequests,
            permissions=frozenset({Permission.INSTANCE_READ}),
            effect=Effect.READ,
            doors=frozenset({Door.CLI, Door.PAGE, Door.REST}),
            handler=partial(_listed, newest),
            lock=_instance,
        ),
    )


def _listed(
    newest: Callable[[], FailedRequests], _tx: Tx, _caller: Caller, _args: ListFailedRequests
) -> FailedRequests:
    return newest()


def _instance(_tx: Tx, _args: Input) -> str:
    return scopes.INSTANCE
