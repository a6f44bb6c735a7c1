"""HTTP: who a request comes from, what every request must satisfy, and how refusals and headers look."""

import hashlib
from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, cast
from uuid import uuid4

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workstead import errors
from workstead.doors.watch import ServerFacts
from workstead.errors import Kind
from workstead.kernel.access import AnonymousProof, Proof, SecretProof
from workstead.logger import get_logger

BODY_LIMIT_BYTES = 1024 * 1024
COOKIE_PREFIX = "ws_in_"

STATUS: dict[Kind, int] = {
    Kind.BUSY: 503,
    Kind.CONFLICT: 409,
    Kind.DENIED: 403,
    Kind.INVALID: 400,
    Kind.LIMIT: 429,
    Kind.NEEDS_REVIEW: 409,
    Kind.NOT_FOUND: 404,
    Kind.STALE: 409,
    Kind.UNAUTHENTICATED: 401,
    Kind.UNAVAILABLE: 503,
}

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

# `no-referrer` would make browsers send `Origin: null` with our own forms, which is refused.
HEADERS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)

_SAFE_METHODS = frozenset({"GET", "HEAD"})
_HEADERS_KEY = "workstead.headers"
_TRACE_KEY = "workstead.trace_id"
_LOG = get_logger()


class Guard:
    """What stands before every page: exact Host, own Origin on changes, a body limit, and headers on every answer.

    bearer: the door inside knows its callers by a header that no browser adds by itself, so that a change may come
    without an Origin; one that is given must still be ours.
    """

    def __init__(self, inner: ASGIApp, *, facts: ServerFacts, bearer: bool = False) -> None:
        self._inner = inner
        self._bearer = bearer
        self._hosts = _hosts(facts)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on."""
        if scope["type"] != "http":
            return
        began = False

        async def sending(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                _add_headers(message)
            await send(message)

        refused = self._refusal(scope)
        if refused is not None:
            await refused(scope, receive, sending)
            return
        try:
            await self._inner(scope, _Limited(receive).receive, sending)
        except Exception:  # noqa: BLE001
            # A door is where the unexpected ends: the trace stays here, its id goes out (house style, line 32).
            found = trace_id(scope)
            _LOG.exception("request failed", trace_id=found, method=scope["method"], path=scope["path"])
            if not began:
                text = f"Something went wrong in the server; its log has the details under {found}.\n"
                await PlainTextResponse(text, status_code=500)(scope, receive, sending)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = headers_of(scope)
        if repeated(scope, ("host", "origin")):
            return PlainTextResponse("Send Host and Origin once.\n", status_code=400)
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("This server does not answer under that name.\n", status_code=421)
        changes = self._bearer or scope["method"] not in _SAFE_METHODS
        if changes and not self._own(headers):
            return PlainTextResponse("Changes are accepted from this server's own pages only.\n", status_code=403)
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > BODY_LIMIT_BYTES:
            return _too_large()
        return None

    def _own(self, headers: Mapping[str, str]) -> bool:
        """Whether a change comes from one of our pages; a browser that sends no Origin must say so otherwise."""
        origin = headers.get("origin")
        if origin is not None:
            return origin.lower() in self._origins and headers.get("sec-fetch-site", "same-origin") == "same-origin"
        own = {"same-origin", "none"} if self._bearer else {"same-origin"}
        return headers.get("sec-fetch-site", "none" if self._bearer else "") in own


@dataclass(frozen=True, kw_only=True)
class Machines:
    """A door for machines beside the pages. paths: its addresses; prefix: what all others of its own begin with."""

    app: ASGIApp
    paths: frozenset[str] = frozenset()
    prefix: str | None = None

    def owns(self, scope: Scope) -> bool:
        """Whether the request is for it; a browser that opens one of its bare addresses sees a page about it."""
        path = scope["path"]
        if self.prefix is not None and path.startswith(self.prefix):
            return True
        return path in self.paths and not _browses(scope)


class Front:
    """Pages, and the doors for machines beside them."""

    def __init__(self, pages: ASGIApp, *machines: Machines) -> None:
        self._pages = pages
        self._machines = machines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on."""
        owners = (each.app for each in self._machines if scope["type"] == "http" and each.owns(scope))
        await next(owners, self._pages)(scope, receive, send)


def trace_id(scope: Scope) -> str:
    """What the log and an answer call a request that failed; made once for a request."""
    return str(scope.setdefault(_TRACE_KEY, uuid4().hex))


def proof_of(request: Request, facts: ServerFacts) -> Proof:
    """What the request presents: the digest of its sign-in cookie, or nothing."""
    digest = cookie_digest(request.scope, facts)
    return SecretProof(digest=digest) if digest is not None else AnonymousProof()


def cookie_digest(scope: Scope, facts: ServerFacts) -> str | None:
    """The digest of the sign-in cookie that a request brings, or None."""
    secret = Request(scope).cookies.get(cookie_name(facts))
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest() if secret else None


def cookie_name(facts: ServerFacts) -> str:
    """The cookie's name; cookies are shared between the ports of a host, so the port is in it."""
    return f"{COOKIE_PREFIX}{facts.port}"


def status_of(refusal: errors.Refusal) -> int:
    """The status that says what the refusal is."""
    return STATUS[refusal.kind]


def headers_of(scope: Scope) -> Mapping[str, str]:
    """The request's headers by small name; of a repeated one the last. Made once for a request."""
    known = scope.get(_HEADERS_KEY)
    if known is None:
        # The parser keeps blanks that trail a value.
        known = {name.decode("latin-1"): value.decode("latin-1").strip() for name, value in scope["headers"]}
        scope[_HEADERS_KEY] = known
    return cast("Mapping[str, str]", known)


def repeated(scope: Scope, names: Collection[str]) -> str | None:
    """The first of these headers that was sent more than once: two readers could take different ones."""
    if len(headers_of(scope)) == len(scope["headers"]):
        return None
    sent = [name.decode("latin-1") for name, _ in scope["headers"]]
    return next((name for name in names if sent.count(name) > 1), None)


def _browses(scope: Scope) -> bool:
    return scope["method"] in _SAFE_METHODS and "text/html" in headers_of(scope).get("accept", "").lower()


class _Limited:
    """Counts a body as it is read, because a chunked one announces no length."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._seen_bytes = 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._seen_bytes += len(message.get("body", b""))
        if self._seen_bytes > BODY_LIMIT_BYTES:
            # The application answers it as it answers any refused request.
            raise HTTPException(status_code=413)
        return message


def _too_large() -> Response:
    return PlainTextResponse(f"Send at most {BODY_LIMIT_BYTES} bytes.\n", status_code=413)


def _hosts(facts: ServerFacts) -> frozenset[str]:
    names = {"localhost", "127.0.0.1"} if facts.host in {"localhost", "127.0.0.1"} else {facts.host}
    shown = {f"[{name}]" if ":" in name else name for name in names}
    hosts = {f"{name}:{facts.port}" for name in shown}
    return frozenset(hosts | shown) if facts.port == 80 else frozenset(hosts)


def _add_headers(message: MutableMapping[str, Any]) -> None:
    given = list(message.get("headers", ()))
    names = {name for name, _ in given}  # the interface asks for small letters
    given += [(name, value) for name, value in HEADERS if name not in names]
    if b"cache-control" not in names:
        given.append((b"cache-control", b"no-store"))
    message["headers"] = given
