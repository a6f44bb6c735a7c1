"""The tables of `jobs`."""

from alembic import op
from sqlalchemy import PrimaryKeyConstraint

from workstead.migrations.start import columns


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "lease",
        columns.text("name"),
        columns.text("owner"),
        columns.number("fence"),
        columns.text("until"),
        PrimaryKeyConstraint("name"),
    )
