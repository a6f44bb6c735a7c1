"""Table of leases."""

from sqlalchemy import BigInteger, Column, Table, Text

from workstead.kernel.tables import METADATA

lease = Table(
    "lease",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("owner", Text, nullable=False),  # a boot id; empty while nobody holds it
    Column("fence", BigInteger, nullable=False),
    Column("until", Text, nullable=False),
)
