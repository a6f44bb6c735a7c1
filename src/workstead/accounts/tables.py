"""Tables of accounts: people, credentials, assistants, secrets, projects, shares and the grants of agents."""

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, Text

from workstead.kernel.tables import METADATA

person = Table(
    "person",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("operator", BigInteger, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("suspended_at", Text),
)

credential = Table(
    "credential",
    METADATA,
    Column("digest", Text, primary_key=True),  # SHA-256 of the secret; the secret itself is shown once
    Column("kind", Text, nullable=False),
    Column("person_id", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
    Column("ended_at", Text),  # spent, signed out or revoked
)

secret = Table(
    "secret",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("nonce", Text, nullable=False),  # base64
    Column("ciphertext", Text, nullable=False),  # base64; AES-256-GCM under the instance's key, bound to the name
    Column("set_at", Text, nullable=False),
    Column("set_by", Text, nullable=False),
)

assistant = Table(
    "assistant",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),  # of its credential
    Column("owner_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("permissions", Text, nullable=False),  # canonical JSON list
    Column("projects", Text),  # canonical JSON list of ids; none: every project the owner sees, later ones too
    Column("operations", Text),  # canonical JSON list of names; none: what the permissions allow
    Column("created_at", Text, nullable=False),
    Index("assistant_owner", "owner_id", "created_at"),
)

assistant_use = Table(
    "assistant_use",
    METADATA,
    Column("assistant_id", Text, nullable=False),
    Column("operation", Text, nullable=False),  # empty: a name that is none
    Column("code", Text, nullable=False),  # ok, or the refusal's
    Column("calls", BigInteger, nullable=False),
    Column("last_at", Text, nullable=False),
    PrimaryKeyConstraint("assistant_id", "operation", "code"),
)

project = Table(
    "project",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("slug", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("folder", Text, nullable=False, unique=True),
    Column("owner_id", Text, nullable=False),
    Column("created_at", Text, nullable=False),
)

share = Table(
    "share",
    METADATA,
    Column("project_id", Text, nullable=False),
    Column("person_id", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("at", Text, nullable=False),
    PrimaryKeyConstraint("project_id", "person_id"),
)

agent_grant = Table(
    "agent_grant",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("project_id", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("activation_id", Text, nullable=False),
    Column("card_id", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("person_id", Text, nullable=False),  # who pressed Run; the grant ends with their right to
    Column("operations", Text, nullable=False),  # canonical JSON list of names
    Column("opened_at", Text, nullable=False),
    Column("ended_at", Text),
    Index("agent_grant_run", "run_id", "ended_at"),
    Index("agent_grant_activation", "activation_id", "ended_at"),
)
