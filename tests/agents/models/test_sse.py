"""The reader of event streams, strict where providers and networks are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workstead.agents.models import sse
from workstead.agents.models.sse import BrokenStreamError, Event

pytestmark = pytest.mark.covers("W15")


def read(*chunks: bytes, max_event_chars: int = 1000) -> list[Event]:
    reader = sse.Reader(max_event_chars=max_event_chars)
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return [*events, *reader.end()]


def said(*data: str) -> list[Event]:
    return [Event(name="message", data=each) for each in data]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", said("a", "b")),
        (b"data: a\r\n\r\ndata: b\r\r", said("a", "b")),
        (b"data: a\n\r\ndata: b\r\n\n", said("a", "b")),
        (b"data:a\ndata: b\ndata:  c\n\n", said("a\nb\n c")),
        (b": ping\n\nid: 1\nretry: 5\ndata: a\n\n", said("a")),
        (b"data\n\n", said("")),
        (b"event: x\n\ndata: a\n\n", said("a")),
        (b"event: x\nevent: y\ndata: a\n\n", [Event(name="y", data="a")]),
        (b"event:\ndata: a\n\n", said("a")),
        (b"data: a", said("a")),
        (b"data: a\r", said("a")),
        (b"\xef\xbb\xbfdata: a\n\n", said("a")),
        (b"", []),
    ],
)
def test_lines_become_events(stream: bytes, events: list[Event]) -> None:
    """facts/work.md 9.1: line ends in any mixture, joined data, comments, what the end completes."""
    assert read(stream) == events


@given(
    st.lists(st.sampled_from(["data: ä\U0001f600", "data:", "event: e", ": c", "x", ""]), max_size=12),
    st.lists(st.sampled_from(["\r", "\n", "\r\n"]), min_size=12, max_size=12),
    st.data(),
)
def test_where_the_bytes_are_cut_changes_nothing(lines: list[str], ends: list[str], data: st.DataObject) -> None:
    """A network cuts anywhere, inside a letter or a CRLF."""
    whole = "".join(line + end for line, end in zip(lines, ends, strict=False)).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert read(*pieces) == read(whole)


@pytest.mark.parametrize("stream", [b"data: \xff\n\n", b"data: \xc3", b"data: a\n\n\xe2\x82"])
def test_broken_utf8_ends_the_stream(stream: bytes) -> None:
    """Nothing is repaired: what was lost could be part of an answer."""
    with pytest.raises(BrokenStreamError, match="UTF-8"):
        read(stream)


@pytest.mark.parametrize("chunk", [b"data: " + b"x" * 100, b"data: xxxxxxxxx\n", b": comment\n"])
def test_an_event_without_end_does_not_fill_the_memory(chunk: bytes) -> None:
    """Limits: of one line, and of many lines without the blank one."""
    with pytest.raises(BrokenStreamError, match="larger than 1000"):
        read(*[chunk] * 200)


def test_many_events_are_no_large_event() -> None:
    """The limit is of each."""
    assert len(read(*[b"data: xxxxxxxxx\n\n"] * 200)) == 200
