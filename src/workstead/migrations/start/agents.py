"""The tables of `agents`."""

from alembic import op
from sqlalchemy import Index, PrimaryKeyConstraint, text

from workstead.migrations.start import columns


def upgrade() -> None:
    """Make the tables."""
    _from_conversation()
    _from_exchange()
    _from_budget_use()
    _from_process()


def _from_conversation() -> None:
    op.create_table(
        "conversation",
        columns.text("id"),
        columns.text("project_id"),
        columns.text("card_id"),
        columns.text("agent"),
        columns.text("started_at"),
        columns.number("segment"),
        columns.number("genesis_row"),
        columns.number("rows"),
        columns.number("answer_row"),
        PrimaryKeyConstraint("id"),
        Index("conversation_card", "project_id", "card_id"),
    )
    op.create_table(
        "conversation_row",
        columns.text("conversation_id"),
        columns.number("number"),
        columns.number("segment"),
        columns.text("kind"),
        columns.text("role"),
        columns.text("at"),
        columns.text("activation_id"),
        columns.optional_text("input_id"),
        columns.optional_text("call_id"),
        columns.optional_text("tool"),
        columns.text("content"),
        PrimaryKeyConstraint("conversation_id", "number"),
        Index(
            "conversation_refusal",
            "conversation_id",
            sqlite_where=text("kind = 'refusal'"),
            postgresql_where=text("kind = 'refusal'"),
        ),
    )


def _from_exchange() -> None:
    op.create_table(
        "exchange",
        columns.text("id"),
        columns.text("project_id"),
        columns.text("conversation_id"),
        columns.text("activation_id"),
        columns.text("effect_id"),
        columns.text("purpose"),
        columns.number("segment"),
        columns.number("first_row"),
        columns.number("last_row"),
        columns.text("provider"),
        columns.text("model"),
        columns.text("prefix_digest"),
        columns.text("tools_digest"),
        columns.number("request_bytes"),
        columns.text("at"),
        columns.number("open"),
        PrimaryKeyConstraint("id"),
        Index("exchange_project", "project_id", "id"),
        Index("exchange_conversation", "conversation_id", "id"),
        Index("exchange_open", "project_id", sqlite_where=text("open = 1"), postgresql_where=text("open = 1")),
    )
    op.create_table(
        "exchange_end",
        columns.text("exchange_id"),
        columns.text("ended"),
        columns.optional_text("finish"),
        columns.optional_text("failure"),
        columns.optional_number("input_tokens"),
        columns.optional_number("output_tokens"),
        columns.optional_number("cached_tokens"),
        columns.optional_text("provider"),
        columns.optional_text("model"),
        columns.optional_text("sent_digest"),
        columns.optional_number("sent_bytes"),
        columns.optional_number("attempts"),
        columns.text("at"),
        PrimaryKeyConstraint("exchange_id"),
    )
    op.create_table(
        "budget",
        columns.text("project_id"),
        columns.text("kind"),
        columns.text("name"),
        columns.optional_number("tokens"),
        columns.optional_number("micros"),
        columns.optional_number("seconds"),
        columns.text("person"),
        columns.text("at"),
        PrimaryKeyConstraint("project_id", "kind", "name"),
    )


def _from_budget_use() -> None:
    op.create_table(
        "budget_use",
        columns.text("project_id"),
        columns.text("kind"),
        columns.text("name"),
        columns.number("calls"),
        columns.number("unknown_calls"),
        columns.number("tokens"),
        columns.number("unpriced_tokens"),
        columns.number("micros"),
        columns.number("milliseconds"),
        PrimaryKeyConstraint("project_id", "kind", "name"),
    )
    op.create_table(
        "budget_hold",
        columns.text("exchange_id"),
        columns.text("project_id"),
        columns.text("card_id"),
        columns.text("agent"),
        columns.text("provider"),
        columns.text("model"),
        columns.number("input_tokens"),
        columns.number("output_tokens"),
        columns.number("micros"),
        columns.number("priced"),
        PrimaryKeyConstraint("exchange_id"),
        Index("budget_hold_project", "project_id"),
    )
    op.create_table(
        "usage_day",
        columns.text("project_id"),
        columns.text("day"),
        columns.text("card_id"),
        columns.text("agent"),
        columns.text("provider"),
        columns.text("model"),
        columns.number("calls"),
        columns.number("unknown_calls"),
        columns.number("input_tokens"),
        columns.number("output_tokens"),
        columns.number("cached_tokens"),
        columns.number("unknown_tokens"),
        columns.number("unpriced_tokens"),
        columns.number("micros"),
        columns.number("milliseconds"),
        PrimaryKeyConstraint("project_id", "day", "card_id", "agent", "provider", "model"),
    )


def _from_process() -> None:
    op.create_table(
        "process",
        columns.text("id"),
        columns.text("project_id"),
        columns.text("card_id"),
        columns.text("activation_id"),
        columns.text("command"),
        columns.text("cwd"),
        columns.number("pid"),
        columns.number("start_ticks"),
        columns.text("boot_id"),
        columns.text("started_at"),
        columns.number("open"),
        PrimaryKeyConstraint("id"),
        Index("process_card", "project_id", "card_id", "id"),
        Index("process_open", "project_id", sqlite_where=text("open = 1"), postgresql_where=text("open = 1")),
    )
    op.create_table(
        "process_end",
        columns.text("process_id"),
        columns.text("kind"),
        columns.optional_number("code"),
        columns.optional_number("signal"),
        columns.number("stdout_bytes"),
        columns.number("stderr_bytes"),
        columns.number("stdout_complete"),
        columns.number("stderr_complete"),
        columns.text("at"),
        PrimaryKeyConstraint("process_id"),
    )
