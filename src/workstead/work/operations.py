"""Every operation of work, built from what the program hands in; one table, in the order it is printed."""

from collections.abc import Callable
from pathlib import Path

from workstead.accounts.projects import Project
from workstead.kernel.access import Caller
from workstead.kernel.operations import AnyOperation
from workstead.kernel.transaction import Tx
from workstead.work import (
    card_history,
    card_operations,
    card_reads,
    comments,
    outline,
    project_operations,
    record_operations,
    record_reads,
    workflow_reads,
)
from workstead.work.rules import Rules
from workstead.work.workflow.graph import Configuration


def always_resting(tx: Tx, project: Project) -> bool:
    """The answer of a program that starts no runs."""
    return True


def operations(
    *,
    configuration_of: Callable[[Tx, Caller, Project], Configuration],
    data_folder: Path,
    resting: Callable[[Tx, Project], bool] = always_resting,
) -> tuple[AnyOperation, ...]:
    """The operations of work.

    configuration_of: what a caller's change follows: for an agent its run's pinned configuration, for everybody else
    `configurations.load_trusted`. resting: whether no run of the project is going, or it is paused.
    """
    setting = Rules(configuration_of=configuration_of, resting=resting, data_folder=data_folder)
    return (
        *project_operations.operations(setting),
        *card_operations.operations(setting),
        *record_operations.operations(setting),
        *card_reads.operations(setting),
        *card_history.OPERATIONS,
        *comments.OPERATIONS,
        *outline.OPERATIONS,
        *record_reads.OPERATIONS,
        *workflow_reads.operations(setting),
    )
