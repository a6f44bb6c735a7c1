"""`python -m bench [NAME...] [--json FILE]`: run benchmarks by name, all when none is named."""

import argparse
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from bench import conversations, door, kernel, models, pages, postgresql, work
from bench.figures import Figure

# Name -> what measures it; each yields its figures as they are ready.
BENCHMARKS: dict[str, Callable[[], Iterable[Figure]]] = {
    "conversations": conversations.run,
    "door": door.run,
    "kernel": kernel.run,
    "models": models.run,
    "pages": pages.run,
    "postgresql": postgresql.run,
    "work": work.run,
}


def main() -> None:
    """Run, print one line per figure, keep them when asked."""
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(BENCHMARKS) or 'none yet'}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures here")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are: {', '.join(BENCHMARKS) or 'none yet'}")
    kept: list[dict[str, object]] = []
    for name in chosen.names or BENCHMARKS:
        for figure in BENCHMARKS[name]():
            print(f"{name}: {figure.line()}", flush=True)
            kept.append({"benchmark": name, "ratio": figure.ratio, **asdict(figure)})
    if chosen.json:
        chosen.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
