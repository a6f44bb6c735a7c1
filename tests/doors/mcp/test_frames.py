"""Frames read exactly, and written with what a log needs."""

import json

import pytest

from workstead.doors.mcp import frames
from workstead.doors.mcp.frames import ProtocolError
from workstead.kernel.canonical import Json

pytestmark = pytest.mark.covers("D01")


def test_a_message_keeps_its_id_as_it_came() -> None:
    """Text and integers are different ids."""
    for identity in ("1", 1, "", -5):
        found = frames.message({"jsonrpc": "2.0", "id": identity, "method": "m"})
        assert found is not None
        assert (found.id, found.notification, found.params) == (identity, False, {})


def test_an_error_is_answered_under_the_id_where_it_has_one() -> None:
    """JSON-RPC: null only where it could not be read."""
    values: list[Json] = [{"id": 7}, {"id": True}, {"id": None}, [], None]
    assert [frames.id_of(value) for value in values] == [7, *[None] * 4]


def test_an_error_carries_its_data_and_the_request() -> None:
    """What a client needs, and what the log is asked with."""
    wrong = ProtocolError(code=-1, message="no", data={"requested": "x"})
    shown = json.loads(frames.error(3, wrong, request_id="r"))
    assert shown["error"] == {"code": -1, "message": "no", "data": {"requested": "x", "request_id": "r"}}


def test_too_many_bytes_are_not_parsed() -> None:
    """The body cap of doors.md, wherever the body came from."""
    with pytest.raises(ProtocolError) as refused:
        frames.read(b" " * (frames.BODY_LIMIT_BYTES + 1))
    assert refused.value.code == frames.PARSE_ERROR
