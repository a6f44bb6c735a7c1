"""The first schema: kernel, accounts and work.

Until the first release this revision grows with every package's tables; from then on a change is a new revision.
"""

from alembic import op
from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Text

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table; each package's part is a copy of its `tables.py`."""
    _kernel()
    _accounts()
    _work()


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
