"""Glob patterns over relative paths."""

import pytest

from workstead import errors
from workstead.agents.tools import globs


@pytest.mark.covers("W17")
@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/deep/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("src/**", "src/x/y", True),
        ("**/test_?.py", "tests/test_a.py", True),
        ("**/test_?.py", "tests/test_ab.py", False),
        ("[ab]/*", "a/x", True),
        ("[!ab]/*", "a/x", False),
        ("*.{ts,tsx}", "web/a.tsx", True),
        ("{a,b}/{c,d}", "b/c", True),
        ("{a,b}/{c,d}", "b/e", False),
        ("A.py", "a.py", False),
    ],
)
def test_a_pattern_means_these_paths(pattern: str, path: str, matches: bool) -> None:
    """A star stays within a name; without a slash a pattern is meant at any depth."""
    assert globs.compiled(pattern).matches(path) is matches


@pytest.mark.covers("W17")
@pytest.mark.parametrize("pattern", ["", "/etc/*", "../*", "a/../b", "x" * 1001, "{a,b}" * 7])
def test_a_pattern_that_leads_out_or_is_too_large_is_refused(pattern: str) -> None:
    """A pattern is input like any other."""
    with pytest.raises(errors.Refusal) as refused:
        globs.compiled(pattern)
    assert refused.value.code == "glob_invalid"


def test_a_hostile_pattern_ends_at_once() -> None:
    """Nothing backtracks over folders, and a name's stars are atomic."""
    pattern = globs.compiled("/".join(["**", "*a*"] * 60) + "/b"[0:1] + "**/*a*a*a*a*a*a*b")
    assert not pattern.matches("/".join(["a" * 50] * 60))
