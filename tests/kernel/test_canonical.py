"""Canonical JSON (design: digests are over the full canonical JSON; bad input)."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workstead import errors
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

LIMIT_BYTES = 1_000_000

# One value, its only canonical text: the vectors another implementation would be checked against.
VECTORS: list[tuple[Json, str]] = [
    ({}, "{}"),
    ({"b": 1, "a": [True, False, None]}, '{"a":[true,false,null],"b":1}'),
    ({"é": 1, "z": 2, "Z": 3, "😀": 4, "": 5}, '{"":5,"Z":3,"z":2,"é":1,"😀":4}'),
    ({"\ufb00": 1, "😀": 2}, '{"\ufb00":1,"😀":2}'),
    ('tab\t quote" back\\ slash/ bell\x07 é', '"tab\\t quote\\" back\\\\ slash/ bell\\u0007 é"'),
    ([1, 1.0, -0.0, 1e21, 1e-7, 0.1], "[1,1.0,-0.0,1e+21,1e-7,0.1]"),
    ([-(2**63), 2**64 - 1], "[-9223372036854775808,18446744073709551615]"),
]

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values: st.SearchStrategy[Json] = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=25,
)


def load(raw: bytes) -> Json:
    return canonical.load(raw, limit_bytes=LIMIT_BYTES)


def refused(raw: bytes) -> errors.Refusal:
    with pytest.raises(errors.Refusal) as caught:
        load(raw)
    assert caught.value.kind is errors.Kind.INVALID
    return caught.value


@pytest.mark.parametrize(("value", "expected"), VECTORS)
def test_a_value_has_one_text_and_one_digest(value: Json, expected: str) -> None:
    """Stored formats only grow: these texts may never change."""
    assert canonical.text(value) == expected
    assert canonical.dump(value) == expected.encode()
    assert canonical.digest(value) == hashlib.sha256(expected.encode()).hexdigest()


@given(values)
def test_what_was_dumped_loads_to_the_same_value_and_text(value: Json) -> None:
    """Reading and writing again changes nothing, so a digest can be checked later."""
    raw = canonical.dump(value)
    assert canonical.dump(load(raw)) == raw
    assert load(json.dumps(value).encode()) == value


@dataclass
class Thing:
    name: str


@pytest.mark.parametrize("value", [Thing("x"), datetime(2026, 1, 1, tzinfo=UTC), {1: 2}, b"x", {"a": {1}}, 2**64])
def test_what_is_not_json_is_an_error_of_the_program(value: object) -> None:
    """A silent own form of a time or a class would get into digests."""
    with pytest.raises(TypeError):
        canonical.dump(value)


@pytest.mark.covers("K15")
@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b'{"a": NaN}', "a"),
        (b'{"a": [1, Infinity]}', "a[1]"),
        (b"[-Infinity]", "[0]"),
        (b'{"a": 1e999}', "a"),
        (b'{"a": {"b": 18446744073709551616}}', "a.b"),
        (b'{"a": -9223372036854775809}', "a"),
        (b"[" + b"9" * 100_000 + b"]", "[0]"),
        (b'{"cards": [0, 1, {"title": "\\ud800"}]}', "cards[2].title"),
        (b'{"a b": "\\udc00\\ud800"}', '["a b"]'),
        (b'{"\\ud800": 1}', '["\\ud800"]'),
        (b'{"a": "x\\u0000y"}', "a"),
        (b'{"a\\u0000": 1}', '["a\\u0000"]'),
        (b'{"x": {"a": 1, "a": 1}}', "x.a"),
        (b'{"x": {"a": 1, "\\u0061": 2}}', "x.a"),
        (b'"\\u0000"', "$"),
    ],
)
def test_values_that_others_would_read_differently_are_refused_with_their_path(raw: bytes, path: str) -> None:
    """Bad input: duplicate keys, huge numbers, NULs and lone surrogates (what done means)."""
    refusal = refused(raw)
    assert refusal.code == "json_invalid"
    assert [issue.path for issue in refusal.issues] == [path]


@pytest.mark.covers("K15")
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b'{"a": 1,}',
        b"{'a': 1}",
        b"[1] 2",
        b'"\x01"',
        b"\xef\xbb\xbf{}",
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"\xc0\xaf"',
        b'"\x00"',
        b"0x10",
        b"01",
    ],
)
def test_text_that_is_not_json_is_refused_at_its_place(raw: bytes) -> None:
    """Bad input: truncated and malformed text says where, and never repeats the data."""
    refusal = refused(raw)
    assert refusal.code == "json_malformed"
    assert refusal.issues[0].path == "$"
    assert "line" in refusal.message or "byte" in refusal.message


@pytest.mark.covers("K15")
def test_depth_is_limited_where_it_passes_the_limit() -> None:
    """Bad input: deep JSON, a little and far past the limit."""
    assert load(b"[" * 64 + b"]" * 64) is not None
    refusal = refused(b'{"a":' * 65 + b"1" + b"}" * 65)
    assert refusal.issues[0].path == ".".join("a" * 64)
    assert "64" in refused(b"[" * 400_000).message


@pytest.mark.covers("K15")
def test_size_is_limited_before_anything_is_read() -> None:
    """Bad input: oversized."""
    with pytest.raises(errors.Refusal) as caught:
        canonical.load(b"[1,2]", limit_bytes=4)
    assert caught.value.code == "json_too_large"
    assert canonical.load(b"[1,2]", limit_bytes=5) == [1, 2]


def test_several_mistakes_are_all_named_in_order() -> None:
    """One answer says everything that is wrong, ten at most."""
    refusal = refused(b'{"z": NaN, "a": ["\\u0000", {"k": 1, "k": 2}]}')
    assert [issue.path for issue in refusal.issues] == ["z", "a[0]", "a[1].k"]
    assert len(refused(b"[" + b",".join([b"NaN"] * 50) + b"]").issues) == 10


def test_a_very_long_place_is_shortened() -> None:
    """A refusal stays small whatever was sent."""
    refusal = refused(b'{"' + b"k" * 100_000 + b'": NaN}')
    assert len(refusal.message) < 500


ODD = st.sampled_from(
    [
        *(b'{"a":1,"a":1}', b'{"a":1,"\\u0061":2}', b"1e400", b"-0", b"-0.0", b"1.0", b"1e2", b"18446744073709551615"),
        *(b"18446744073709551616", b"-9223372036854775809", b'"\\ud800"', b'"\\u0000"', b'"\\\\u0000"', b"NaN"),
        *(b'"\xc3\xa9"', b'"\xff"', b'"\\u00e9"', b'"\\/"', b'"\x7f"', b"[" * 64 + b"]" * 64, b"[" * 65 + b"]" * 65),
    ]
)


@pytest.mark.covers("K15")
@given(
    raw=st.lists(ODD | values.map(orjson.dumps), min_size=1, max_size=4).map(lambda some: b"[" + b",".join(some) + b"]")
)
def test_white_space_changes_neither_a_value_nor_a_refusal(raw: bytes) -> None:
    """Text that is written as this program would write it is read on a shorter way, with the same result."""

    def outcome(given: bytes) -> object:
        try:
            value = load(given)
        except errors.Refusal as refusal:
            return refusal.code, [issue.path for issue in refusal.issues]
        return json.dumps(value)

    assert outcome(raw) == outcome(raw + b" ")
