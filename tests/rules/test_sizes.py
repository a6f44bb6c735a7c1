"""House style, lines 7, 9, 65 and 67: nothing grows into the place where things go."""

import ast
from collections.abc import Iterator

from rules import tree

MODULE_LINES = 500
FUNCTION_LINES = 60
TEMPLATE_LINES = 120
SCRIPT_LINES = 120

# "path" or "path::function" -> ceiling. A ceiling may only go down; its line goes when no longer needed.
EXCEPTIONS: dict[str, int] = {}


def measured() -> Iterator[tuple[str, int, int]]:
    """What is measured, its lines, the limit it has without an exception."""
    for path in tree.code():
        yield tree.name(path), len(path.read_text(encoding="utf-8").splitlines()), MODULE_LINES
        for node in ast.walk(tree.parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield f"{tree.name(path)}::{node.name}", lines, FUNCTION_LINES
    for path in tree.files(tree.SOURCE, ".html", ".js"):
        limit = TEMPLATE_LINES if path.suffix == ".html" else SCRIPT_LINES
        yield tree.name(path), len(path.read_text(encoding="utf-8").splitlines()), limit


def test_nothing_is_longer_than_its_limit() -> None:
    """House style, lines 7, 9, 65 and 67."""
    over = [
        f"{what} has {lines} lines, at most {EXCEPTIONS.get(what, limit)}"
        for what, lines, limit in measured()
        if lines > EXCEPTIONS.get(what, limit)
    ]
    assert not over, "\n".join(over)


def test_no_exception_is_kept_longer_than_needed() -> None:
    """House style, line 7: a limit that does not bind is decoration."""
    needed = {what for what, lines, limit in measured() if lines > limit}
    assert not EXCEPTIONS.keys() - needed
