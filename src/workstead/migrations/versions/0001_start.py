"""The first schema: kernel, accounts, work, agents, runs and jobs.

Until the first release this revision grows with every package's tables; from then on a change is a new revision.
"""

from alembic import op
from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Text, text

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table; each package's part is a copy of its `tables.py`."""
    _kernel()
    _accounts()
    _work()
    _agents()
    _runs()
    _jobs()


def _kernel() -> None:
    op.create_table(
        "scope",
        Column("id", Text, primary_key=True),
        Column("seq", BigInteger, nullable=False),
    )
    op.create_table(
        "receipt",
        Column("subject", Text, nullable=False),
        Column("operation", Text, nullable=False),
        Column("request_id", Text, nullable=False),
        Column("digest", Text, nullable=False),
        Column("scope", Text),
        Column("change_id", Text, nullable=False),
        Column("at", Text, nullable=False),
        Column("answer", Text),
        Column("answer_id", Text),
        Column("answer_revision", BigInteger),
        PrimaryKeyConstraint("subject", "operation", "request_id"),
        Index("receipt_at", "at"),
    )
    op.create_table(
        "version",
        Column("document", Text, nullable=False),
        Column("number", BigInteger, nullable=False),
        Column("revision", BigInteger, nullable=False),
        Column("at", Text, nullable=False),
        Column("author", Text, nullable=False),
        Column("change", Text, nullable=False),
        Column("changed", Text, nullable=False),
        Column("change_id", Text, nullable=False),
        Column("previous", BigInteger),
        Column("sha256", Text, nullable=False),
        Column("body", Text, nullable=False),
        PrimaryKeyConstraint("document", "number"),
    )
    op.create_table(
        "head",
        Column("document", Text, primary_key=True),
        Column("scope", Text, nullable=False),
        Column("head_id", Text, nullable=False),
        Column("revision", BigInteger, nullable=False),
        Column("version", BigInteger),
        Column("at", Text, nullable=False),
    )
    op.create_table(
        "feed",
        Column("scope", Text, nullable=False),
        Column("seq", BigInteger, nullable=False),
        Column("at", Text, nullable=False),
        Column("event", Text, nullable=False),
        Column("topic", Text, nullable=False),
        Column("revision", BigInteger),
        Column("change_id", Text, nullable=False),
        PrimaryKeyConstraint("scope", "seq"),
    )
    op.create_table(
        "evidence",
        Column("id", Text, primary_key=True),
        Column("scope", Text, nullable=False),
        Column("lane", Text, nullable=False),
        Column("at", Text, nullable=False),
        Column("event", Text, nullable=False),
        Column("actor", Text, nullable=False),
        Column("subject", Text, nullable=False),
        Column("detail", Text, nullable=False),
        Index("evidence_lane", "scope", "lane", "id"),
    )
    op.create_table(
        "effect",
        Column("id", Text, primary_key=True),
        Column("scope", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("subject", Text, nullable=False),
        Column("boot_id", Text, nullable=False),
        Column("digest", Text, nullable=False),
        Column("claimed_at", Text, nullable=False),
        Column("deadline_at", Text, nullable=False),
        Index("effect_scope", "scope", "id"),
    )
    op.create_table(
        "effect_end",
        Column("effect_id", Text, primary_key=True),
        Column("outcome", Text, nullable=False),
        Column("at", Text, nullable=False),
        Column("boot_id", Text, nullable=False),
    )


def _accounts() -> None:
    op.create_table(
        "person",
        Column("id", Text, primary_key=True),
        Column("name", Text, nullable=False),
        Column("operator", BigInteger, nullable=False),
        Column("created_at", Text, nullable=False),
        Column("suspended_at", Text),
    )
    op.create_table(
        "credential",
        Column("digest", Text, primary_key=True),
        Column("kind", Text, nullable=False),
        Column("person_id", Text, nullable=False),
        Column("created_at", Text, nullable=False),
        Column("expires_at", Text, nullable=False),
        Column("ended_at", Text),
    )
    op.create_table(
        "project",
        Column("id", Text, primary_key=True),
        Column("slug", Text, nullable=False, unique=True),
        Column("name", Text, nullable=False),
        Column("folder", Text, nullable=False, unique=True),
        Column("owner_id", Text, nullable=False),
        Column("created_at", Text, nullable=False),
    )
    op.create_table(
        "share",
        Column("project_id", Text, nullable=False),
        Column("person_id", Text, nullable=False),
        Column("role", Text, nullable=False),
        Column("at", Text, nullable=False),
        PrimaryKeyConstraint("project_id", "person_id"),
    )
    op.create_table(
        "agent_grant",
        Column("id", Text, primary_key=True),
        Column("project_id", Text, nullable=False),
        Column("run_id", Text, nullable=False),
        Column("activation_id", Text, nullable=False),
        Column("card_id", Text, nullable=False),
        Column("agent", Text, nullable=False),
        Column("person_id", Text, nullable=False),
        Column("operations", Text, nullable=False),
        Column("opened_at", Text, nullable=False),
        Column("ended_at", Text),
        Index("agent_grant_run", "run_id", "ended_at"),
        Index("agent_grant_activation", "activation_id", "ended_at"),
    )


def _work() -> None:
    op.create_table(
        "card",
        Column("project_id", Text, nullable=False),
        Column("card_id", Text, nullable=False),
        Column("parent_id", Text),
        Column("position", BigInteger, nullable=False),
        Column("type", Text, nullable=False),
        Column("title", Text, nullable=False),
        Column("status", Text, nullable=False),
        Column("priority", BigInteger, nullable=False),
        Column("urgency", Text, nullable=False),
        Column("depends_on", Text, nullable=False),
        Column("status_text", Text),
        Column("revision", BigInteger, nullable=False),
        Column("updated_at", Text, nullable=False),
        Column("deleted", BigInteger, nullable=False),
        PrimaryKeyConstraint("project_id", "card_id"),
        Index("card_children", "project_id", "parent_id", "position"),
        Index("card_status", "project_id", "status"),
    )
    op.create_table(
        "record",
        Column("project_id", Text, nullable=False),
        Column("card_id", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("accepted", BigInteger, nullable=False),
        Column("baseline", Text),
        Column("draft", Text),
        Column("draft_version", BigInteger),
        Column("draft_target", BigInteger),
        Column("opened_at", Text),
        PrimaryKeyConstraint("project_id", "card_id", "name"),
    )
    op.create_table(
        "notification",
        Column("id", Text, primary_key=True),
        Column("project_id", Text, nullable=False),
        Column("card_id", Text, nullable=False),
        Column("content", Text, nullable=False),
        Column("source", Text, nullable=False),
        Column("created_at", Text, nullable=False),
        Column("removed_at", Text),
        Index("notification_card", "project_id", "card_id", "removed_at"),
    )
    op.create_table(
        "configuration",
        Column("digest", Text, primary_key=True),
        Column("sources", Text, nullable=False),
        Column("at", Text, nullable=False),
    )
    op.create_table(
        "configuration_trust",
        Column("project_id", Text, nullable=False),
        Column("digest", Text, nullable=False),
        Column("person", Text, nullable=False),
        Column("at", Text, nullable=False),
        PrimaryKeyConstraint("project_id", "digest"),
    )


def _agents() -> None:
    op.create_table(
        "conversation",
        Column("id", Text, primary_key=True),
        Column("project_id", Text, nullable=False),
        Column("card_id", Text, nullable=False),
        Column("agent", Text, nullable=False),
        Column("started_at", Text, nullable=False),
        Column("segment", BigInteger, nullable=False),
        Column("rows", BigInteger, nullable=False),
        Column("answer_row", BigInteger, nullable=False),
        Index("conversation_card", "project_id", "card_id"),
    )
    op.create_table(
        "conversation_row",
        Column("conversation_id", Text, nullable=False),
        Column("number", BigInteger, nullable=False),
        Column("segment", BigInteger, nullable=False),
        Column("kind", Text, nullable=False),
        Column("role", Text, nullable=False),
        Column("at", Text, nullable=False),
        Column("activation_id", Text, nullable=False),
        Column("input_id", Text),
        Column("call_id", Text),
        Column("tool", Text),
        Column("content", Text, nullable=False),
        PrimaryKeyConstraint("conversation_id", "number"),
    )
    op.create_table(
        "exchange",
        Column("id", Text, primary_key=True),
        Column("conversation_id", Text, nullable=False),
        Column("activation_id", Text, nullable=False),
        Column("effect_id", Text, nullable=False),
        Column("segment", BigInteger, nullable=False),
        Column("first_row", BigInteger, nullable=False),
        Column("last_row", BigInteger, nullable=False),
        Column("provider", Text, nullable=False),
        Column("model", Text, nullable=False),
        Column("prefix_digest", Text, nullable=False),
        Column("tools_digest", Text, nullable=False),
        Column("request_bytes", BigInteger, nullable=False),
        Column("at", Text, nullable=False),
        Index("exchange_conversation", "conversation_id", "id"),
    )
    op.create_table(
        "exchange_end",
        Column("exchange_id", Text, primary_key=True),
        Column("ended", Text, nullable=False),
        Column("finish", Text),
        Column("failure", Text),
        Column("input_tokens", BigInteger),
        Column("output_tokens", BigInteger),
        Column("at", Text, nullable=False),
    )
    op.create_table(
        "process",
        Column("id", Text, primary_key=True),
        Column("project_id", Text, nullable=False),
        Column("card_id", Text, nullable=False),
        Column("activation_id", Text, nullable=False),
        Column("command", Text, nullable=False),
        Column("cwd", Text, nullable=False),
        Column("pid", BigInteger, nullable=False),
        Column("start_ticks", BigInteger, nullable=False),
        Column("boot_id", Text, nullable=False),
        Column("started_at", Text, nullable=False),
        Index("process_card", "project_id", "card_id", "id"),
    )
    op.create_table(
        "process_end",
        Column("process_id", Text, primary_key=True),
        Column("kind", Text, nullable=False),
        Column("code", BigInteger),
        Column("signal", BigInteger),
        Column("stdout_bytes", BigInteger, nullable=False),
        Column("stderr_bytes", BigInteger, nullable=False),
        Column("stdout_complete", BigInteger, nullable=False),
        Column("stderr_complete", BigInteger, nullable=False),
        Column("at", Text, nullable=False),
    )


def _runs() -> None:
    op.create_table(
        "run",
        Column("id", Text, primary_key=True),
        Column("project_id", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("wanted", Text, nullable=False),
        Column("person_id", Text, nullable=False),
        Column("person", Text, nullable=False),
        Column("configuration", Text, nullable=False),
        Column("fence", BigInteger, nullable=False),
        Column("created_at", Text, nullable=False),
        Column("ended_at", Text),
        Column("ending", Text),
        Column("reason", Text),
        Index("run_project", "project_id", "id"),
    )
    op.create_index(
        "run_live",
        "run",
        ["project_id"],
        unique=True,
        sqlite_where=text("ended_at IS NULL"),
        postgresql_where=text("ended_at IS NULL"),
    )
    op.create_table(
        "activation",
        Column("id", Text, primary_key=True),
        Column("run_id", Text, nullable=False),
        Column("project_id", Text, nullable=False),
        Column("card_id", Text, nullable=False),
        Column("parent_id", Text),
        Column("entry", Text, nullable=False),
        Column("direction", Text),
        Column("opened_at", Text, nullable=False),
        Column("closed_at", Text),
        Column("ending", Text),
        Index("activation_card", "project_id", "card_id", "id"),
        Index("activation_run", "run_id", "closed_at"),
    )
    op.create_table(
        "node_visit",
        Column("activation_id", Text, nullable=False),
        Column("ordinal", BigInteger, nullable=False),
        Column("node", Text, nullable=False),
        Column("executor", Text, nullable=False),
        Column("entered_at", Text, nullable=False),
        PrimaryKeyConstraint("activation_id", "ordinal"),
    )
    op.create_table(
        "node_result",
        Column("activation_id", Text, nullable=False),
        Column("ordinal", BigInteger, nullable=False),
        Column("outcome", Text, nullable=False),
        Column("summary", Text, nullable=False),
        Column("at", Text, nullable=False),
        PrimaryKeyConstraint("activation_id", "ordinal"),
    )


def _jobs() -> None:
    op.create_table(
        "lease",
        Column("name", Text, primary_key=True),
        Column("owner", Text, nullable=False),
        Column("fence", BigInteger, nullable=False),
        Column("until", Text, nullable=False),
    )
