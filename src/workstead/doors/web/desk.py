"""The desk: what every page handler works with, one frozen value."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from workstead import errors
from workstead.doors import http, stretches
from workstead.doors.watch import ServerFacts, Watch
from workstead.doors.web.rendering import Renderer
from workstead.doors.web.views import RefusedView
from workstead.kernel.access import AnonymousProof, Proof
from workstead.kernel.canonical import Json
from workstead.kernel.operations import Door, Operations
from workstead.kernel.redaction import Redactor

SIGN_IN = "sign_in"
"""The one operation for somebody who has presented nothing."""

_PROOF_KEY = "workstead.proof"

PAGES = 200
"""How many pages of a list one page of ours shows at most."""


Keep = Callable[[Proof, Mapping[str, Json]], Awaitable[Json]]


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What a page handler may use. doctor: what was found on this machine. addresses: the API's, with what they do.

    keep: seals a secret and stores it.
    """

    operations: Operations
    watch: Watch
    facts: ServerFacts
    renderer: Renderer
    redactor: Redactor
    doctor: Callable[[], Mapping[str, Json]]
    keep: Keep
    addresses: Sequence[tuple[str, str, str]] = ()

    def redact(self, value: Json) -> Json:
        """A JSON value that may be shown: fields with a secret's name are known as such only while it is whole."""
        return self.redactor.tree(value).value

    def proof(self, request: Request) -> Proof:
        """What the request presents; looked at once for a request."""
        found = request.scope.get(_PROOF_KEY)
        if found is None:
            found = request.scope[_PROOF_KEY] = http.proof_of(request, self.facts)
        return cast("Proof", found)

    async def run(self, request: Request, name: str, given: Mapping[str, object]) -> Any:
        """Run one operation for whoever asks; the answer as plain values, as every other door gives it."""
        proof = self.proof(request)
        if isinstance(proof, AnonymousProof) and name != SIGN_IN:
            raise errors.unauthenticated()
        answer = await self.operations.run(proof, name, given, door=Door.PAGE)
        return self.operations.table[name].adapter.dump_python(answer, mode="json")

    async def all(self, request: Request, name: str, given: Mapping[str, object], *, of: str) -> list[dict[str, Any]]:
        """Every item of a paged read, page after page; an item larger than a page is whole again."""
        items: list[dict[str, Any]] = []
        position: str | None = None
        for _ in range(PAGES):
            page = await self.run(request, name, {**given, "position": position})
            items += page[of]
            position = page["next"]
            if position is None:
                break
        return stretches.joined(items)

    async def me(self, request: Request) -> str:
        """The name of whoever is signed in; raises `unauthenticated`."""
        found = await self.run(request, "get_me", {})
        return str(found["name"])

    def has(self, name: str) -> bool:
        """Whether pages have this operation."""
        operation = self.operations.table.get(name)
        return operation is not None and Door.PAGE in operation.doors

    def refused(self, refusal: errors.Refusal) -> Response:
        """A refusal as a page."""
        view = RefusedView(
            title="Sign in" if refusal.kind is errors.Kind.UNAUTHENTICATED else "That did not work",
            message=refusal.message,
            issues=refusal.issues,
            sign_in=refusal.kind is errors.Kind.UNAUTHENTICATED,
        )
        response = self.renderer.page(view, status=http.status_of(refusal))
        if refusal.kind is errors.Kind.UNAUTHENTICATED:
            response.headers["www-authenticate"] = 'Link realm="workstead"'
        return response


def see(path: str) -> Response:
    """After a change: look there."""
    return RedirectResponse(path, status_code=303)


def new_key() -> str:
    """A key of one intended change, hidden in the form that makes it: a double click is one receipt."""
    return uuid4().hex
