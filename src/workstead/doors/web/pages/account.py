"""The page of a person's account, with the tokens of their own programs."""

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from workstead import errors
from workstead.doors.web import forms, views
from workstead.doors.web.account_views import AccountView, ApiLine, ApiView, TokenLine
from workstead.doors.web.desk import Desk, new_key, see


async def show(desk: Desk, request: Request) -> Response:
    """The tokens, and the form that makes one."""
    return desk.renderer.page(await _view(desk, request))


async def create(desk: Desk, request: Request) -> Response:
    """Make a token and show it, this once."""
    given = await forms.fields(request)
    days = forms.field(given, "days")
    if not (days.isascii() and days.isdigit() and len(days) <= 3):
        issue = errors.Issue(path="days", message="give a number of days")
        raise errors.invalid("form_invalid", "The number of days could not be read.", issues=[issue])
    wanted = {
        "name": forms.field(given, "name").strip(),
        "days": int(days),
        "request_id": forms.field(given, "key"),
    }
    made = await desk.run(request, "create_api_token", wanted)
    return desk.renderer.page(await _view(desk, request, secret=escape(made["secret"])))


async def revoke(desk: Desk, request: Request) -> Response:
    """End one."""
    given = await forms.fields(request)
    wanted = {"token": request.path_params["token"], "request_id": forms.field(given, "key")}
    await desk.run(request, "revoke_api_token", wanted)
    return see("/account")


async def api(desk: Desk, request: Request) -> Response:
    """The addresses of the API, for a person."""
    person = await desk.me(request)
    lines = tuple(ApiLine(method=method, path=path, does=does) for method, path, does in desk.addresses)
    return desk.renderer.page(ApiView(title="API", person=person, address=f"{desk.facts.address}/api", lines=lines))


async def _view(desk: Desk, request: Request, *, secret: Markup | None = None) -> AccountView:
    person = await desk.me(request)
    listed = await desk.run(request, "list_api_tokens", {})
    return AccountView(
        title="Account",
        person=person,
        tokens=tuple(
            TokenLine(id=one["id"], name=one["name"], holds=one["holds"], expires=views.moment(one["expires_at"]) or "")
            for one in reversed(listed["tokens"])
        ),
        key=new_key(),
        secret=secret,
    )
