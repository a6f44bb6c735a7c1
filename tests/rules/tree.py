"""The files of the repository, as the rules look at them."""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "workstead"
TESTS = ROOT / "tests"
DOCS = ROOT / "docs"

# What tools make; nobody reads or commits it.
MADE = {".git", ".venv", "build", "dist", "node_modules", "__pycache__", ".hypothesis"}


def files(folder: Path, *endings: str) -> Iterator[Path]:
    """The files under a folder, in order, with one of the endings (any when none is given)."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in MADE and not name.endswith("_cache"))
        for name in sorted(names):
            if name.endswith(endings or ("",)):
                yield Path(place, name)


def code() -> Iterator[Path]:
    """Every Python file whose size and form is checked."""
    for folder in ("src", "tests", "bench"):
        yield from files(ROOT / folder, ".py")


def texts() -> Iterator[tuple[str, str]]:
    """Path and text of every text file that is ours to word."""
    for path in files(ROOT):
        if path.is_symlink() or not path.is_file():
            continue
        try:
            yield name(path), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def name(path: Path) -> str:
    """The path as a rule prints it."""
    return path.relative_to(ROOT).as_posix()


def parsed(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))
