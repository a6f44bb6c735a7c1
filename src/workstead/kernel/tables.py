"""The kernel's own tables. Columns are text and integers only, so that no driver converts anything."""

from sqlalchemy import BigInteger, Column, Index, MetaData, PrimaryKeyConstraint, Table, Text

METADATA = MetaData()

scope = Table(
    "scope",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("seq", BigInteger, nullable=False),  # the last feed row's number; also the row that is locked
)

receipt = Table(
    "receipt",
    METADATA,
    Column("subject", Text, nullable=False),
    Column("operation", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("digest", Text, nullable=False),  # of the canonical input without its request id
    Column("scope", Text),
    Column("change_id", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("answer", Text),  # canonical JSON of a short answer
    Column("answer_id", Text),  # else what to render again
    Column("answer_revision", BigInteger),
    PrimaryKeyConstraint("subject", "operation", "request_id"),
    Index("receipt_at", "at"),
)

version = Table(
    "version",
    METADATA,
    Column("document", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),  # the head's revision when it was published
    Column("at", Text, nullable=False),
    Column("author", Text, nullable=False),  # canonical JSON of the author
    Column("change", Text, nullable=False),
    Column("changed", Text, nullable=False),  # canonical JSON list of field names
    Column("change_id", Text, nullable=False),
    Column("previous", BigInteger),
    Column("sha256", Text, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("document", "number"),
)

head = Table(
    "head",
    METADATA,
    Column("document", Text, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("head_id", Text, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("version", BigInteger),  # null while nothing was published (a record with a draft only)
    Column("at", Text, nullable=False),
)

feed = Table(
    "feed",
    METADATA,
    Column("scope", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("at", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("revision", BigInteger),
    Column("change_id", Text, nullable=False),
    PrimaryKeyConstraint("scope", "seq"),
)

evidence = Table(
    "evidence",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("lane", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", Text, nullable=False),  # canonical JSON of safe facts
    Index("evidence_lane", "scope", "lane", "id"),
)

effect = Table(
    "effect",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("boot_id", Text, nullable=False),
    Column("digest", Text, nullable=False),  # of what was about to be done
    Column("claimed_at", Text, nullable=False),
    Column("deadline_at", Text, nullable=False),
    Index("effect_scope", "scope", "id"),
)

effect_end = Table(
    "effect_end",
    METADATA,
    Column("effect_id", Text, primary_key=True),
    Column("outcome", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("boot_id", Text, nullable=False),
)
