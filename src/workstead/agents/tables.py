"""Tables of agents at work."""

from sqlalchemy import BigInteger, Column, Index, Table, Text

from workstead.kernel.tables import METADATA

process = Table(
    "process",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("project_id", Text, nullable=False),
    Column("card_id", Text, nullable=False),
    Column("activation_id", Text, nullable=False),
    Column("command", Text, nullable=False),
    Column("cwd", Text, nullable=False),  # relative to the project's folder
    Column("pid", BigInteger, nullable=False),
    Column("start_ticks", BigInteger, nullable=False),  # with the boot id: a number used again is another process
    Column("boot_id", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Index("process_card", "project_id", "card_id", "id"),
)

process_end = Table(
    "process_end",
    METADATA,
    Column("process_id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("code", BigInteger),
    Column("signal", BigInteger),
    Column("stdout_bytes", BigInteger, nullable=False),
    Column("stderr_bytes", BigInteger, nullable=False),
    Column("stdout_complete", BigInteger, nullable=False),
    Column("stderr_complete", BigInteger, nullable=False),
    Column("at", Text, nullable=False),
)
