"""The first schema: every package's tables.

Until the first release this revision grows with them; from then on a change is a new revision.
"""

from alembic import op
from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Text, text

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table; each part is a copy of a package's `tables.py`."""
    _kernel_scope()
    _kernel_feed()
    _accounts_person()
    _accounts_assistant()
    _accounts_agent_grant()
    _work_card()
    _work_configuration()
    _agents_conversation()
    _agents_exchange_end()
    _jobs()
    _runs_run()
    _runs_node_result()


def _kernel_scope() -> None:
    op.create_table(
        "scope",
        _text("id"),
        _number("seq"),
        PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "receipt",
        _text("subject"),
        _text("operation"),
        _text("request_id"),
        _text("digest"),
        _optional_text("scope"),
        _text("change_id"),
        _text("at"),
        _optional_text("answer"),
        _optional_text("answer_id"),
        _optional_number("answer_revision"),
        PrimaryKeyConstraint("subject", "operation", "request_id"),
        Index("receipt_at", "at"),
    )
    op.create_table(
        "version",
        _text("document"),
        _number("number"),
        _number("revision"),
        _text("at"),
        _text("author"),
        _text("change"),
        _text("changed"),
        _text("change_id"),
        _optional_number("previous"),
        _text("sha256"),
        _text("body"),
        PrimaryKeyConstraint("document", "number"),
    )
    op.create_table(
        "head",
        _text("document"),
        _text("scope"),
        _text("head_id"),
        _number("revision"),
        _optional_number("version"),
        _text("at"),
        PrimaryKeyConstraint("document"),
    )


def _kernel_feed() -> None:
    op.create_table(
        "feed",
        _text("scope"),
        _number("seq"),
        _text("at"),
        _text("event"),
        _text("topic"),
        _optional_number("revision"),
        _text("change_id"),
        PrimaryKeyConstraint("scope", "seq"),
    )
    op.create_table(
        "evidence",
        _text("id"),
        _text("scope"),
        _text("lane"),
        _text("at"),
        _text("event"),
        _text("actor"),
        _text("subject"),
        _text("detail"),
        PrimaryKeyConstraint("id"),
        Index("evidence_lane", "scope", "lane", "id"),
    )
    op.create_table(
        "effect",
        _text("id"),
        _text("scope"),
        _text("kind"),
        _text("subject"),
        _text("boot_id"),
        _text("digest"),
        _text("claimed_at"),
        _text("deadline_at"),
        PrimaryKeyConstraint("id"),
        Index("effect_scope", "scope", "id"),
    )
    op.create_table(
        "effect_end",
        _text("effect_id"),
        _text("outcome"),
        _text("at"),
        _text("boot_id"),
        PrimaryKeyConstraint("effect_id"),
    )


def _accounts_person() -> None:
    op.create_table(
        "person",
        _text("id"),
        _text("name"),
        _number("operator"),
        _text("created_at"),
        _optional_text("suspended_at"),
        PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "credential",
        _text("digest"),
        _text("kind"),
        _text("person_id"),
        _text("created_at"),
        _text("expires_at"),
        _optional_text("ended_at"),
        PrimaryKeyConstraint("digest"),
    )
    op.create_table(
        "secret",
        _text("name"),
        _text("nonce"),
        _text("ciphertext"),
        _text("set_at"),
        _text("set_by"),
        PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "project",
        _text("id"),
        _unique_text("slug"),
        _text("name"),
        _unique_text("folder"),
        _text("owner_id"),
        _text("created_at"),
        PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "share",
        _text("project_id"),
        _text("person_id"),
        _text("role"),
        _text("at"),
        PrimaryKeyConstraint("project_id", "person_id"),
    )


def _accounts_assistant() -> None:
    op.create_table(
        "assistant",
        _text("id"),
        _unique_text("digest"),
        _text("owner_id"),
        _text("name"),
        _text("permissions"),
        _optional_text("projects"),
        _optional_text("operations"),
        _text("created_at"),
        PrimaryKeyConstraint("id"),
        Index("assistant_owner", "owner_id", "created_at"),
    )
    op.create_table(
        "assistant_use",
        _text("assistant_id"),
        _text("operation"),
        _text("code"),
        _number("calls"),
        _text("last_at"),
        PrimaryKeyConstraint("assistant_id", "operation", "code"),
    )


def _accounts_agent_grant() -> None:
    op.create_table(
        "agent_grant",
        _text("id"),
        _text("project_id"),
        _text("run_id"),
        _text("activation_id"),
        _text("card_id"),
        _text("agent"),
        _text("person_id"),
        _text("operations"),
        _text("opened_at"),
        _optional_text("ended_at"),
        PrimaryKeyConstraint("id"),
        Index("agent_grant_activation", "activation_id", "ended_at"),
        Index("agent_grant_run", "run_id", "ended_at"),
    )


def _work_card() -> None:
    op.create_table(
        "card",
        _text("project_id"),
        _text("card_id"),
        _optional_text("parent_id"),
        _number("position"),
        _text("type"),
        _text("title"),
        _text("status"),
        _number("priority"),
        _text("urgency"),
        _text("depends_on"),
        _optional_text("status_text"),
        _number("revision"),
        _text("updated_at"),
        _number("deleted"),
        PrimaryKeyConstraint("project_id", "card_id"),
        Index("card_children", "project_id", "parent_id", "position"),
        Index("card_status", "project_id", "status"),
    )
    op.create_table(
        "record",
        _text("project_id"),
        _text("card_id"),
        _text("name"),
        _number("accepted"),
        _optional_text("baseline"),
        _optional_text("draft"),
        _optional_number("draft_version"),
        _optional_number("draft_target"),
        _optional_text("opened_at"),
        PrimaryKeyConstraint("project_id", "card_id", "name"),
    )
    op.create_table(
        "notification",
        _text("id"),
        _text("project_id"),
        _text("card_id"),
        _text("content"),
        _text("source"),
        _text("created_at"),
        _optional_text("removed_at"),
        PrimaryKeyConstraint("id"),
        Index("notification_card", "project_id", "card_id", "removed_at"),
    )


def _work_configuration() -> None:
    op.create_table(
        "configuration",
        _text("digest"),
        _text("sources"),
        _text("at"),
        PrimaryKeyConstraint("digest"),
    )
    op.create_table(
        "configuration_trust",
        _text("project_id"),
        _text("digest"),
        _text("person"),
        _text("at"),
        PrimaryKeyConstraint("project_id", "digest"),
    )


def _agents_conversation() -> None:
    op.create_table(
        "conversation",
        _text("id"),
        _text("project_id"),
        _text("card_id"),
        _text("agent"),
        _text("started_at"),
        _number("segment"),
        _number("rows"),
        _number("answer_row"),
        PrimaryKeyConstraint("id"),
        Index("conversation_card", "project_id", "card_id"),
    )
    op.create_table(
        "conversation_row",
        _text("conversation_id"),
        _number("number"),
        _number("segment"),
        _text("kind"),
        _text("role"),
        _text("at"),
        _text("activation_id"),
        _optional_text("input_id"),
        _optional_text("call_id"),
        _optional_text("tool"),
        _text("content"),
        PrimaryKeyConstraint("conversation_id", "number"),
    )
    op.create_table(
        "exchange",
        _text("id"),
        _text("conversation_id"),
        _text("activation_id"),
        _text("effect_id"),
        _number("segment"),
        _number("first_row"),
        _number("last_row"),
        _text("provider"),
        _text("model"),
        _text("prefix_digest"),
        _text("tools_digest"),
        _number("request_bytes"),
        _text("at"),
        PrimaryKeyConstraint("id"),
        Index("exchange_conversation", "conversation_id", "id"),
    )


def _agents_exchange_end() -> None:
    op.create_table(
        "exchange_end",
        _text("exchange_id"),
        _text("ended"),
        _optional_text("finish"),
        _optional_text("failure"),
        _optional_number("input_tokens"),
        _optional_number("output_tokens"),
        _optional_number("cached_tokens"),
        _optional_text("provider"),
        _optional_text("model"),
        _optional_text("sent_digest"),
        _optional_number("sent_bytes"),
        _optional_number("attempts"),
        _text("at"),
        PrimaryKeyConstraint("exchange_id"),
    )
    op.create_table(
        "process",
        _text("id"),
        _text("project_id"),
        _text("card_id"),
        _text("activation_id"),
        _text("command"),
        _text("cwd"),
        _number("pid"),
        _number("start_ticks"),
        _text("boot_id"),
        _text("started_at"),
        PrimaryKeyConstraint("id"),
        Index("process_card", "project_id", "card_id", "id"),
    )
    op.create_table(
        "process_end",
        _text("process_id"),
        _text("kind"),
        _optional_number("code"),
        _optional_number("signal"),
        _number("stdout_bytes"),
        _number("stderr_bytes"),
        _number("stdout_complete"),
        _number("stderr_complete"),
        _text("at"),
        PrimaryKeyConstraint("process_id"),
    )


def _jobs() -> None:
    op.create_table(
        "lease",
        _text("name"),
        _text("owner"),
        _number("fence"),
        _text("until"),
        PrimaryKeyConstraint("name"),
    )


def _runs_run() -> None:
    op.create_table(
        "run",
        _text("id"),
        _text("project_id"),
        _text("state"),
        _text("wanted"),
        _text("person_id"),
        _text("person"),
        _text("configuration"),
        _number("fence"),
        _text("created_at"),
        _optional_text("ended_at"),
        _optional_text("ending"),
        _optional_text("reason"),
        _optional_text("notice"),
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
        _text("id"),
        _text("run_id"),
        _text("project_id"),
        _text("card_id"),
        _optional_text("parent_id"),
        _text("entry"),
        _optional_text("direction"),
        _text("opened_at"),
        _optional_text("closed_at"),
        _optional_text("ending"),
        PrimaryKeyConstraint("id"),
        Index("activation_card", "project_id", "card_id", "id"),
        Index("activation_run", "run_id", "closed_at"),
    )
    op.create_table(
        "node_visit",
        _text("activation_id"),
        _number("ordinal"),
        _text("node"),
        _text("executor"),
        _text("entered_at"),
        PrimaryKeyConstraint("activation_id", "ordinal"),
    )


def _runs_node_result() -> None:
    op.create_table(
        "node_result",
        _text("activation_id"),
        _number("ordinal"),
        _text("outcome"),
        _text("summary"),
        _text("at"),
        PrimaryKeyConstraint("activation_id", "ordinal"),
    )


# Bytes decide how text is compared and ordered, whatever language a server was set up for.
_TEXT = Text().with_variant(Text(collation="C"), "postgresql")


def _text(name: str) -> Column[str]:
    return Column(name, _TEXT, nullable=False)


def _optional_text(name: str) -> Column[str]:
    return Column(name, _TEXT)


def _unique_text(name: str) -> Column[str]:
    return Column(name, _TEXT, nullable=False, unique=True)


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


def _optional_number(name: str) -> Column[int]:
    return Column(name, BigInteger)
