"""Tables of accounts: people, credentials, assistants, secrets, projects, shares and the grants of agents."""

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

assistant = Table(
    "assistant",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("digest", TEXT, nullable=False, unique=True),  # of its credential
    Column("owner_id", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Column("permissions", TEXT, nullable=False),  # canonical JSON list
    Column("projects", TEXT),  # canonical JSON list of ids; none: every project the owner sees, later ones too
    Column("operations", TEXT),  # canonical JSON list of names; none: what the permissions allow
    Column("created_at", TEXT, nullable=False),
    Index("assistant_owner", "owner_id", "created_at"),
)

assistant_use = Table(
    "assistant_use",
    METADATA,
    Column("assistant_id", TEXT, nullable=False),
    Column("operation", TEXT, nullable=False),  # empty: a name that is none
    Column("code", TEXT, nullable=False),  # ok, or the refusal's
    Column("calls", BigInteger, nullable=False),
    Column("last_at", TEXT, nullable=False),
    PrimaryKeyConstraint("assistant_id", "operation", "code"),
)

api_token = Table(
    "api_token",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("digest", TEXT, nullable=False, unique=True),  # of its credential
    Column("person_id", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Column("created_at", TEXT, nullable=False),
    Index("api_token_person", "person_id", "created_at"),
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
