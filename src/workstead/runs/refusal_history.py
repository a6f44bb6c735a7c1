"""Refusal history: where a provider's content policy blocked a card of a project, for people to read (W16)."""

from dataclasses import dataclass

from pydantic import Field

from workstead.accounts import projects
from workstead.agents import conversations, refusals
from workstead.kernel.access import Caller, Permission
from workstead.kernel.operations import AnyOperation, Effect, Operation
from workstead.kernel.transaction import Tx
from workstead.work.rules import PEOPLES_DOORS, ProjectRead, lock

_PAGE = 50


class ListRefusals(ProjectRead):
    """Blocked by a content policy, newest first."""

    offset: int = Field(default=0, ge=0, description="How many to pass over.")


@dataclass(frozen=True, kw_only=True)
class RefusalView:
    """One card that was blocked. row: of the marker in the agent's conversation. exchanges: of both refusals."""

    card_id: str
    agent: str
    row: int
    at: str
    activation_id: str
    provider: str
    model: str
    exchanges: tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class RefusalList:
    """Refusals, newest first. next: pass it as offset; None at the end."""

    refusals: tuple[RefusalView, ...]
    next: int | None


def listed(tx: Tx, caller: Caller, args: ListRefusals) -> RefusalList:
    """A page of them."""
    project = projects.visible(tx, caller, args.project)
    found = conversations.refusals(tx, project.id, offset=args.offset, limit=_PAGE + 1)
    views = []
    for one, row in found[:_PAGE]:
        marker = refusals.of_row(row)
        views.append(
            RefusalView(
                card_id=one.card_id,
                agent=one.agent,
                row=marker.row,
                at=marker.at,
                activation_id=marker.activation_id,
                provider=marker.candidate.provider,
                model=marker.candidate.model,
                exchanges=(marker.first, marker.second),
            )
        )
    return RefusalList(refusals=tuple(views), next=args.offset + _PAGE if len(found) > _PAGE else None)


# fmt: off
OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(name="list_refusals", summary="Where a content policy blocked a card.", input=ListRefusals,
              output=RefusalList, permissions=frozenset({Permission.RUNS_READ}), effect=Effect.READ,
              doors=PEOPLES_DOORS, handler=listed, lock=lock),
)
# fmt: on
