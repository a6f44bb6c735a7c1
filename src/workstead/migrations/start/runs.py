"""The tables of `runs`."""

from alembic import op
from sqlalchemy import Index, PrimaryKeyConstraint, text

from workstead.migrations.start import columns


def upgrade() -> None:
    """Make the tables."""
    _from_run()
    _from_node_result()


def _from_run() -> None:
    op.create_table(
        "run",
        columns.text("id"),
        columns.text("project_id"),
        columns.text("state"),
        columns.text("wanted"),
        columns.text("person_id"),
        columns.text("person"),
        columns.text("configuration"),
        columns.number("fence"),
        columns.text("created_at"),
        columns.optional_text("ended_at"),
        columns.optional_text("ending"),
        columns.optional_text("reason"),
        columns.optional_text("notice"),
        PrimaryKeyConstraint("id"),
        Index(
            "run_live",
            "project_id",
            unique=True,
            sqlite_where=text("ended_at IS NULL"),
            postgresql_where=text("ended_at IS NULL"),
        ),
        Index("run_project", "project_id", "id"),
    )
    op.create_table(
        "activation",
        columns.text("id"),
        columns.text("run_id"),
        columns.text("project_id"),
        columns.text("card_id"),
        columns.optional_text("parent_id"),
        columns.text("entry"),
        columns.optional_text("direction"),
        columns.text("opened_at"),
        columns.optional_text("closed_at"),
        columns.optional_text("ending"),
        PrimaryKeyConstraint("id"),
        Index("activation_card", "project_id", "card_id", "id"),
        Index("activation_run", "run_id", "closed_at"),
    )
    op.create_table(
        "node_visit",
        columns.text("activation_id"),
        columns.number("ordinal"),
        columns.text("node"),
        columns.text("executor"),
        columns.text("entered_at"),
        PrimaryKeyConstraint("activation_id", "ordinal"),
    )


def _from_node_result() -> None:
    op.create_table(
        "node_result",
        columns.text("activation_id"),
        columns.number("ordinal"),
        columns.text("outcome"),
        columns.text("summary"),
        columns.text("at"),
        PrimaryKeyConstraint("activation_id", "ordinal"),
    )
