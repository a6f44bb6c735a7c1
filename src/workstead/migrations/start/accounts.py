"""The tables of `accounts`."""

from alembic import op
from sqlalchemy import Index, PrimaryKeyConstraint

from workstead.migrations.start import columns


def upgrade() -> None:
    """Make the tables."""
    _from_person()
    _from_api_token()


def _from_person() -> None:
    op.create_table(
        "person",
        columns.text("id"),
        columns.text("name"),
        columns.number("operator"),
        columns.text("created_at"),
        columns.optional_text("suspended_at"),
        PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "credential",
        columns.text("digest"),
        columns.text("kind"),
        columns.text("person_id"),
        columns.text("created_at"),
        columns.text("expires_at"),
        columns.optional_text("ended_at"),
        PrimaryKeyConstraint("digest"),
    )
    op.create_table(
        "secret",
        columns.text("name"),
        columns.text("nonce"),
        columns.text("ciphertext"),
        columns.text("set_at"),
        columns.text("set_by"),
        PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "assistant",
        columns.text("id"),
        columns.unique_text("digest"),
        columns.text("owner_id"),
        columns.text("name"),
        columns.text("permissions"),
        columns.optional_text("projects"),
        columns.optional_text("operations"),
        columns.text("created_at"),
        PrimaryKeyConstraint("id"),
        Index("assistant_owner", "owner_id", "created_at"),
    )
    op.create_table(
        "assistant_use",
        columns.text("assistant_id"),
        columns.text("operation"),
        columns.text("code"),
        columns.number("calls"),
        columns.text("last_at"),
        PrimaryKeyConstraint("assistant_id", "operation", "code"),
    )


def _from_api_token() -> None:
    op.create_table(
        "api_token",
        columns.text("id"),
        columns.unique_text("digest"),
        columns.text("person_id"),
        columns.text("name"),
        columns.text("created_at"),
        PrimaryKeyConstraint("id"),
        Index("api_token_person", "person_id", "created_at"),
    )
    op.create_table(
        "project",
        columns.text("id"),
        columns.unique_text("slug"),
        columns.text("name"),
        columns.unique_text("folder"),
        columns.text("owner_id"),
        columns.text("created_at"),
        PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "share",
        columns.text("project_id"),
        columns.text("person_id"),
        columns.text("role"),
        columns.text("at"),
        PrimaryKeyConstraint("project_id", "person_id"),
    )
    op.create_table(
        "agent_grant",
        columns.text("id"),
        columns.text("project_id"),
        columns.text("run_id"),
        columns.text("activation_id"),
        columns.text("card_id"),
        columns.text("agent"),
        columns.text("person_id"),
        columns.text("operations"),
        columns.text("opened_at"),
        columns.optional_text("ended_at"),
        PrimaryKeyConstraint("id"),
        Index("agent_grant_activation", "activation_id", "ended_at"),
        Index("agent_grant_run", "run_id", "ended_at"),
    )
