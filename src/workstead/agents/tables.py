"""Tables of agents: conversations, exchanges with models, processes; all but the conversation append-only."""

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, Text

from workstead.kernel.tables import METADATA

conversation = Table(
    "conversation",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("project_id", Text, nullable=False),
    Column("card_id", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("segment", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),  # the number of the last row
    Column("answer_row", BigInteger, nullable=False),  # where the last answer begins; only its calls can be open
    Index("conversation_card", "project_id", "card_id"),
)

conversation_row = Table(
    "conversation_row",
    METADATA,
    Column("conversation_id", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("segment", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("activation_id", Text, nullable=False),
    Column("input_id", Text),
    Column("call_id", Text),
    Column("tool", Text),
    Column("content", Text, nullable=False),  # canonical JSON
    PrimaryKeyConstraint("conversation_id", "number"),
)

exchange = Table(
    "exchange",
    METADATA,
    Column("id", Text, primary_key=True),  # the input id of the rows it leads to
    Column("conversation_id", Text, nullable=False),
    Column("activation_id", Text, nullable=False),
    Column("effect_id", Text, nullable=False),
    Column("segment", BigInteger, nullable=False),
    Column("first_row", BigInteger, nullable=False),  # the rows that were sent
    Column("last_row", BigInteger, nullable=False),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("prefix_digest", Text, nullable=False),
    Column("tools_digest", Text, nullable=False),
    Column("request_bytes", BigInteger, nullable=False),
    Column("at", Text, nullable=False),
    Index("exchange_conversation", "conversation_id", "id"),
)

exchange_end = Table(
    "exchange_end",
    METADATA,
    Column("exchange_id", Text, primary_key=True),
    Column("ended", Text, nullable=False),
    Column("finish", Text),
    Column("failure", Text),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("cached_tokens", BigInteger),
    Column("provider", Text),  # who was asked last; NULL where nothing went over a wire
    Column("model", Text),
    Column("sent_digest", Text),  # of the exact bytes
    Column("sent_bytes", BigInteger),
    Column("attempts", BigInteger),
    Column("at", Text, nullable=False),
)

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
