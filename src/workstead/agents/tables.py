"""Tables of agents: conversations, exchanges with models and what they used, budgets, processes."""

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, text

from workstead.kernel.tables import METADATA, TEXT

conversation = Table(
    "conversation",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("project_id", TEXT, nullable=False),
    Column("card_id", TEXT, nullable=False),
    Column("agent", TEXT, nullable=False),
    Column("started_at", TEXT, nullable=False),
    Column("segment", BigInteger, nullable=False),
    Column("genesis_row", BigInteger, nullable=False),  # what the segment begins with; 0 for the first
    Column("rows", BigInteger, nullable=False),  # the number of the last row
    Column("answer_row", BigInteger, nullable=False),  # where the last answer begins; only its calls can be open
    Index("conversation_card", "project_id", "card_id"),
)

conversation_row = Table(
    "conversation_row",
    METADATA,
    Column("conversation_id", TEXT, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("segment", BigInteger, nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("role", TEXT, nullable=False),
    Column("at", TEXT, nullable=False),
    Column("activation_id", TEXT, nullable=False),
    Column("input_id", TEXT),
    Column("call_id", TEXT),
    Column("tool", TEXT),
    Column("content", TEXT, nullable=False),  # canonical JSON
    PrimaryKeyConstraint("conversation_id", "number"),
    # The few rows that are looked for over all conversations of a project.
    Index(
        "conversation_refusal",
        "conversation_id",
        sqlite_where=text("kind = 'refusal'"),
        postgresql_where=text("kind = 'refusal'"),
    ),
)

exchange = Table(
    "exchange",
    METADATA,
    Column("id", TEXT, primary_key=True),  # the input id of the rows it leads to
    Column("project_id", TEXT, nullable=False),
    Column("conversation_id", TEXT, nullable=False),
    Column("activation_id", TEXT, nullable=False),
    Column("effect_id", TEXT, nullable=False),
    Column("purpose", TEXT, nullable=False),
    Column("segment", BigInteger, nullable=False),
    Column("first_row", BigInteger, nullable=False),  # the rows that were sent
    Column("last_row", BigInteger, nullable=False),
    Column("provider", TEXT, nullable=False),
    Column("model", TEXT, nullable=False),
    Column("prefix_digest", TEXT, nullable=False),
    Column("tools_digest", TEXT, nullable=False),
    Column("request_bytes", BigInteger, nullable=False),
    Column("at", TEXT, nullable=False),
    Column("open", BigInteger, nullable=False),  # 1 until its end is written
    Index("exchange_project", "project_id", "id"),
    Index("exchange_conversation", "conversation_id", "id"),
    Index(
        "exchange_open",
        "project_id",
        sqlite_where=text("open = 1"),
        postgresql_where=text("open = 1"),
    ),
)

exchange_end = Table(
    "exchange_end",
    METADATA,
    Column("exchange_id", TEXT, primary_key=True),
    Column("ended", TEXT, nullable=False),
    Column("finish", TEXT),
    Column("failure", TEXT),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("cached_tokens", BigInteger),
    Column("provider", TEXT),  # who was asked last; NULL where nothing went over a wire
    Column("model", TEXT),
    Column("sent_digest", TEXT),  # of the exact bytes
    Column("sent_bytes", BigInteger),
    Column("attempts", BigInteger),
    Column("at", TEXT, nullable=False),
)

budget = Table(
    "budget",
    METADATA,
    Column("project_id", TEXT, nullable=False),
    Column("kind", TEXT, nullable=False),  # project, card or agent
    Column("name", TEXT, nullable=False),  # the card's id or the agent's name; empty for the project
    Column("tokens", BigInteger),  # each NULL where there is no limit
    Column("micros", BigInteger),
    Column("seconds", BigInteger),
    Column("person", TEXT, nullable=False),
    Column("at", TEXT, nullable=False),
    PrimaryKeyConstraint("project_id", "kind", "name"),
)

budget_use = Table(
    "budget_use",
    METADATA,
    Column("project_id", TEXT, nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),  # a card's holds what is below it, too
    Column("calls", BigInteger, nullable=False),
    Column("unknown_calls", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("unpriced_tokens", BigInteger, nullable=False),
    Column("micros", BigInteger, nullable=False),
    Column("milliseconds", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "kind", "name"),
)

budget_hold = Table(
    "budget_hold",
    METADATA,
    Column("exchange_id", TEXT, primary_key=True),  # there while the call is made
    Column("project_id", TEXT, nullable=False),
    Column("card_id", TEXT, nullable=False),
    Column("agent", TEXT, nullable=False),
    Column("provider", TEXT, nullable=False),
    Column("model", TEXT, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("micros", BigInteger, nullable=False),
    Column("priced", BigInteger, nullable=False),
    Index("budget_hold_project", "project_id"),
)

usage_day = Table(
    "usage_day",
    METADATA,
    Column("project_id", TEXT, nullable=False),
    Column("day", TEXT, nullable=False),
    Column("card_id", TEXT, nullable=False),
    Column("agent", TEXT, nullable=False),
    Column("provider", TEXT, nullable=False),
    Column("model", TEXT, nullable=False),
    Column("calls", BigInteger, nullable=False),
    Column("unknown_calls", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cached_tokens", BigInteger, nullable=False),
    Column("unknown_tokens", BigInteger, nullable=False),  # of calls of which nobody knows what they used
    Column("unpriced_tokens", BigInteger, nullable=False),
    Column("micros", BigInteger, nullable=False),
    Column("milliseconds", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "day", "card_id", "agent", "provider", "model"),
)

process = Table(
    "process",
    METADATA,
    Column("id", TEXT, primary_key=True),
    Column("project_id", TEXT, nullable=False),
    Column("card_id", TEXT, nullable=False),
    Column("activation_id", TEXT, nullable=False),
    Column("command", TEXT, nullable=False),
    Column("cwd", TEXT, nullable=False),  # relative to the project's folder
    Column("pid", BigInteger, nullable=False),
    Column("start_ticks", BigInteger, nullable=False),  # with the boot id: a number used again is another process
    Column("boot_id", TEXT, nullable=False),
    Column("started_at", TEXT, nullable=False),
    Column("open", BigInteger, nullable=False),  # 1 until its end is written
    Index(
        "process_open",
        "project_id",
        sqlite_where=text("open = 1"),
        postgresql_where=text("open = 1"),
    ),
    Index("process_card", "project_id", "card_id", "id"),
)

process_end = Table(
    "process_end",
    METADATA,
    Column("process_id", TEXT, primary_key=True),
    Column("kind", TEXT, nullable=False),
    Column("code", BigInteger),
    Column("signal", BigInteger),
    Column("stdout_bytes", BigInteger, nullable=False),
    Column("stderr_bytes", BigInteger, nullable=False),
    Column("stdout_complete", BigInteger, nullable=False),
    Column("stderr_complete", BigInteger, nullable=False),
    Column("at", TEXT, nullable=False),
)
