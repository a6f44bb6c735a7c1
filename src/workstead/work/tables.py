"""Tables of work: what lists and lookups need of cards and records, notifications, configurations and trust."""

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table

from workstead.kernel.tables import METADATA, TEXT

card = Table(
    "card",
    METADATA,
    Column("project_id", TEXT, nullable=False),
    Column("card_id", TEXT, nullable=False),
    Column("parent_id", TEXT),
    Column("position", BigInteger, nullable=False),  # among its siblings, tombstones included
    Column("type", TEXT, nullable=False),
    Column("title", TEXT, nullable=False),
    Column("status", TEXT, nullable=False),
    Column("priority", BigInteger, nullable=False),
    Column("urgency", TEXT, nullable=False),
    Column("depends_on", TEXT, nullable=False),  # canonical JSON list of card ids
    Column("status_text", TEXT),
    Column("revision", BigInteger, nullable=False),
    Column("updated_at", TEXT, nullable=False),
    Column("deleted", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "card_id"),
    Index("card_children", "project_id", "parent_id", "position"),
    Index("card_status", "project_id", "status"),
)

record = Table(
    "record",
    METADATA,
    Column("project_id", TEXT, nullable=False),
    Column("card_id", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Column("accepted", BigInteger, nullable=False),  # the newest accepted number; 0 while there is none
    Column("baseline", TEXT),  # a starter nobody has written; never beside a draft or an accepted text
    Column("draft", TEXT),
    Column("draft_version", BigInteger),  # 0 while it still is the baseline's text, else the target
    Column("draft_target", BigInteger),
    Column("opened_at", TEXT),
    PrimaryKeyConstraint("project_id", "card_id", "name"),
)

notification = Table(
    "notification",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("project_id", TEXT, nullable=False),
    Column("card_id", TEXT, nullable=False),
    Column("content", TEXT, nullable=False),
    Column("source", TEXT, nullable=False),
    Column("created_at", TEXT, nullable=False),
    Column("removed_at", TEXT),
    Index("notification_card", "project_id", "card_id", "removed_at"),
)

comment = Table(
    "comment",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("project_id", TEXT, nullable=False),
    Column("card_id", TEXT, nullable=False),
    Column("at", TEXT, nullable=False),
    Column("author_kind", TEXT, nullable=False),
    Column("author_name", TEXT, nullable=False),
    Column("text", TEXT, nullable=False),  # Markdown, as it was written
    Index("comment_card", "project_id", "card_id", "at"),
)

configuration = Table(
    "configuration",
    METADATA,
    Column("digest", TEXT, primary_key=True),
    Column("sources", TEXT, nullable=False),  # canonical JSON: the exact files that were compiled
    Column("at", TEXT, nullable=False),
)

configuration_trust = Table(
    "configuration_trust",
    METADATA,
    Column("project_id", TEXT, nullable=False),
    Column("digest", TEXT, nullable=False),
    Column("person", TEXT, nullable=False),
    Column("at", TEXT, nullable=False),
    PrimaryKeyConstraint("project_id", "digest"),
)
