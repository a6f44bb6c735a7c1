"""The first schema: every package's tables.

Until the first release this revision grows with them; from then on a change is a new revision.
"""

from workstead.migrations.start import accounts, agents, jobs, kernel, runs, work

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table."""
    for package in (kernel, accounts, work, agents, jobs, runs):
        package.upgrade()
