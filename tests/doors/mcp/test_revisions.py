"""Headers and body of the newest revision must say the same; the SDK's own ladder is the reference."""

import base64

import pytest
from mcp.shared import inbound

from workstead.doors.mcp import revisions
from workstead.doors.mcp.frames import HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION, Message, ProtocolError
from workstead.kernel.canonical import Json

pytestmark = pytest.mark.covers("D01")

META: dict[str, Json] = {revisions.VERSION_KEY: "2026-07-28", revisions.CAPABILITIES_KEY: {}}
HEADERS = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "get_card"}


def wrapped(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def ours(params: dict[str, Json], headers: dict[str, str]) -> int | None:
    """The code of our refusal, or None."""
    message = Message(id=1, method="tools/call", params=params)
    try:
        revisions.check(message, headers, revisions.STATELESS)
    except ProtocolError as wrong:
        return wrong.code
    return None


def theirs(params: dict[str, Json], headers: dict[str, str]) -> int | None:
    """The code of the SDK's refusal, or None."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    found = inbound.classify_inbound_request(body, headers=headers)
    return found.code if isinstance(found, inbound.InboundLadderRejection) else None


@pytest.mark.parametrize(
    ("params", "headers", "code"),
    [
        ({"_meta": META, "name": "get_card"}, HEADERS, None),
        ({"_meta": META, "name": "get_card"}, {**HEADERS, "mcp-name": wrapped("get_card")}, None),
        ({"_meta": META, "name": "gät"}, {**HEADERS, "mcp-name": wrapped("gät")}, None),
        ({"_meta": META}, {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call"}, None),
        ({"name": "get_card"}, HEADERS, INVALID_PARAMS),
        ({"_meta": [], "name": "get_card"}, HEADERS, INVALID_PARAMS),
        ({"_meta": {revisions.VERSION_KEY: "2026-07-28"}}, HEADERS, INVALID_PARAMS),
        ({"_meta": {revisions.CAPABILITIES_KEY: {}}}, HEADERS, INVALID_PARAMS),
        ({"_meta": {**META, revisions.VERSION_KEY: "2025-11-25"}}, HEADERS, HEADER_MISMATCH),
        ({"_meta": {**META, revisions.VERSION_KEY: None}}, HEADERS, HEADER_MISMATCH),
        ({"_meta": META, "name": "get_card"}, {**HEADERS, "mcp-method": "tools/list"}, HEADER_MISMATCH),
        ({"_meta": META, "name": "other"}, HEADERS, HEADER_MISMATCH),
        ({"_meta": META, "name": "get_card"}, {**HEADERS, "mcp-name": "=?base64?!?="}, HEADER_MISMATCH),
        ({"_meta": META, "name": "get_card"}, {**HEADERS, "mcp-name": "=?base64?Z2V0X2NhcmR=?="}, HEADER_MISMATCH),
        ({"_meta": META, "name": "get_card"}, {"mcp-protocol-version": "2026-07-28"}, HEADER_MISMATCH),
    ],
)
def test_we_refuse_what_the_reference_refuses(
    params: dict[str, Json], headers: dict[str, str], code: int | None
) -> None:
    """facts/mcp.md 1.3: mismatch, absence or a duplicate."""
    assert ours(params, headers) == code == theirs(params, headers)


def test_a_revision_nobody_knows_is_answered_with_those_there_are() -> None:
    """The one code on which clients choose again."""
    with pytest.raises(ProtocolError) as refused:
        revisions.of_request({"mcp-protocol-version": "2027-01-01"})
    assert refused.value.code == UNSUPPORTED_VERSION
    assert refused.value.data == {"supported": [*reversed(revisions.ALL)], "requested": "2027-01-01"}


def test_a_body_of_the_newest_revision_needs_its_header() -> None:
    """Served as an older one it would be read by rules that its sender does not expect."""
    message = Message(id=1, method="tools/list", params={"_meta": META})
    with pytest.raises(ProtocolError) as refused:
        revisions.check(message, {}, revisions.of_request({}))
    assert refused.value.code == HEADER_MISMATCH
