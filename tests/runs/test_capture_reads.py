"""Stretches of what a command printed."""

import pytest

from workstead.runs import capture_reads


@pytest.mark.covers("K10")
def test_a_stretch_ends_with_a_line() -> None:
    """A reader gets whole lines where there are any."""
    raw = b"a" * 70 + b"\n" + b"b" * 70
    assert capture_reads.stretch_bytes(raw, limit_bytes=100) == 71
    assert capture_reads.stretch_bytes(b"a" * 200, limit_bytes=100) == 100
    assert capture_reads.stretch_bytes(b"a" * 100, limit_bytes=100) == 100


@pytest.mark.covers("K09")
def test_a_secret_is_never_cut_in_two() -> None:
    """S21: half a secret is not known as one."""
    secret = b"ws_link_" + b"k" * 43
    raw = b"x" * 60 + b" " + secret + b" " + b"y" * 100
    end = capture_reads.stretch_bytes(raw, limit_bytes=90)
    assert end <= 61


def test_bytes_that_are_no_text_are_counted_as_bytes() -> None:
    """Offsets must lead on exactly, whatever a command prints."""
    raw = b"\xff\xfe" * 40 + b"\n" + b"\xff" * 100
    end = capture_reads.stretch_bytes(raw, limit_bytes=100)
    assert 0 < end <= 100
