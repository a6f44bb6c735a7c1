"""Tables of accounts: people, credentials, secrets, projects, shares and the grants of agents at work."""

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table

from workstead.kernel.tables import METADATA, TEXT

person = Table(
    "person",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("name", TEXT, nullable=False),
    Column("operator", BigInteger, nullable=False),
    Column("created_at", TEXT, nullable=False),
    Column("suspended_at", TEXT),
)

credential = Table(
    "credential",
    METADATA,
    Column("digest", TEXT, primary_key=True),  # SHA-256 of the secret; the secret itself is shown once
    Column("kind", TEXT, nullable=False),
    Column("person_id", TEXT, nullable=False),
    Column("created_at", TEXT, nullable=False),
    Column("expires_at", TEXT, nullable=False),
    Column("ended_at", TEXT),  # spent, signed out or revoked
)

secret = Table(
    "secret",
    METADATA,
    Column("name", TEXT, primary_key=True),
    Column("nonce", TEXT, nullable=False),  # base64
    Column("ciphertext", TEXT, nullable=False),  # base64; AES-256-GCM under the instance's key, bound to the name
    Column("set_at", TEXT, nullable=False),
    Column("set_by", TEXT, nullable=False),
)

project = Table(
    "project",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("slug", TEXT, nullable=False, unique=True),
    Column("name", TEXT, nullable=False),
    Column("folder", TEXT, nullable=False, unique=True),
    Column("owner_id", TEXT, nullable=False),
    Column("created_at", TEXT, nullable=False),
)

share = Table(
    "share",
    METADATA,
    Column("project_id", TEXT, nullable=False),
    Column("person_id", TEXT, nullable=False),
    Column("role", TEXT, nullable=False),
    Column("at", TEXT, nullable=False),
    PrimaryKeyConstraint("project_id", "person_id"),
)

agent_grant = Table(
    "agent_grant",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("project_id", TEXT, nullable=False),
    Column("run_id", TEXT, nullable=False),
    Column("activation_id", TEXT, nullable=False),
    Column("card_id", TEXT, nullable=False),
    Column("agent", TEXT, nullable=False),
    Column("person_id", TEXT, nullable=False),  # who pressed Run; the grant ends with their right to
    Column("operations", TEXT, nullable=False),  # canonical JSON list of names
    Column("opened_at", TEXT, nullable=False),
    Column("ended_at", TEXT),
    Index("agent_grant_run", "run_id", "ended_at"),
    Index("agent_grant_activation", "activation_id", "ended_at"),
)
