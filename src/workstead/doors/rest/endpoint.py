"""The endpoint: addresses under /api for a person's own programs, and for pages that ask as their person does."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import cast

import orjson
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.routing import Route as Address
from starlette.types import Receive, Scope, Send

from workstead import errors
from workstead.clock import Clock
from workstead.doors import http
from workstead.doors.limits import FAILURES_PER_MINUTE, Active, Allowance
from workstead.doors.rest import inputs, openapi, problems
from workstead.doors.rest.problems import Problem
from workstead.doors.rest.table import OPENAPI, ROUTES, Route
from workstead.doors.watch import ServerFacts
from workstead.errors import Kind
from workstead.kernel import redaction
from workstead.kernel.access import Proof, SecretProof, TokenProof
from workstead.kernel.canonical import Json
from workstead.kernel.operations import Door, Effect, Operations
from workstead.kernel.redaction import RedactedTree, Redactor
from workstead.logger import get_logger

REDACTED_HEADER = "workstead-redacted"

_SCHEME = "bearer "
_ONCE = ("authorization", "content-type", "idempotency-key")
_NOT_FOR_HERE = {
    "ws_ast_": "An assistant's token opens the MCP door (/mcp) only; here a personal token (ws_api_...) is needed.",
    "ws_in_": "A sign-in is sent as the cookie it is, not as a token.",
}
_SIGN_IN = "Send a personal token: `Authorization: Bearer ws_api_...`. You make one on the page Account."
_LOG = get_logger()


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the door takes: requests and wrong tokens of an address, calls of a credential, changes under way."""

    addresses: Allowance
    failures: Allowance
    calls: Allowance
    active: Active


def limits(clock: Clock, *, per_address: int, per_credential: int, active: Active) -> Limits:
    """Limits by the minute, and how many changes may be under way."""
    return Limits(
        active=active,
        addresses=Allowance(per_minute=per_address, clock=clock),
        failures=Allowance(per_minute=FAILURES_PER_MINUTE, clock=clock),
        calls=Allowance(per_minute=per_credential, clock=clock),
    )


@dataclass(frozen=True, kw_only=True)
class _Found:
    route: Route
    path: Mapping[str, str]


class Endpoint:
    """The door as an ASGI application; a Guard stands before it."""

    def __init__(
        self,
        operations: Operations,
        *,
        facts: ServerFacts,
        redactor: Redactor,
        limits: Limits,
        routes: Sequence[Route] = ROUTES,
    ) -> None:
        self._operations = operations
        self._facts = facts
        self._redactor = redactor
        self._limits = limits
        self._addresses = [(Address(one.path, _nothing, methods=[one.method]), one) for one in routes]
        self._fields = lru_cache(maxsize=None)(lambda name: openapi.fields(operations.table[name]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request_id = secrets.token_hex(16)
        try:
            status, body, headers = await self._answer(scope, receive)
        except errors.Refusal as refused:
            if refused.kind is Kind.UNAUTHENTICATED and "authorization" in http.headers_of(scope):
                refused = self._counted(scope, refused)
            found = problems.of(refused, redactor=self._redactor, request_id=request_id)
            status, body, headers = _told(found)
        except HTTPException as wrong:
            said = wrong.detail if wrong.status_code != 413 else f"Send at most {http.BODY_LIMIT_BYTES} bytes."
            found = problems.plain(
                wrong.status_code, said, redactor=self._redactor, request_id=request_id, headers=wrong.headers
            )
            status, body, headers = _told(found)
        except Exception:  # noqa: BLE001
            # A door is where the unexpected ends: the trace stays here, its id goes out (house style, line 32).
            _LOG.exception("api request failed", request_id=request_id, path=scope["path"])
            said = f"Something went wrong in the server; its log has the details under {request_id}."
            status, body, headers = _told(problems.plain(500, said, redactor=self._redactor, request_id=request_id))
        sent = {"content-length": str(len(body)), "x-request-id": request_id, **headers}
        raw = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in sent.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[int, bytes, dict[str, str]]:
        twice = http.repeated(scope, _ONCE)
        if twice is not None:
            raise errors.invalid("header_repeated", f"Send the header {twice} once.")
        _require(self._limits.addresses.take(_address(scope)), "Too many requests from this address")
        if scope["path"] == OPENAPI and scope["method"] in {"GET", "HEAD"}:
            return self._shown(scope, 200, self._document, {})
        found = self._found(scope)
        proof = self._proof(scope)
        _require(self._limits.calls.take(proof.digest), "This credential has used its calls of this minute")
        body = await _body(receive) if found.route.has_body else b""
        operation = self._operations.table[found.route.operation]
        given = inputs.of_request(
            scope, found.route, path=found.path, body=body, fields=self._fields(found.route.operation)
        )
        answered = await self._run(proof, operation.name, given, changes=operation.effect is not Effect.READ)
        whole = cast("Json", operation.adapter.dump_python(answered, mode="json"))
        shown = RedactedTree(value=whole, altered=False) if operation.exact else self._redactor.tree(whole)
        extra = {REDACTED_HEADER: "true"} if shown.altered else {}
        return self._shown(scope, found.route.status, orjson.dumps(shown.value), extra)

    async def _run(self, proof: Proof, name: str, given: dict[str, Json], *, changes: bool) -> object:
        if not changes:
            return await self._operations.run(proof, name, given, door=Door.REST)
        if redaction.holds_placeholder(given):
            message = "The input holds a placeholder of a hidden secret; writing it would destroy what it stands for."
            raise errors.invalid("placeholder_in_write", message)
        with self._limits.active.one(cast("SecretProof", proof).digest):
            return await self._operations.run(proof, name, given, door=Door.REST)

    def _shown(
        self, scope: Scope, status: int, body: bytes, extra: Mapping[str, str]
    ) -> tuple[int, bytes, dict[str, str]]:
        """JSON, unless a reader has it already."""
        headers = {"content-type": "application/json", "cache-control": "private, no-cache", **extra}
        if scope["method"] in {"GET", "HEAD"}:
            tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
            headers["etag"] = tag
            if tag in http.headers_of(scope).get("if-none-match", ""):
                return 304, b"", headers
        return status, body, headers

    def _found(self, scope: Scope) -> _Found:
        """The line of the table; raises 404 and 405."""
        allowed: set[str] = set()
        for address, route in self._addresses:
            match, child = address.matches(scope)
            if match is Match.FULL:
                return _Found(route=route, path=child["path_params"])
            if match is Match.PARTIAL:
                allowed.add(route.method)
        if allowed:
            allow = ", ".join(sorted(allowed))
            raise HTTPException(405, f"This address takes {allow}.", headers={"allow": allow})
        raise HTTPException(404, f"There is no such address; {OPENAPI} lists what there is.")

    def _proof(self, scope: Scope) -> SecretProof | TokenProof:
        """What the request presents. A cookie changes things only from our own pages; a token has no such weakness."""
        headers = http.headers_of(scope)
        sent = headers.get("authorization", "")
        if not sent:
            cookie = http.cookie_digest(scope, self._facts)
            if cookie is None:
                raise errors.unauthenticated(_SIGN_IN)
            own = "origin" in headers or headers.get("sec-fetch-site") == "same-origin"
            if scope["method"] not in {"GET", "HEAD"} and not own:
                raise errors.denied("origin_missing", "A sign-in changes things from this server's own pages only.")
            return SecretProof(digest=cookie)
        token = sent[len(_SCHEME) :].strip() if sent.lower().startswith(_SCHEME) else ""
        if not token.startswith("ws_api_"):
            known = next((said for prefix, said in _NOT_FOR_HERE.items() if token.startswith(prefix)), _SIGN_IN)
            raise errors.unauthenticated(known)
        return TokenProof(digest=hashlib.sha256(token.encode()).hexdigest())

    def _counted(self, scope: Scope, refused: errors.Refusal) -> errors.Refusal:
        """The refusal of a wrong token, or that there were too many."""
        try:
            _require(self._limits.failures.take(_address(scope)), "Too many wrong tokens from this address")
        except errors.Refusal as limited:
            return limited
        return refused

    @cached_property
    def _document(self) -> bytes:
        return orjson.dumps(openapi.document(self._operations.table, address=self._facts.address))


def _told(found: Problem) -> tuple[int, bytes, dict[str, str]]:
    return found.status, found.body, {"content-type": problems.MEDIA_TYPE, "cache-control": "no-store", **found.headers}


def _address(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def _require(wait_s: float | None, what: str) -> None:
    if wait_s is not None:
        raise errors.limit("rate_limited", f"{what}; there is more in {wait_s:.1f} s.", retry_after_s=round(wait_s, 1))


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise HTTPException(400, "The client went away.")
        parts.append(event.get("body", b""))
        if not event.get("more_body", False):
            return b"".join(parts)


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """An address is only matched; the endpoint answers."""
