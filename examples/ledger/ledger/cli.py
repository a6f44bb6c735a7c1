"""The command line: what can be asked, and what is printed."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from ledger import entries
from ledger.entries import Entry


def main(arguments: list[str] | None = None) -> int:
    """Do what the arguments ask; returns the exit code."""
    options = parser().parse_args(arguments)
    return options.run(options)


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = argparse.ArgumentParser(prog="ledger", description="A small ledger of things to pay.")
    file = os.environ.get("LEDGER_FILE", "ledger.json")
    top.add_argument("--file", type=Path, default=Path(file), help="where the ledger is kept")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    add = commands.add_parser("add", help="add something to pay")
    add.add_argument("title")
    add.add_argument("cents", type=amount, metavar="AMOUNT", help="for example 12 or 12.50")
    add.set_defaults(run=run_add)

    listing = commands.add_parser("list", help="print the ledger")
    listing.set_defaults(run=run_list)

    pay = commands.add_parser("pay", help="mark something as paid")
    pay.add_argument("number", type=int)
    pay.set_defaults(run=run_pay)
    return top


def amount(text: str) -> int:
    """An amount of money in cents; what cannot be read is refused with a sentence."""
    match = re.fullmatch(r"(\d{1,9})(?:\.(\d{2}))?", text, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount; write it as 12 or 12.50")
    return int(match[1]) * 100 + int(match[2] or 0)


def run_add(options: argparse.Namespace) -> int:
    """Add an entry and print it."""
    known = entries.load(options.file)
    known = entries.added(known, Entry(number=0, title=options.title, cents=options.cents))
    entries.save(options.file, known)
    print(line(known[-1]))
    return 0


def run_list(options: argparse.Namespace) -> int:
    """Print the entries, one a line."""
    for entry in entries.load(options.file):
        print(line(entry))
    return 0


def run_pay(options: argparse.Namespace) -> int:
    """Mark an entry as paid and print it."""
    try:
        known = entries.paid(entries.load(options.file), options.number)
    except KeyError:
        print(f"ledger: there is no entry {options.number}", file=sys.stderr)
        return 1
    entries.save(options.file, known)
    print(line(next(entry for entry in known if entry.number == options.number)))
    return 0


def line(entry: Entry) -> str:
    """An entry as it is printed."""
    mark = "x" if entry.paid else " "
    return f"{entry.number:>3} [{mark}] {entry.cents // 100:>6}.{entry.cents % 100:02}  {entry.title}"
