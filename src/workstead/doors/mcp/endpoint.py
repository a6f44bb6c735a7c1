"""The endpoint: one address for messages over HTTP; who calls is known before a body is read."""

import hashlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import anyio
from starlette.exceptions import HTTPException
from starlette.types import Message as Event
from starlette.types import Receive, Scope, Send

from workstead import errors
from workstead.accounts import authority
from workstead.clock import Clock, iso
from workstead.doors import http
from workstead.doors.limits import Allowance, Seen
from workstead.doors.mcp import frames, revisions
from workstead.doors.mcp.frames import (
    BATCH_MOST,
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RATE_LIMITED,
    Message,
    ProtocolError,
)
from workstead.doors.mcp.methods import Methods, Request
from workstead.doors.mcp.revisions import OLDEST, STATELESS, Revision
from workstead.doors.mcp.streams import Stream
from workstead.kernel import acts
from workstead.kernel.access import Assistant
from workstead.kernel.acts import Report
from workstead.kernel.canonical import Json
from workstead.kernel.effects import Effects
from workstead.logger import get_logger

PATHS = frozenset({"/mcp", "/mcp/"})
_SCHEME = "bearer "
# An operation reads authority in its own transaction (K06); for everything else it is read here.
_READS_ITSELF = "tools/call"
_ONCE = ("authorization", "content-type", *revisions.ROUTING_HEADERS)
_LOG = get_logger()
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class _Ends:
    """The two ends of a request's line: where its client's leaving is heard, and where reports are sent."""

    receive: Receive
    stream: Stream


@dataclass(frozen=True, kw_only=True)
class Call:
    """One HTTP request whose sender is known."""

    id: str
    headers: Mapping[str, str]
    digest: str
    assistant: Assistant
    at: str
    ends: _Ends


class _GoneError(Exception):
    """The client went away; what was begun for it has ended."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What is sent back. body: None for nothing to say."""

    status: int
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Endpoint:
    """The door as an ASGI application; a Guard stands before it."""

    def __init__(
        self, methods: Methods, *, effects: Effects, clock: Clock, addresses: Allowance, failures: Allowance
    ) -> None:
        self._methods = methods
        self._effects = effects
        self._clock = clock
        self._addresses = addresses
        self._failures = failures
        self._seen = Seen(clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; a client that goes away ends what was begun for it."""
        request_id = secrets.token_hex(16)
        stream = Stream(send, headers={"x-request-id": request_id})
        found = self._turned_away(scope, _Ends(receive=receive, stream=stream), request_id)
        reply = await self._answered(found, receive) if isinstance(found, Call) else found
        if reply is None:
            return
        if stream.begun:
            await stream.end(reply.body or b"")
            return
        body = reply.body or b""
        sent = [(b"x-request-id", request_id.encode()), (b"content-length", b"%d" % len(body))]
        sent += [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers.items()]
        if reply.body is not None:
            sent.append((b"content-type", b"application/json"))
        await send({"type": "http.response.start", "status": reply.status, "headers": sent})
        await send({"type": "http.response.body", "body": body})

    def _turned_away(self, scope: Scope, ends: _Ends, request_id: str) -> Reply | Call:
        """What can be said before the body is read: a refusal, or who calls."""
        headers = http.headers_of(scope)
        twice = http.repeated(scope, _ONCE)
        if twice is not None:
            wrong = ProtocolError(code=HEADER_MISMATCH, message=f"The header {twice} came twice.")
            return _error(wrong, request_id=request_id, status=400)
        address = scope["client"][0] if scope.get("client") else ""
        wait_s = self._addresses.take(address)
        if wait_s is not None:
            return _later(wait_s, request_id=request_id)
        digest = _token_digest(headers)
        try:
            if digest is None:
                raise errors.unauthenticated("Send your assistant's token: `Authorization: Bearer ws_ast_...`.")
            assistant = self._seen.get(digest) or self._live(digest)
        except errors.Refusal as refused:
            # Only the wrong ones wait: programs of one machine share its address, and one may hold an ended token.
            wait_s = self._failures.take(address) if digest is not None else None
            if wait_s is not None:
                return _later(wait_s, request_id=request_id)
            return _challenge(refused, request_id=request_id, presented=digest is not None)
        wrong_shape = _shape(scope["method"], headers, request_id=request_id)
        if wrong_shape is not None:
            return wrong_shape
        at = iso(self._clock.now())
        return Call(id=request_id, headers=headers, digest=digest, assistant=assistant, at=at, ends=ends)

    def _live(self, digest: str) -> Assistant:
        """The assistant behind a token now; raises `unauthenticated`."""
        found = self._effects.glance(lambda tx: authority.presented(tx, digest))
        self._seen.keep(digest, found)
        return found

    async def _answered(self, call: Call, receive: Receive) -> Reply | None:
        """The reply to a body; None when there is nobody to send it to."""
        try:
            body = await _body(receive)
        except HTTPException:
            message = f"Send at most {frames.BODY_LIMIT_BYTES} bytes."
            return _error(ProtocolError(code=INVALID_REQUEST, message=message), request_id=call.id, status=413)
        if body is None:
            return None
        try:
            return await self._replied(call, body)
        except _GoneError:
            return None

    async def _replied(self, call: Call, body: bytes) -> Reply:
        value: Json = None
        try:
            value = frames.read(body)
            revision = revisions.of_request(call.headers)
        except ProtocolError as wrong:
            return _error(wrong, request_id=call.id, status=400, identity=frames.id_of(value))
        try:
            if isinstance(value, list):
                return await self._batch(call, revision, value)
            return await self._single(call, revision, value)
        except errors.Refusal as refused:
            return _challenge(refused, request_id=call.id, presented=True)

    async def _single(self, call: Call, revision: Revision, value: Json) -> Reply:
        identity = frames.id_of(value)
        try:
            message = frames.message(value)
            if message is None or message.notification:
                return Reply(status=202)
            revisions.check(message, call.headers, revision)
        except ProtocolError as wrong:
            return _error(wrong, request_id=call.id, status=400, identity=identity)
        call.ends.stream.about(message, accepted=call.headers.get("accept", ""))
        try:
            return Reply(status=200, body=await self._result(call, revision, message, report=call.ends.stream.report))
        except ProtocolError as wrong:
            status = _status(wrong) if revision == STATELESS else 200
            return _error(wrong, request_id=call.id, status=status, identity=identity)

    async def _batch(self, call: Call, revision: Revision, values: list[Json]) -> Reply:
        """Several messages in one body, one after the other; only the oldest revision has them."""
        if revision != OLDEST or not 1 <= len(values) <= BATCH_MOST:
            wrong = ProtocolError(
                code=INVALID_REQUEST,
                message=f"Send one message; in {OLDEST}, without `initialize`, 1 to {BATCH_MOST} in a list.",
            )
            return _error(wrong, request_id=call.id, status=400)
        answers: list[bytes] = []
        for value in values:
            try:
                message = frames.message(value)
                if message is None or message.notification:
                    continue
                _require_no_handshake(message)
                revisions.check(message, call.headers, revision)
                answers.append(await self._result(call, revision, message))
            except ProtocolError as wrong:
                answers.append(frames.error(frames.id_of(value), wrong, request_id=call.id))
        return Reply(status=200, body=b"[" + b",".join(answers) + b"]") if answers else Reply(status=202)

    async def _result(
        self, call: Call, revision: Revision, message: Message, *, report: Report = acts.unheard
    ) -> bytes:
        request = Request(
            id=call.id,
            message=message,
            revision=revision,
            digest=call.digest,
            assistant=call.assistant,
            at=call.at,
            report=report,
        )
        try:
            found = await self._found(call, request)
            return frames.result(message.id, found)
        except (errors.Refusal, ProtocolError, _GoneError):
            raise
        except Exception:  # noqa: BLE001
            # A door is where the unexpected ends: the trace stays here, its id goes out (house style, line 32).
            _LOG.exception("mcp request failed", request_id=call.id, method=message.method[:100])
            text = f"Something went wrong in the server; its log has the details under {call.id}."
            raise ProtocolError(code=INTERNAL_ERROR, message=text) from None

    async def _found(self, call: Call, request: Request) -> Mapping[str, object]:
        message = request.message
        brief = self._methods.brief(message)
        if not brief or message.method != _READS_ITSELF:
            self._live(call.digest)
        if not brief:
            return await _while_there(call.ends.receive, partial(self._methods.answer, request))
        try:
            found = await self._methods.answer(request)
        except ProtocolError:
            self._live(call.digest)
            raise
        if found.get("isError"):
            # A limit or a wrong name was said before anybody asked who calls; an ended token is told that it ended.
            self._live(call.digest)
        return found


def _require_no_handshake(message: Message) -> None:
    if message.method == "initialize":
        raise ProtocolError(code=INVALID_REQUEST, message="Send `initialize` alone.")


def _token_digest(headers: Mapping[str, str]) -> str | None:
    """What a token is stored as; None when none was sent. Of any other kind it is a token that nobody has."""
    sent = headers.get("authorization", "")
    if not sent.lower().startswith(_SCHEME):
        return None
    return hashlib.sha256(sent[len(_SCHEME) :].strip().encode()).hexdigest()


def _shape(method: str, headers: Mapping[str, str], *, request_id: str) -> Reply | None:
    """What is wrong with a request besides its body."""
    if method != "POST":
        wrong = ProtocolError(code=INVALID_REQUEST, message="This address takes POST; it opens no stream.")
        return _error(wrong, request_id=request_id, status=405, headers={"allow": "POST"})
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        wrong = ProtocolError(code=INVALID_REQUEST, message="Send application/json.")
        return _error(wrong, request_id=request_id, status=415)
    accepted = headers.get("accept", "*/*").lower()
    if not any(kind in accepted for kind in ("application/json", "application/*", "*/*")):
        wrong = ProtocolError(code=INVALID_REQUEST, message="Accept application/json; there is nothing else here.")
        return _error(wrong, request_id=request_id, status=406)
    return None


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None when the client went away."""
    parts: list[bytes] = []
    while True:
        event: Event = await receive()
        if event["type"] == "http.disconnect":
            return None
        parts.append(event.get("body", b""))
        if not event.get("more_body", False):
            return b"".join(parts)


async def _while_there(receive: Receive, work: Callable[[], Awaitable[T]]) -> T:
    """The result of some work; raises _GoneError and cancels it when the client goes away first."""
    done: list[T] = []
    failed: list[Exception] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_until_gone, receive, group.cancel_scope)
        try:
            done.append(await work())
        except Exception as error:  # noqa: BLE001 - handed on below: out of the group it would come wrapped in another
            failed.append(error)
        group.cancel_scope.cancel()
    if failed:
        raise failed[0]
    if not done:
        raise _GoneError
    return done[0]


async def _until_gone(receive: Receive, working: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    working.cancel()


def _error(
    wrong: ProtocolError,
    *,
    request_id: str,
    status: int,
    identity: frames.Id | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    return Reply(status=status, body=frames.error(identity, wrong, request_id=request_id), headers=headers or {})


def _challenge(refused: errors.Refusal, *, request_id: str, presented: bool) -> Reply:
    """401: how to come back. A client that sent nothing has made no mistake yet, so none is named."""
    wrong = ProtocolError(code=INVALID_REQUEST, message=refused.message)
    named = 'Bearer realm="workstead", error="invalid_token"' if presented else 'Bearer realm="workstead"'
    return _error(wrong, request_id=request_id, status=401, headers={"www-authenticate": named})


def _later(wait_s: float, *, request_id: str) -> Reply:
    wrong = ProtocolError(
        code=RATE_LIMITED,
        message="Too many requests from this address; try again later.",
        data={"retry_after_s": round(wait_s, 1)},
    )
    return _error(wrong, request_id=request_id, status=429, headers={"retry-after": str(int(wait_s) + 1)})


def _status(wrong: ProtocolError) -> int:
    if wrong.code == METHOD_NOT_FOUND:
        return 404
    return 200 if wrong.code == INTERNAL_ERROR else 400
