"""The effective configuration of a project: what people are shown is what its runs follow."""

from workstead.accounts.projects import Project
from workstead.kernel.transaction import Tx
from workstead.runs import runs
from workstead.work import configurations
from workstead.work.workflow.graph import Configuration


def configuration(tx: Tx, project: Project) -> Configuration | None:
    """What runs or ran last; before the first run what was accepted; None before that."""
    newest = next(iter(runs.newest(tx, project.id, limit=1)), None)
    digest = newest.configuration if newest is not None else configurations.newest_trusted(tx, project.id)
    return configurations.load(tx, digest) if digest is not None else None
