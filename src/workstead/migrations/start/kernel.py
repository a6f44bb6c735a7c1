"""The tables of `kernel`."""

from alembic import op
from sqlalchemy import Index, PrimaryKeyConstraint, text

from workstead.migrations.start import columns


def upgrade() -> None:
    """Make the tables."""
    _from_scope()
    _from_feed()


def _from_scope() -> None:
    op.create_table(
        "scope",
        columns.text("id"),
        columns.number("seq"),
        PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "receipt",
        columns.text("subject"),
        columns.text("operation"),
        columns.text("request_id"),
        columns.text("digest"),
        columns.optional_text("scope"),
        columns.text("change_id"),
        columns.text("at"),
        columns.optional_text("answer"),
        columns.optional_text("answer_id"),
        columns.optional_number("answer_revision"),
        PrimaryKeyConstraint("subject", "operation", "request_id"),
        Index("receipt_at", "at"),
    )
    op.create_table(
        "version",
        columns.text("document"),
        columns.number("number"),
        columns.number("revision"),
        columns.text("at"),
        columns.text("author"),
        columns.text("change"),
        columns.text("changed"),
        columns.text("change_id"),
        columns.optional_number("previous"),
        columns.text("sha256"),
        columns.text("body"),
        PrimaryKeyConstraint("document", "number"),
    )
    op.create_table(
        "head",
        columns.text("document"),
        columns.text("scope"),
        columns.text("head_id"),
        columns.number("revision"),
        columns.optional_number("version"),
        columns.text("at"),
        PrimaryKeyConstraint("document"),
    )


def _from_feed() -> None:
    op.create_table(
        "feed",
        columns.text("scope"),
        columns.number("seq"),
        columns.text("at"),
        columns.text("event"),
        columns.text("topic"),
        columns.optional_number("revision"),
        columns.text("change_id"),
        PrimaryKeyConstraint("scope", "seq"),
    )
    op.create_table(
        "evidence",
        columns.text("id"),
        columns.text("scope"),
        columns.text("lane"),
        columns.text("at"),
        columns.text("event"),
        columns.text("actor"),
        columns.text("subject"),
        columns.text("detail"),
        PrimaryKeyConstraint("id"),
        Index("evidence_lane", "scope", "lane", "id"),
    )
    op.create_table(
        "effect",
        columns.text("id"),
        columns.text("scope"),
        columns.text("kind"),
        columns.text("subject"),
        columns.text("boot_id"),
        columns.text("digest"),
        columns.text("claimed_at"),
        columns.text("deadline_at"),
        columns.number("open"),
        PrimaryKeyConstraint("id"),
        Index("effect_open", "scope", "id", sqlite_where=text("open = 1"), postgresql_where=text("open = 1")),
        Index("effect_scope", "scope", "id"),
    )
    op.create_table(
        "effect_end",
        columns.text("effect_id"),
        columns.text("outcome"),
        columns.text("at"),
        columns.text("boot_id"),
        PrimaryKeyConstraint("effect_id"),
    )
