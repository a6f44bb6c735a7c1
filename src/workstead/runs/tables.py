"""Tables of runs: runs, activations of cards inside them, the nodes they visit."""

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, text

from workstead.kernel.tables import METADATA, TEXT

run = Table(
    "run",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("project_id", TEXT, nullable=False),
    Column("state", TEXT, nullable=False),
    Column("wanted", TEXT, nullable=False),
    Column("person_id", TEXT, nullable=False),
    Column("person", TEXT, nullable=False),
    Column("configuration", TEXT, nullable=False),  # the digest that is pinned for this run
    Column("fence", BigInteger, nullable=False),  # of the lease under which it is worked on; 0 before
    Column("created_at", TEXT, nullable=False),
    Column("ended_at", TEXT),
    Column("ending", TEXT),
    Column("reason", TEXT),
    Column("notice", TEXT),  # what a person should know about how it started
    Index("run_project", "project_id", "id"),
    # One live run per project, whatever the code does.
    Index(
        "run_live",
        "project_id",
        unique=True,
        sqlite_where=text("ended_at IS NULL"),
        postgresql_where=text("ended_at IS NULL"),
    ),
)

activation = Table(
    "activation",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("run_id", TEXT, nullable=False),
    Column("project_id", TEXT, nullable=False),
    Column("card_id", TEXT, nullable=False),
    Column("parent_id", TEXT),  # the activation whose agent started it
    Column("entry", TEXT, nullable=False),
    Column("direction", TEXT),  # what the parent's agent said, byte for byte
    Column("opened_at", TEXT, nullable=False),
    Column("closed_at", TEXT),
    Column("ending", TEXT),
    Index("activation_card", "project_id", "card_id", "id"),
    Index("activation_run", "run_id", "closed_at"),
)

node_visit = Table(
    "node_visit",
    METADATA,
    Column("activation_id", TEXT, nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("node", TEXT, nullable=False),
    Column("executor", TEXT, nullable=False),
    Column("entered_at", TEXT, nullable=False),
    PrimaryKeyConstraint("activation_id", "ordinal"),
)

node_result = Table(
    "node_result",
    METADATA,
    Column("activation_id", TEXT, nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("outcome", TEXT, nullable=False),
    Column("summary", TEXT, nullable=False),
    Column("at", TEXT, nullable=False),
    PrimaryKeyConstraint("activation_id", "ordinal"),
)
