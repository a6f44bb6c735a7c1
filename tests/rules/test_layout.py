"""House style, lines 1, 2, 6 and 55: where things stand and what they are called."""

import ast
import re
from pathlib import PurePosixPath

from rules import tree

# A module needs no test file of its own when everything in it is run by the tests of its neighbours.
NOT_MIRRORED = {
    r"(.*/)?__init__\.py": "holds a docstring only",
    r"(.*/)?__main__\.py": "one call of the command line",
    r"(.*/)?tables\.py": "tables only; the statements of its package run on them",
    r"(?!kernel/).*operations\.py": "a tuple of entries; the tests of their handlers go through it",
    r"migrations/.*": "tested as a sum in tests/migration",
}


def test_an_init_file_is_a_docstring_and_nothing_else() -> None:
    """House style, line 6: callers import the module."""
    fuller = [
        tree.name(path)
        for path in tree.files(tree.SOURCE, "__init__.py")
        if [type(node) for node in tree.parsed(path).body] != [ast.Expr] or not ast.get_docstring(tree.parsed(path))
    ]
    assert not fuller


def test_every_folder_of_modules_is_a_package() -> None:
    """The import contracts see packages only."""
    folders = {path.parent for path in tree.files(tree.SOURCE, ".py")}
    missing = [
        tree.name(folder)
        for folder in sorted(folders)
        if not (folder / "__init__.py").exists() and folder.parts[-2:] != ("migrations", "versions")
    ]
    assert not missing


def test_no_module_is_a_drawer() -> None:
    """House style, line 1."""
    drawers = re.compile(r"(^|_)(utils?|helpers?|common|misc)(_|$)")
    found = [
        tree.name(path) for path in tree.code() if any(drawers.search(part) for part in (path.stem, path.parent.name))
    ]
    assert not found


def test_every_module_says_what_it_is() -> None:
    """House style, line 2: the first docstring line."""
    silent = [tree.name(path) for path in tree.code() if not ast.get_docstring(tree.parsed(path))]
    assert not silent


def test_every_module_has_a_test_file() -> None:
    """House style, line 55: `work/cards.py` is tested by `tests/work/test_cards.py`, or a test file names it.

    A test file that tests other modules too says so: `COVERS_MODULES = ("work/cards.py", ...)`.
    """
    named = covered_modules()
    untested = [
        module
        for module in modules()
        if module not in named
        and not (tree.TESTS / mirror(module)).exists()
        and not any(re.fullmatch(pattern, module) for pattern in NOT_MIRRORED)
    ]
    assert not untested, "no test file for " + ", ".join(untested)


def test_what_a_test_file_says_it_tests_exists() -> None:
    """A renamed module must not keep a claim alive."""
    assert not covered_modules() - set(modules())


def modules() -> list[str]:
    """Every module as `work/cards.py`."""
    return [path.relative_to(tree.SOURCE).as_posix() for path in tree.files(tree.SOURCE, ".py")]


def mirror(module: str) -> str:
    """Where the tests of a module stand, under `tests/`."""
    path = PurePosixPath(module)
    return str(path.with_name(f"test_{path.name}"))


def covered_modules() -> set[str]:
    """What test files name in `COVERS_MODULES`."""
    named: set[str] = set()
    for path in tree.files(tree.TESTS, ".py"):
        for node in tree.parsed(path).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COVERS_MODULES":
                named.update(ast.literal_eval(node.value))
    return named
