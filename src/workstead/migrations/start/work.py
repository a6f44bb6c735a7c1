"""The tables of `work`."""

from alembic import op
from sqlalchemy import Index, PrimaryKeyConstraint

from workstead.migrations.start import columns


def upgrade() -> None:
    """Make the tables."""
    _from_card()
    _from_comment()


def _from_card() -> None:
    op.create_table(
        "card",
        columns.text("project_id"),
        columns.text("card_id"),
        columns.optional_text("parent_id"),
        columns.number("position"),
        columns.text("type"),
        columns.text("title"),
        columns.text("status"),
        columns.number("priority"),
        columns.text("urgency"),
        columns.text("depends_on"),
        columns.optional_text("status_text"),
        columns.number("revision"),
        columns.text("updated_at"),
        columns.number("deleted"),
        PrimaryKeyConstraint("project_id", "card_id"),
        Index("card_children", "project_id", "parent_id", "position"),
        Index("card_status", "project_id", "status"),
    )
    op.create_table(
        "record",
        columns.text("project_id"),
        columns.text("card_id"),
        columns.text("name"),
        columns.number("accepted"),
        columns.optional_text("baseline"),
        columns.optional_text("draft"),
        columns.optional_number("draft_version"),
        columns.optional_number("draft_target"),
        columns.optional_text("opened_at"),
        PrimaryKeyConstraint("project_id", "card_id", "name"),
    )
    op.create_table(
        "notification",
        columns.text("id"),
        columns.text("project_id"),
        columns.text("card_id"),
        columns.text("content"),
        columns.text("source"),
        columns.text("created_at"),
        columns.optional_text("removed_at"),
        PrimaryKeyConstraint("id"),
        Index("notification_card", "project_id", "card_id", "removed_at"),
    )


def _from_comment() -> None:
    op.create_table(
        "comment",
        columns.text("id"),
        columns.text("project_id"),
        columns.text("card_id"),
        columns.text("at"),
        columns.text("author_kind"),
        columns.text("author_name"),
        columns.text("text"),
        PrimaryKeyConstraint("id"),
        Index("comment_card", "project_id", "card_id", "at"),
    )
    op.create_table(
        "configuration",
        columns.text("digest"),
        columns.text("sources"),
        columns.text("at"),
        PrimaryKeyConstraint("digest"),
    )
    op.create_table(
        "configuration_trust",
        columns.text("project_id"),
        columns.text("digest"),
        columns.text("person"),
        columns.text("at"),
        PrimaryKeyConstraint("project_id", "digest"),
    )
