"""Revisions of the protocol this door speaks, and what the newest asks of a request's headers and body."""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Literal, TypeGuard, get_args

from workstead.doors.mcp.frames import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    UNSUPPORTED_VERSION,
    Message,
    ProtocolError,
)
from workstead.kernel.canonical import Json

Revision = Literal["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]

OLDEST: Revision = "2025-03-26"
NEWEST_OF_HANDSHAKES: Revision = "2025-11-25"
STATELESS: Revision = "2026-07-28"
ALL: tuple[Revision, ...] = get_args(Revision)

VERSION_HEADER = "mcp-protocol-version"
METHOD_HEADER = "mcp-method"
NAME_HEADER = "mcp-name"
ROUTING_HEADERS = (VERSION_HEADER, METHOD_HEADER, NAME_HEADER)

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"

_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_WRAPPED = re.compile(r"=\?base64\?(.*)\?=")


def known(value: object) -> TypeGuard[Revision]:
    """Whether this door speaks the revision."""
    return value in ALL


def of_request(headers: Mapping[str, str]) -> Revision:
    """The revision that a request's header names; without one it is the oldest, as that one has no such header."""
    named = headers.get(VERSION_HEADER, OLDEST)
    if not known(named):
        raise unsupported(named)
    return named


def negotiated(asked: Json) -> Revision:
    """What a handshake is answered with: the asked revision, else the newest that has handshakes."""
    return asked if known(asked) and asked != STATELESS else NEWEST_OF_HANDSHAKES


def unsupported(asked: str) -> ProtocolError:
    """The error that names what this door speaks."""
    supported: list[Json] = [*reversed(ALL)]
    return ProtocolError(
        code=UNSUPPORTED_VERSION,
        message="Unsupported protocol version",
        data={"supported": supported, "requested": asked[:100]},
    )


def check(message: Message, headers: Mapping[str, str], revision: Revision) -> None:
    """Refuse a request whose headers and body say different things: something between may have read only one."""
    if revision != STATELESS:
        _check_older(message, headers)
        return
    meta = message.params.get("_meta")
    if not isinstance(meta, dict):
        wanted = f"params._meta must be an object with {VERSION_KEY} and {CAPABILITIES_KEY}."
        raise ProtocolError(code=INVALID_PARAMS, message=wanted)
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]
    if missing:
        raise ProtocolError(code=INVALID_PARAMS, message=f"params._meta lacks {', '.join(missing)}.")
    if headers.get(VERSION_HEADER) != meta[VERSION_KEY]:
        raise _mismatch(VERSION_HEADER)
    if headers.get(METHOD_HEADER) != message.method:
        raise _mismatch(METHOD_HEADER)
    named = message.params.get(_NAMED[message.method]) if message.method in _NAMED else None
    if named is not None and _unwrapped(headers.get(NAME_HEADER)) != named:
        raise _mismatch(NAME_HEADER)


def _check_older(message: Message, headers: Mapping[str, str]) -> None:
    # A body of the newest revision without its header would be served by rules that its sender does not expect.
    meta = message.params.get("_meta")
    claimed = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    if claimed is not None and claimed != headers.get(VERSION_HEADER):
        raise _mismatch(VERSION_HEADER)


def _mismatch(header: str) -> ProtocolError:
    message = f"The header {header} is missing or says something else than the body."
    return ProtocolError(code=HEADER_MISMATCH, message=message)


def _unwrapped(value: str | None) -> str | None:
    """A header's text: as it stands, or from the base64 form for what a header cannot carry; None when broken."""
    found = _WRAPPED.fullmatch(value) if value is not None else None
    if found is None:
        return value
    try:
        raw = base64.b64decode(found[1], validate=True)
        text = raw.decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if base64.b64encode(raw).decode() == found[1] else None
