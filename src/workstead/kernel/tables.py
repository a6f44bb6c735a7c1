"""The kernel's own tables. Columns are text and integers only, so that no driver converts anything."""

from sqlalchemy import BigInteger, Column, Index, MetaData, PrimaryKeyConstraint, Table, Text, text

METADATA = MetaData()

TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that is compared and ordered by its bytes in both databases, whatever language a server was set up for."""

scope = Table(
    "scope",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("seq", BigInteger, nullable=False),  # the last feed row's number; also the row that is locked
)

receipt = Table(
    "receipt",
    METADATA,
    Column("subject", TEXT, nullable=False),
    Column("operation", TEXT, nullable=False),
    Column("request_id", TEXT, nullable=False),
    Column("digest", TEXT, nullable=False),  # of the canonical input without its request id
    Column("scope", TEXT),
    Column("change_id", TEXT, nullable=False),
    Column("at", TEXT, nullable=False),
    Column("answer", TEXT),  # canonical JSON of a short answer
    Column("answer_id", TEXT),  # else what to render again
    Column("answer_revision", BigInteger),
    PrimaryKeyConstraint("subject", "operation", "request_id"),
    Index("receipt_at", "at"),
)

version = Table(
    "version",
    METADATA,
    Column("document", TEXT, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),  # the head's revision when it was published
    Column("at", TEXT, nullable=False),
    Column("author", TEXT, nullable=False),  # canonical JSON of the author
    Column("change", TEXT, nullable=False),
    Column("changed", TEXT, nullable=False),  # canonical JSON list of field names
    Column("change_id", TEXT, nullable=False),
    Column("previous", BigInteger),
    Column("sha256", TEXT, nullable=False),
    Column("body", TEXT, nullable=False),
    PrimaryKeyConstraint("document", "number"),
)

head = Table(
    "head",
    METADATA,
    Column("document", TEXT, primary_key=True),
    Column("scope", TEXT, nullable=False),
    Column("head_id", TEXT, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("version", BigInteger),  # null while nothing was published (a record with a draft only)
    Column("at", TEXT, nullable=False),
)

feed = Table(
    "feed",
    METADATA,
    Column("scope", TEXT, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("at", TEXT, nullable=False),
    Column("event", TEXT, nullable=False),
    Column("topic", TEXT, nullable=False),
    Column("revision", BigInteger),
    Column("change_id", TEXT, nullable=False),
    PrimaryKeyConstraint("scope", "seq"),
)

evidence = Table(
    "evidence",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("scope", TEXT, nullable=False),
    Column("lane", TEXT, nullable=False),
    Column("at", TEXT, nullable=False),
    Column("event", TEXT, nullable=False),
    Column("actor", TEXT, nullable=False),
    Column("subject", TEXT, nullable=False),
    Column("detail", TEXT, nullable=False),  # canonical JSON of safe facts
    Index("evidence_lane", "scope", "lane", "id"),
)

effect = Table(
    "effect",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("scope", TEXT, nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("subject", TEXT, nullable=False),
    Column("boot_id", TEXT, nullable=False),
    Column("digest", TEXT, nullable=False),  # of what was about to be done
    Column("claimed_at", TEXT, nullable=False),
    Column("deadline_at", TEXT, nullable=False),
    Column("open", BigInteger, nullable=False),  # 1 until its end is written
    Index("effect_scope", "scope", "id"),
    # A recovery asks for the few that are open; without this it would read all there ever were.
    Index(
        "effect_open",
        "scope",
        "id",
        sqlite_where=text("open = 1"),
        postgresql_where=text("open = 1"),
    ),
)

effect_end = Table(
    "effect_end",
    METADATA,
    Column("effect_id", TEXT, primary_key=True),
    Column("outcome", TEXT, nullable=False),
    Column("at", TEXT, nullable=False),
    Column("boot_id", TEXT, nullable=False),
)
