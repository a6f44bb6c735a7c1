"""Table of leases."""

from sqlalchemy import BigInteger, Column, Table

from workstead.kernel.tables import METADATA, TEXT

lease = Table(
    "lease",
    METADATA,
    Column("name", TEXT, primary_key=True),
    Column("owner", TEXT, nullable=False),  # a boot id; empty while nobody holds it
    Column("fence", BigInteger, nullable=False),
    Column("until", TEXT, nullable=False),
)
