"""The columns a revision is written with."""

from sqlalchemy import BigInteger, Column, Text

# Bytes decide how text is compared and ordered, whatever language a server was set up for.
_TEXT = Text().with_variant(Text(collation="C"), "postgresql")


def text(name: str) -> Column[str]:
    """A text that is always there."""
    return Column(name, _TEXT, nullable=False)


def optional_text(name: str) -> Column[str]:
    """A text or null."""
    return Column(name, _TEXT)


def unique_text(name: str) -> Column[str]:
    """A text that is always there and in one row only."""
    return Column(name, _TEXT, nullable=False, unique=True)


def number(name: str) -> Column[int]:
    """A whole number of 64 bits that is always there."""
    return Column(name, BigInteger, nullable=False)


def optional_number(name: str) -> Column[int]:
    """A whole number of 64 bits or null."""
    return Column(name, BigInteger)
