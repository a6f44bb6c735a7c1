"""Frames: JSON-RPC messages as they are read and written; what cannot be read exactly is refused."""

from dataclasses import dataclass, field
from typing import cast

import orjson

from workstead import errors
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

BODY_LIMIT_BYTES = 1024 * 1024
BATCH_MOST = 20

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022
RATE_LIMITED = -32029
RESOURCE_NOT_FOUND = -32002  # in 2026-07-28 it is one of the invalid params

Id = str | int


# Not frozen: the interpreter itself sets the traceback of a raised exception.
@dataclass(kw_only=True, eq=False)
class ProtocolError(Exception):
    """A message that the protocol answers with an error, not a tool with a refusal. data: safe facts."""

    code: int
    message: str
    data: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Message:
    """One request, or a notification, which has no id. params: always an object."""

    id: Id | None
    method: str
    params: dict[str, Json]

    @property
    def notification(self) -> bool:
        """Whether nobody waits for an answer."""
        return self.id is None


def read(raw: bytes) -> Json:
    """The body's value. Duplicate keys, half surrogates, NaN and too much depth are parse errors too."""
    try:
        return canonical.load(raw, limit_bytes=BODY_LIMIT_BYTES)
    except errors.Refusal as refusal:
        raise ProtocolError(code=PARSE_ERROR, message=refusal.message) from None


def message(value: Json) -> Message | None:
    """One message of a body; None for an answer to something, which this door never asks.

    Raises ProtocolError for what is no JSON-RPC message.
    """
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise ProtocolError(code=INVALID_REQUEST, message='Send JSON-RPC objects with "jsonrpc": "2.0".')
    method = value.get("method")
    if method is None and ("result" in value or "error" in value):
        return None
    if not isinstance(method, str) or not method:
        raise ProtocolError(code=INVALID_REQUEST, message="A request names its method as text.")
    identity = value.get("id")
    if "id" in value and (isinstance(identity, bool) or not isinstance(identity, str | int)):
        raise ProtocolError(code=INVALID_REQUEST, message="A request's id is text or an integer.")
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise ProtocolError(code=INVALID_REQUEST, message="A request's params are an object.")
    return Message(id=cast("Id | None", identity), method=method, params=params)


def id_of(value: Json) -> Id | None:
    """The id that an error about this value is answered under, where it has a usable one."""
    identity = value.get("id") if isinstance(value, dict) else None
    return identity if isinstance(identity, str | int) and not isinstance(identity, bool) else None


def result(identity: Id | None, found: object) -> bytes:
    """An answer; `found` may hold prepared JSON."""
    return orjson.dumps({"jsonrpc": "2.0", "id": identity, "result": found})


def error(identity: Id | None, wrong: ProtocolError, *, request_id: str) -> bytes:
    """An error; its data name the request, so that the log can be asked about it."""
    shown = {"code": wrong.code, "message": wrong.message, "data": {**wrong.data, "request_id": request_id}}
    return orjson.dumps({"jsonrpc": "2.0", "id": identity, "error": shown})


def notification(method: str, params: dict[str, Json]) -> bytes:
    """A message that nobody answers."""
    return orjson.dumps({"jsonrpc": "2.0", "method": method, "params": params})
