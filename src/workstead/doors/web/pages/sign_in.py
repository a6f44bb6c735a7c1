"""Signing in by a one-time link, which a GET never spends, and signing out."""

from markupsafe import escape
from starlette.requests import Request
from starlette.responses import Response

from workstead.doors import http
from workstead.doors.web import forms
from workstead.doors.web.desk import SIGN_IN, Desk, see
from workstead.doors.web.views import SignInView
from workstead.kernel.access import SecretProof

_LINK_LIMIT = 200


async def show(desk: Desk, request: Request) -> Response:
    """A button that spends the link; programs that only look at addresses do not press it."""
    link = request.query_params.get("link", "")[:_LINK_LIMIT]
    view = SignInView(title="Sign in", link=escape(link) if link else None)
    return desk.renderer.page(view)


async def spend(desk: Desk, request: Request) -> Response:
    """Spend the link, keep the sign-in in a cookie that scripts cannot read."""
    given = await forms.fields(request)
    made = await desk.run(request, SIGN_IN, {"link": forms.field(given, "link")})
    response = see("/")
    response.set_cookie(
        http.cookie_name(desk.facts),
        made["secret"],
        max_age=made["lifetime_s"],
        path="/",
        httponly=True,
        samesite="strict",
    )
    return response


async def leave(desk: Desk, request: Request) -> Response:
    """End this browser's sign-in."""
    proof = desk.proof(request)
    if isinstance(proof, SecretProof):
        await desk.run(request, "sign_out", {"digest": proof.digest})
    response = see("/sign-in")
    response.delete_cookie(http.cookie_name(desk.facts), path="/", httponly=True, samesite="strict")
    return response
