"""Patterns of agents: what may run, and for how long at most."""

import time

import pytest

from workstead import errors
from workstead.agents.tools import regexes

USUAL = [
    r"def \w+\(",
    r"^class .*Error",
    r"TODO|FIXME|XXX",
    r"import (os|sys|json)\b",
    r"(?i)password\s*=\s*['\"]",
    r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}",
    r"(?:foo|bar)+",
    r"foo.*bar.*baz",
    r"\bx{2,5}y?\b",
    r"(?<!un)safe(?=ly)",
    r"\$\{[A-Z_]+\}",
]
COSTLY = [
    r"(a+)+$",
    r"(a*)*b",
    r"(a|a)*b",
    r"(a|ab)+c",
    r"([a-z]+,)*x",
    r"(a?b?)*c",
    r"(.*a){20}",
    r"(?=(a+)+b)",
    r"a?" * 30 + "a" * 30,
    ".*" * 8 + "x",
    r"(a)\1",
    r"(?P<q>['\"]).*(?P=q)",
    r"(a)?(?(1)b|c)",
]


@pytest.mark.covers("W17")
@pytest.mark.parametrize("written", USUAL)
def test_usual_patterns_run(written: str) -> None:
    """A guard that refuses what people search for is of no use."""
    assert regexes.guarded(written).line_chars >= 140


@pytest.mark.covers("W17")
@pytest.mark.parametrize("written", COSTLY)
def test_a_pattern_without_a_useful_bound_is_refused(written: str) -> None:
    """Python's engine cannot be interrupted: one such search would halt the server."""
    with pytest.raises(errors.Refusal) as refused:
        regexes.guarded(written)
    assert refused.value.code == "pattern_too_costly"


@pytest.mark.covers("W17")
@pytest.mark.parametrize("written", ["", "(", "[", "*a", "a" * 1001, "(?P<a>x)(?P<a>y)", "a{99999999999}"])
def test_what_is_no_pattern_is_refused(written: str) -> None:
    """The message is the parser's; the pattern is the agent's own."""
    with pytest.raises(errors.Refusal) as refused:
        regexes.guarded(written)
    assert refused.value.code == "pattern_invalid"


@pytest.mark.covers("W17")
@pytest.mark.parametrize("written", ["a.*a.*b", ".*.*b", "a.*a.*a.*b", "(?:x|y|a).*a+b", r"\w+\s*\w+\s*b"])
@pytest.mark.parametrize("letter", ["a", " ", "x"])
def test_the_worst_line_for_a_pattern_ends_soon(written: str, letter: str) -> None:
    """The bound is what keeps everybody else from waiting; one line may take a fraction of a second."""
    guarded = regexes.guarded(written)
    line = letter * guarded.line_chars
    began = time.process_time()
    guarded.pattern.search(line)
    assert time.process_time() - began < 5
