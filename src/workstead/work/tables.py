"""Tables of work: what lists and lookups need of cards and records, notifications, configurations and trust."""

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, Text

from workstead.kernel.tables import METADATA

card = Table(
    "card",
    METADATA,
    Column("project_id", Text, nullable=False),
    Column("card_id", Text, nullable=False),
    Column("parent_id", Text),
    Column("position", BigInteger, nullable=False),  # among its siblings, tombstones included
    Column("type", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("priority", BigInteger, nullable=False),
    Column("urgency", Text, nullable=False),
    Column("depends_on", Text, nullable=False),  # canonical JSON list of card ids
    Column("status_text", Text),
    Column("revision", BigInteger, nullable=False),
    Column("updated_at", Text, nullable=False),
    Column("deleted", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "card_id"),
    Index("card_children", "project_id", "parent_id", "position"),
    Index("card_status", "project_id", "status"),
)

record = Table(
    "record",
    METADATA,
    Column("project_id", Text, nullable=False),
    Column("card_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("accepted", BigInteger, nullable=False),  # the newest accepted number; 0 while there is none
    Column("baseline", Text),  # a starter nobody has written; never beside a draft or an accepted text
    Column("draft", Text),
    Column("draft_version", BigInteger),  # 0 while it still is the baseline's text, else the target
    Column("draft_target", BigInteger),
    Column("opened_at", Text),
    PrimaryKeyConstraint("project_id", "card_id", "name"),
)

notification = Table(
    "notification",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("project_id", Text, nullable=False),
    Column("card_id", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("removed_at", Text),
    Index("notification_card", "project_id", "card_id", "removed_at"),
)

configuration = Table(
    "configuration",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("sources", Text, nullable=False),  # canonical JSON: the exact files that were compiled
    Column("at", Text, nullable=False),
)

configuration_trust = Table(
    "configuration_trust",
    METADATA,
    Column("project_id", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("at", Text, nullable=False),
    PrimaryKeyConstraint("project_id", "digest"),
)
