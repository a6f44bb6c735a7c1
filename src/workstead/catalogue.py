"""The catalogue: every operation and act there is; each door shows a part of it."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

from workstead.accounts import api_token_operations, assistant_operations, permission_table, secret_operations
from workstead.accounts import operations as accounts
from workstead.accounts.permission_table import Offered
from workstead.accounts.projects import Project
from workstead.agents.models.availability import Availability
from workstead.guides import operations as guides
from workstead.kernel.access import Agent, Caller
from workstead.kernel.acts import AnyAct
from workstead.kernel.operations import AnyOperation, Door
from workstead.kernel.transaction import Tx
from workstead.runs import (
    budget_operations,
    capture_reads,
    command_acts,
    doctor,
    exchange_operations,
    failed_requests,
    file_acts,
    file_reads,
    model_operations,
    runs,
    timeline,
)
from workstead.runs import operations as run_operations
from workstead.runs.failed_requests import FailedRequests
from workstead.runs.folder_acts import Means
from workstead.work import configurations, key_uses
from workstead.work import operations as work
from workstead.work.workflow.graph import Configuration

Failed = Callable[[], FailedRequests]


def _none_failed() -> FailedRequests:
    return FailedRequests(requests=(), kept=0)


def operations_table(
    *,
    data_folder: Path,
    examine: doctor.Examine = doctor.unexamined,
    availability: Availability | None = None,
    failed: Failed = _none_failed,
) -> tuple[AnyOperation, ...]:
    """Every operation there is; what all doors show parts of.

    examine: what is known of the machine's isolation. availability: of models, as this process has seen it. failed: the
    requests that failed last.
    """
    table: tuple[AnyOperation, ...] = (
        *accounts.OPERATIONS,
        *secret_operations.OPERATIONS,
        *api_token_operations.OPERATIONS,
        *assistant_operations.operations(lambda: _offered(table)),
        *work.operations(configuration_of=_configuration_of, data_folder=data_folder, resting=run_operations.resting),
        *run_operations.OPERATIONS,
        *budget_operations.OPERATIONS,
        *exchange_operations.OPERATIONS,
        *model_operations.operations(availability),
        *key_uses.OPERATIONS,
        *capture_reads.OPERATIONS,
        *file_reads.OPERATIONS,
        *timeline.OPERATIONS,
        *guides.OPERATIONS,
        *doctor.operations(examine),
        *failed_requests.operations(failed),
        *permission_table.operations(lambda: (*table, *described())),
    )
    return table


def acts_table(means: Means) -> tuple[AnyAct, ...]:
    """Every act there is: what doors offer beside operations, because it waits on the world."""
    return (*file_acts.acts(means), *command_acts.acts(means))


def described() -> tuple[AnyAct, ...]:
    """Every act as tables print it: what it needs and does. There is nothing to perform one with."""
    return acts_table(cast("Means", None))


def _offered(table: tuple[AnyOperation, ...]) -> frozenset[str]:
    """What an assistant can be given by name."""
    offered: list[Offered] = [*table, *described()]
    return frozenset(each.name for each in offered if Door.MCP in each.doors)


def _configuration_of(tx: Tx, caller: Caller, project: Project) -> Configuration:
    """What a change follows: an agent's run has its configuration pinned, everybody else follows the trusted one."""
    if isinstance(caller, Agent):
        run = runs.read(tx, caller.run_id)
        if run is not None:
            return configurations.load(tx, run.configuration)
    return configurations.load_trusted(tx, project)
