"""Strict YAML: what is read, what is refused, and with which line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workstead.work import yaml_source


def _issues(source: bytes) -> list[str]:
    return [f"{issue.path}: {issue.message}" for issue in yaml_source.parse(source, name="f.yaml").issues]


def _value(text: str) -> object:
    root = yaml_source.parse(text.encode(), name="f.yaml").root
    assert isinstance(root, yaml_source.Scalar)
    return root.value


@pytest.mark.covers("W01")
@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        (b"a: 1\nb: 2\na: 3\n", 3, "`a` stands on line 1 already"),
        (b"a: &x 1\nb: *x\n", 1, "Anchors and aliases"),
        (b"a: 1\nb: [*x, *x]\n", 2, "Anchors and aliases"),
        (b"a:\n\tb: 1\n", 2, "A tab indents this line"),
        (b"a: 1\n---\nb: 1\n", 2, "A second document"),
        (b"a: 1\nb: \xff\n", 2, "not UTF-8"),
        (b"a: 1\nb: x\0y\n", 2, "NUL"),
        (b"a: !!python/object:os.system x\n", 1, "tag"),
        (b"a: !mine {b: 1}\n", 1, "tag"),
        (b"a: [1, 2\nb: 3\n", 2, "not valid YAML"),
        (b"? [a, b]\n: 1\n", 1, "A key must be a plain word"),
        (b"", 1, "empty"),
        (b"# nothing but a remark\n", 1, "empty"),
    ],
)
def test_what_is_not_strict_is_refused_with_its_line(source: bytes, line: int, words: str) -> None:
    """Duty: quality.md, bad input; each mistake is named where it stands."""
    (issue,) = _issues(source)
    assert issue.startswith(f"f.yaml:{line}: ")
    assert words in issue


def test_a_source_of_two_mebibytes_is_refused_without_being_parsed() -> None:
    """Duty: quality.md, oversized input."""
    (issue,) = _issues(b"a: " + b"x" * (2 * 1024 * 1024))
    assert str(yaml_source.MAX_BYTES) in issue


@pytest.mark.parametrize("opening", ["[", "{a: "])
def test_deep_nesting_is_refused_and_does_not_exhaust_the_stack(opening: str) -> None:
    """Duty: quality.md, deep input; 50 000 levels fit into the size limit."""
    (issue,) = _issues((opening * 50_000).encode())
    assert "nest" in issue


def test_too_many_values_are_refused() -> None:
    """Duty: quality.md, bombs; a wide list is as dear as a deep one."""
    (issue,) = _issues(b"[" + b"1," * (yaml_source.MAX_NODES + 1) + b"1]")
    assert "more than" in issue


def test_a_doubling_alias_bomb_is_refused_at_its_first_anchor() -> None:
    """Duty: quality.md, decompression bombs."""
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 40)]
    (issue,) = _issues("\n".join(lines).encode())
    assert issue.startswith("f.yaml:1: ")


@given(source=st.text(alphabet="a1 \n\t:-?[]{},&*!|>'\"%@#~.\x85\ufeff\ud7ff").map(str.encode) | st.binary())
def test_any_bytes_are_read_or_refused_and_never_fail(source: bytes) -> None:
    """Duty: quality.md, malformed input."""
    parsed = yaml_source.parse(source, name="f.yaml")
    assert (parsed.root is None) == bool(parsed.issues)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("no", "no"),
        ("on", "on"),
        ("12", 12),
        ("012", "012"),
        ("1_000", "1_000"),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        (".inf", ".inf"),
        ("~", None),
        ("'12'", "12"),
        ("2026-01-01", "2026-01-01"),
        ("9" * 40, "9" * 40),
    ],
)
def test_only_plain_words_and_numbers_of_the_core_rules_are_other_than_text(text: str, value: object) -> None:
    """Duty: our decision; YAML 1.1 would read `no` as false and `012` as ten."""
    found = _value(text)
    assert found == value
    assert type(found) is type(value)


def test_a_byte_order_mark_and_windows_line_ends_are_read() -> None:
    """Duty: our decision; editors on Windows write both."""
    parsed = yaml_source.parse(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n", name="f.yaml")
    assert isinstance(parsed.root, yaml_source.Mapped)
    assert [entry.key for entry in parsed.root.entries] == ["a", "b"]


def test_every_entry_remembers_the_line_of_its_key() -> None:
    """Duty: our decision; an issue points at the key, not at the value below it."""
    root = yaml_source.parse(b"a:\n  - 1\n  - 2\nb: {c: 1}\n", name="f.yaml").root
    assert isinstance(root, yaml_source.Mapped)
    assert [entry.line for entry in root.entries] == [1, 4]
