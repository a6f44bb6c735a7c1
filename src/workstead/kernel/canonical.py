"""Canonical JSON: one text for one value, its digest, and the strict reading of JSON from outside.

Canonical means: keys sorted by their UTF-8 bytes, no white space, UTF-8 without needless escapes, integers as
written, floats in their shortest form (`1.0` stays `1.0`). It is what is stored and what digests are over.

Text from outside is refused, never repaired: a duplicate key, a number JSON cannot carry or a lone surrogate
would mean one thing to us and another to whoever reads the value after us. NUL is refused in keys and in
strings, because neither a file name, nor a command, nor PostgreSQL's text can hold it.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

import orjson

from workstead import errors

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

DEPTH_LIMIT = 64

_ISSUES_SHOWN = 10
_PATH_SHOWN = 200
_INTEGER_MIN = -(2**63)
_INTEGER_MAX = 2**64 - 1
# A dataclass or a datetime would get orjson's own form instead of the one this program stores: a mistake.
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def dump(value: object) -> bytes:
    """The canonical bytes of a JSON value; raises TypeError for what is not one."""
    return orjson.dumps(value, option=_OPTIONS)


def text(value: object) -> str:
    """The canonical text of a JSON value."""
    return dump(value).decode()


def digest(value: object) -> str:
    """SHA-256 of the canonical bytes, in hexadecimal."""
    return hashlib.sha256(dump(value)).hexdigest()


def digest_text(canonical_text: str) -> str:
    """SHA-256 of a text that `text` made."""
    return hashlib.sha256(canonical_text.encode()).hexdigest()


def parse(stored: str | bytes) -> Json:
    """The value of JSON that this program wrote itself; for anything from outside use `load`."""
    value: Json = orjson.loads(stored)
    return value


def load(raw: bytes, *, limit_bytes: int, limit_depth: int = DEPTH_LIMIT) -> Json:
    """The value of JSON that was handed in; raises `invalid` with the paths of what is wrong.

    Refused are: too many bytes, more than `limit_depth` arrays and objects inside each other, what is not
    UTF-8 or not JSON, NaN and infinity, integers past 64 bits, lone surrogates, NUL and duplicate keys.
    """
    if len(raw) > limit_bytes:
        raise errors.invalid(
            "json_too_large",
            f"Send at most {limit_bytes} bytes of JSON.",
            limit_bytes=limit_bytes,
            size_bytes=len(raw),
        )
    found = _exact(raw, limit_depth=limit_depth)
    if found is not None:
        return found
    value = _parse(raw, limit_depth=limit_depth)
    issues: list[errors.Issue] = []
    for issue in _faults(value, limit_depth=limit_depth):
        issues.append(issue)
        if len(issues) == _ISSUES_SHOWN:
            break
    if issues:
        first = issues[0]
        raise errors.invalid("json_invalid", f"The JSON at {first.path} cannot be used: {first.message}", issues=issues)
    return value


@dataclass(frozen=True, kw_only=True, slots=True)
class _Fault:
    """Stands in the parsed tree where something was wrong, so that the walk finds its path."""

    message: str
    key: str | None = None


def _exact(raw: bytes, *, limit_depth: int) -> Json:
    """The value of most well-made JSON in a fraction of the time; None where the slow way has to look.

    What is written again as the very bytes that came held no key twice, no number that was bent and no half
    surrogate. NUL survives that, and so does depth; it cannot be greater than how many brackets there are.
    """
    if raw.count(b"{") + raw.count(b"[") > limit_depth or b"\\u0000" in raw:
        return None
    try:
        value: Json = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return value if orjson.dumps(value) == raw else None


def _parse(raw: bytes, *, limit_depth: int) -> Json:
    """The tree, with faults standing in it."""
    try:
        value: Json = _READER.decode(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        _refuse_whole("json_malformed", f"byte {error.start} is not UTF-8")
    except json.JSONDecodeError as error:
        # The library's sentence names a place and what was expected there, never the data.
        _refuse_whole("json_malformed", f"line {error.lineno}, column {error.colno}: {error.msg}")
    except RecursionError:
        _refuse_whole("json_invalid", _too_deep(limit_depth))
    return value


def _refuse_whole(code: str, message: str) -> NoReturn:
    issue = errors.Issue(path="$", message=message)
    raise errors.invalid(code, f"This is not JSON that can be used: {message}.", issues=[issue]) from None


def _object(pairs: list[tuple[str, object]]) -> object:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return _Fault(message="this key stands here twice", key=key)
        seen.add(key)
    raise AssertionError("fewer keys than pairs and no key twice")


def _constant(name: str) -> object:
    return _Fault(message=f"{name} is no JSON number")


def _float(written: str) -> object:
    value = float(written)
    return value if math.isfinite(value) else _Fault(message="this number is too large")


def _integer(written: str) -> object:
    # Twenty digits and a sign: longer is past 64 bits, and reading it would only cost time.
    if len(written) <= 21 and _INTEGER_MIN <= (value := int(written)) <= _INTEGER_MAX:
        return value
    return _Fault(message="this integer does not fit in 64 bits")


_WALKED = (dict, list, _Fault)
_READER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_integer)


def _faults(root: object, *, limit_depth: int) -> Iterator[errors.Issue]:
    """Every mistake in the tree, in the order it was written; an own stack, because depth may be hostile."""
    waiting: list[tuple[object, tuple[str | int, ...]]] = [(root, ())]
    while waiting:
        value, place = waiting.pop()
        if isinstance(value, _Fault):
            at = place if value.key is None else (*place, value.key)
            yield errors.Issue(path=path(at), message=value.message)
        elif isinstance(value, str):
            if problem := _text_problem(value):
                yield errors.Issue(path=path(place), message=problem)
        elif isinstance(value, dict | list):
            if len(place) >= limit_depth:
                yield errors.Issue(path=path(place), message=_too_deep(limit_depth))
                continue
            if isinstance(value, dict):
                for key in value:
                    if not key.isprintable() and (problem := _text_problem(key)):
                        yield errors.Issue(path=path((*place, key)), message=f"in this key {problem}")
            children = value.items() if isinstance(value, dict) else enumerate(value)
            waiting.extend([(child, (*place, step)) for step, child in children if _may_fail(child)][::-1])


def _may_fail(value: object) -> bool:
    # Neither a NUL nor half a surrogate pair is printable; most texts end here.
    return not value.isprintable() if isinstance(value, str) else isinstance(value, _WALKED)


def _text_problem(value: str) -> str | None:
    if "\0" in value:
        return "a NUL character stands, which no file, command or database text can hold"
    if value.isascii():
        return None
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return "half of a surrogate pair stands alone"
    return None


def _too_deep(limit_depth: int) -> str:
    return f"more than {limit_depth} arrays and objects stand inside each other"


def path(place: tuple[str | int, ...]) -> str:
    """How an issue names a place in JSON: `cards[2].title`, `["odd key"].x`, `$` for the whole."""
    parts: list[str] = []
    for step in place:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif step.isidentifier() and step.isascii():
            parts.append(f".{step}")
        else:
            parts.append(f"[{json.dumps(step)}]")
    shown = "".join(parts).removeprefix(".") or "$"
    return shown if len(shown) <= _PATH_SHOWN else f"{shown[:_PATH_SHOWN]}…"
