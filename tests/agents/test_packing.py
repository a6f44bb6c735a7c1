"""Packing: every byte of the source is passed on once, in order (W14); facts/work.md 9.5, step 2."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workstead.agents import packing
from workstead.agents.packing import Place, Source

pytestmark = pytest.mark.covers("W14")

_PIECE = re.compile(r'<source (\w+) bytes="(\d+)-(\d+)" of="(\d+)">\n(.*?)\n</source>', re.DOTALL)


def passed_on(sources: list[Source], limit: int) -> list[str] | None:
    """What each call is given, None where not even one character fits."""
    given_to: list[str] = []
    place = Place()
    while place.index < len(sources):
        packed = packing.take(sources, place, lambda text: len(text.encode()) <= limit)
        if packed is None:
            return None
        assert (packed.next.index, packed.next.offset) > (place.index, place.offset)
        given_to.append(packed.text)
        place = packed.next
    return given_to


@settings(max_examples=80, deadline=None)
@given(
    texts=st.lists(st.text(alphabet="abc é€𝄞\n", min_size=1, max_size=90), min_size=1, max_size=8),
    limit=st.integers(60, 200),
)
def test_the_pieces_are_the_source_whatever_fits(texts: list[str], limit: int) -> None:
    """Without a gap, without an overlap, at the borders of characters; the labels say which bytes they are."""
    sources = [Source(label=f"s{number}", text=text) for number, text in enumerate(texts)]
    given_to = passed_on(sources, limit)
    assert given_to is not None
    whole: dict[str, str] = {}
    for piece in given_to:
        assert len(piece.encode()) <= limit
        for label, start, end, total, text in _PIECE.findall(piece):
            before = whole.get(label, "")
            assert int(start) == len(before.encode())
            assert int(end) == int(start) + len(text.encode())
            whole[label] = before + text
            assert int(total) == len(sources[int(label[1:])].text.encode())
    assert list(whole.values()) == texts


def test_as_much_as_fits_goes_into_one_call() -> None:
    """Few calls: a summary is money."""
    sources = [Source(label=f"s{number}", text="x" * 20) for number in range(10)]
    assert passed_on(sources, 10_000) is not None
    assert len(passed_on(sources, 10_000) or []) == 1


def test_where_nothing_fits_nothing_is_passed_on() -> None:
    """The minimum is one character with its label."""
    assert passed_on([Source(label="s0", text="abc")], 10) is None
