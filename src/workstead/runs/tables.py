"""Tables of runs: runs, activations of cards inside them, the nodes they visit."""

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, Text, text

from workstead.kernel.tables import METADATA

run = Table(
    "run",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("project_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("wanted", Text, nullable=False),
    Column("person_id", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("configuration", Text, nullable=False),  # the digest that is pinned for this run
    Column("fence", BigInteger, nullable=False),  # of the lease under which it is worked on; 0 before
    Column("created_at", Text, nullable=False),
    Column("ended_at", Text),
    Column("ending", Text),
    Column("reason", Text),
    Column("notice", Text),  # what a person should know about how it started
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
    Column("id", Text, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("project_id", Text, nullable=False),
    Column("card_id", Text, nullable=False),
    Column("parent_id", Text),  # the activation whose agent started it
    Column("entry", Text, nullable=False),
    Column("direction", Text),  # what the parent's agent said, byte for byte
    Column("opened_at", Text, nullable=False),
    Column("closed_at", Text),
    Column("ending", Text),
    Index("activation_card", "project_id", "card_id", "id"),
    Index("activation_run", "run_id", "closed_at"),
)

node_visit = Table(
    "node_visit",
    METADATA,
    Column("activation_id", Text, nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("node", Text, nullable=False),
    Column("executor", Text, nullable=False),
    Column("entered_at", Text, nullable=False),
    PrimaryKeyConstraint("activation_id", "ordinal"),
)

node_result = Table(
    "node_result",
    METADATA,
    Column("activation_id", Text, nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("at", Text, nullable=False),
    PrimaryKeyConstraint("activation_id", "ordinal"),
)
