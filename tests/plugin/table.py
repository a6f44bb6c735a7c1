"""The capability table: its lines in docs/capabilities.md, and what the last full test run showed."""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "capabilities.md"
REPORT = ROOT / "build" / "report.json"


class Test(TypedDict):
    """One test in the report."""

    id: str
    outcome: str
    duration_s: float
    covers: list[str]


class Count(TypedDict):
    """How the tests behind one capability ended."""

    passing: int
    failing: int
    skipped: int


def meanings(text: str) -> dict[str, str]:
    """Capability id -> its sentence, in the document's order; raises `ValueError` for an id given twice."""
    found: dict[str, str] = {}
    for identity, meaning in re.findall(r"^\| ([A-Z]\d\d) \| (.+?) \|$", text, re.MULTILINE):
        if identity in found:
            raise ValueError(f"capability {identity} stands twice in the table")
        found[identity] = meaning
    return found


def counts(known: list[str], tests: list[Test]) -> dict[str, Count]:
    """Capability id -> counts, for every known id; a test that covers two counts for both."""
    counted: dict[str, Count] = {identity: Count(passing=0, failing=0, skipped=0) for identity in known}
    for test in tests:
        for identity in set(test["covers"]) & counted.keys():
            match test["outcome"]:
                case "passed":
                    counted[identity]["passing"] += 1
                case "failed":
                    counted[identity]["failing"] += 1
                case _:
                    counted[identity]["skipped"] += 1
    return counted


def lines(known: dict[str, str], counted: dict[str, Count]) -> Iterator[str]:
    """The table for people: id, passing, failing, skipped, meaning."""
    yield "id   pass fail skip  meaning"
    for identity, meaning in known.items():
        count = counted[identity]
        yield f"{identity}  {count['passing']:4} {count['failing']:4} {count['skipped']:4}  {meaning}"
    shown = sum(1 for count in counted.values() if count["passing"] and not count["failing"])
    yield f"{shown} of {len(known)} capabilities have passing tests and no failing one."


def main() -> None:
    """Print the table, as text or JSON."""
    parser = argparse.ArgumentParser(prog="./dev capabilities", description=__doc__)
    parser.add_argument("--json", action="store_true", help="counts per id as JSON")
    as_json = parser.parse_args().json
    known = meanings(DOCUMENT.read_text(encoding="utf-8"))
    tests: list[Test] = []
    if REPORT.exists():
        tests = json.loads(REPORT.read_text(encoding="utf-8"))["tests"]
    else:
        sys.stderr.write("No full test run has been reported yet: run ./dev test.\n")
    counted = counts(list(known), tests)
    sys.stdout.write(json.dumps(counted) + "\n" if as_json else "\n".join(lines(known, counted)) + "\n")


if __name__ == "__main__":
    main()
