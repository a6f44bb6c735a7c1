"""Entries of the ledger and the file they are kept in."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """Something to pay. cents: the amount in the smallest unit, so that nothing is ever rounded."""

    number: int
    title: str
    cents: int
    paid: bool = False


def load(path: Path) -> list[Entry]:
    """The entries in the file, oldest first; none when there is no file yet."""
    if not path.exists():
        return []
    return [from_json(item) for item in json.loads(path.read_text(encoding="utf-8"))]


def save(path: Path, entries: list[Entry]) -> None:
    """Replace the whole file, so that a crash leaves the old one or the new one."""
    text = json.dumps([to_json(entry) for entry in entries], indent=2, ensure_ascii=False)
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text + "\n", encoding="utf-8")
    os.replace(temporary, path)


def added(entries: list[Entry], entry: Entry) -> list[Entry]:
    """The entries with a new one, which gets the next number."""
    number = max((each.number for each in entries), default=0) + 1
    return [*entries, replace(entry, number=number)]


def paid(entries: list[Entry], number: int) -> list[Entry]:
    """The entries with this one paid; raises KeyError when there is none with that number."""
    if all(entry.number != number for entry in entries):
        raise KeyError(number)
    return [replace(entry, paid=True) if entry.number == number else entry for entry in entries]


def to_json(entry: Entry) -> dict:
    """An entry as it stands in the file."""
    return asdict(entry)


def from_json(item: dict) -> Entry:
    """The entry that stands in the file as this."""
    return Entry(**item)
