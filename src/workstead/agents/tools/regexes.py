"""Regular expressions from agents, guarded: what a pattern may cost on one line is known before it runs. Pure.

Python's engine backtracks and cannot be interrupted, so a hostile or careless pattern would halt the server. A long
repeat around a repeat and references to groups are refused (their cost has no useful bound). For everything else the
number of steps is a power of the line's length, and lines are searched so far that one costs at most `STEPS_LIMIT`.
"""

import importlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workstead import errors

# The parser has no public name and no published types; a change of it stops the start here, and the tests.
sre: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

LIMIT_CHARS = 1000
LINE_LIMIT_CHARS = 2000
# About a fifth of a second; the search pauses between lines, so nobody waits longer for it.
STEPS_LIMIT = 20_000_000

_LINE_MIN_CHARS = 40
_SHORT_REPEAT = 16
_BEGINNINGS = (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)
_REPEATS = {sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT}


@dataclass(frozen=True, kw_only=True)
class Guarded:
    """A pattern that can be run. line_chars: how much of a line may be searched with it."""

    pattern: re.Pattern[str]
    line_chars: int


@dataclass(frozen=True, kw_only=True)
class _Cost:
    """Steps on a line of n characters: at most factor * n ** degree, for one start. varies: may match in many ways."""

    degree: int = 0
    factor: int = 1
    varies: bool = False


def guarded(written: str) -> Guarded:
    """The compiled pattern; raises `invalid` for what is none or what could run for long."""
    if not written or len(written) > LIMIT_CHARS:
        raise errors.invalid("pattern_invalid", f"A pattern has 1 to {LIMIT_CHARS} characters.")
    try:
        parsed = parser.parse(written)
        pattern = re.compile(written)
    except (re.error, OverflowError, RecursionError) as error:
        raise errors.invalid("pattern_invalid", f"This is no regular expression of Python: {error}.") from None
    cost = _sequence(list(parsed))
    anchored = len(parsed) > 0 and parsed[0][1] in _BEGINNINGS
    degree = cost.degree + (0 if anchored else 1)
    if degree == 0:
        return Guarded(pattern=pattern, line_chars=LINE_LIMIT_CHARS)
    line_chars = int((STEPS_LIMIT * math.factorial(degree) / cost.factor) ** (1 / degree))
    if line_chars < _LINE_MIN_CHARS:
        raise _refused("has too many parts that can match in several ways")
    return Guarded(pattern=pattern, line_chars=min(line_chars, LINE_LIMIT_CHARS))


def _sequence(items: Sequence[tuple[Any, Any]]) -> _Cost:
    total = _Cost()
    for operation, value in items:
        one = _item(operation, value)
        total = _Cost(
            degree=total.degree + one.degree,
            factor=min(total.factor * one.factor, STEPS_LIMIT),
            varies=total.varies or one.varies,
        )
    return total


def _item(operation: Any, value: Any) -> _Cost:
    if operation in _REPEATS:
        return _repeat(*value)
    if operation is sre.SUBPATTERN:
        return _sequence(list(value[3]))
    if operation is sre.BRANCH:
        return _branch([list(alternative) for alternative in value[1]])
    if operation in {sre.ASSERT, sre.ASSERT_NOT}:
        return _sequence(list(value[1]))
    if operation is sre.ATOMIC_GROUP:
        return _sequence(list(value))
    if operation in {sre.GROUPREF, sre.GROUPREF_EXISTS}:
        raise _refused("refers to a group")
    return _Cost()


def _repeat(least: int, most: Any, items: Any) -> _Cost:
    inner = _sequence(list(items))
    times = int(most)
    if times > _SHORT_REPEAT:
        if inner.varies:
            raise _refused("has a repeat, or alternatives that begin alike, inside a repeat")
        return _Cost(degree=inner.degree + 1, factor=inner.factor, varies=True)
    # A short repeat costs what as many copies of its inside would.
    ways = times - least + 1
    return _Cost(
        degree=inner.degree * times,
        factor=min(inner.factor ** max(times, 1) * ways, STEPS_LIMIT),
        varies=inner.varies or ways > 1,
    )


def _branch(alternatives: list[list[tuple[Any, Any]]]) -> _Cost:
    costs = [_sequence(alternative) for alternative in alternatives]
    return _Cost(
        degree=max(cost.degree for cost in costs),
        factor=min(sum(cost.factor for cost in costs), STEPS_LIMIT),
        varies=any(cost.varies for cost in costs) or not _distinct(alternatives),
    )


def _distinct(alternatives: list[list[tuple[Any, Any]]]) -> bool:
    """Whether the first character decides which alternative is meant."""
    first = [
        chr(alternative[0][1]).casefold() if alternative and alternative[0][0] is sre.LITERAL else None
        for alternative in alternatives
    ]
    return None not in first and len(set(first)) == len(first)


def _refused(why: str) -> errors.Refusal:
    message = f"The pattern {why}; such a search could take forever. Search for a simpler part of it."
    return errors.invalid("pattern_too_costly", message)
