"""The page of a person's assistants, and the one a browser sees where assistants connect."""

from collections.abc import Mapping
from typing import Any

from markupsafe import escape
from starlette.requests import Request
from starlette.responses import Response

from workstead import errors
from workstead.accounts.permission_table import MEANINGS
from workstead.doors import clients
from workstead.doors.web import forms, views
from workstead.doors.web.desk import Desk, new_key, see
from workstead.doors.web.permission_views import OperationRow, PermissionRow, PermissionsView
from workstead.doors.web.views import AssistantLine, AssistantsView, Choice, ConnectView, TokenView
from workstead.kernel.access import GRANTABLE


async def show(desk: Desk, request: Request) -> Response:
    """The assistants, and the form that makes one."""
    person = await desk.me(request)
    listed = await desk.run(request, "list_assistants", {})
    found = await desk.run(request, "list_projects", {})
    view = AssistantsView(
        title="Assistants",
        person=person,
        assistants=tuple(_line(one) for one in reversed(listed["assistants"])),
        permissions=tuple(Choice(name=each, meaning=MEANINGS[each]) for each in sorted(GRANTABLE)),
        projects=tuple(Choice(name=one["slug"], meaning=one["title"]) for one in found["projects"]),
        tools=tuple(listed["offered"]),
        key=new_key(),
    )
    return desk.renderer.page(view)


async def permissions(desk: Desk, request: Request) -> Response:
    """The printed table of roles and permissions."""
    person = await desk.me(request)
    table = await desk.run(request, "list_permissions", {})
    view = PermissionsView(
        title="Roles and permissions",
        person=person,
        roles=tuple(table["roles"]),
        permissions=tuple(
            PermissionRow(
                name=escape(each["name"]),
                meaning=each["meaning"],
                grantable=each["grantable"],
                holds=tuple(role in each["holders"] for role in table["roles"]),
            )
            for each in table["permissions"]
        ),
        operations=tuple(
            OperationRow(
                name=each["name"],
                does=each["summary"],
                needs=escape(", ".join(each["permissions"]) or "nothing"),
                least_role=each["least_role"],
                tool=each["tool"],
            )
            for each in table["operations"]
        ),
    )
    return desk.renderer.page(view)


async def create(desk: Desk, request: Request) -> Response:
    """Make one and show its token, this once."""
    person = await desk.me(request)
    given = await forms.fields(request)
    made = await desk.run(request, "create_assistant", _wanted(given))
    view = TokenView(
        title="New assistant",
        person=person,
        name=made["assistant"]["name"],
        token=escape(made["token"]),
        expires=views.moment(made["assistant"]["expires_at"]),
        setups=tuple((one.title, one.where, one.text) for one in clients.setups(desk.facts.address)),
    )
    return desk.renderer.page(view)


async def revoke(desk: Desk, request: Request) -> Response:
    """End one's token."""
    given = await forms.fields(request)
    wanted = {"assistant": request.path_params["assistant"], "request_id": forms.field(given, "key")}
    await desk.run(request, "revoke_assistant", wanted)
    return see("/assistants")


async def connect(desk: Desk, _: Request) -> Response:
    """What a person sees who opens the assistants' address in a browser."""
    address = desk.facts.address
    setups = tuple((one.title, one.where, one.text) for one in clients.setups(address))
    return desk.renderer.page(ConnectView(title="Connect an assistant", address=f"{address}/mcp", setups=setups))


def _wanted(given: Mapping[str, str]) -> dict[str, object]:
    """The form as the operation takes it; a box that was not ticked is not sent."""
    days = forms.field(given, "days")
    if not (days.isascii() and days.isdigit() and len(days) <= 3):
        issue = errors.Issue(path="days", message="give a number of days")
        raise errors.invalid("form_invalid", "The number of days could not be read.", issues=[issue])
    chosen = _ticked(given, "project.")
    return {
        "name": forms.field(given, "name").strip(),
        "permissions": _ticked(given, "permission."),
        "projects": "all" if given.get("reach") == "all" else chosen or None,
        "operations": _ticked(given, "operation.") or None,
        "days": int(days),
        "request_id": forms.field(given, "key"),
    }


def _ticked(given: Mapping[str, str], prefix: str) -> list[str]:
    return [name.removeprefix(prefix) for name in given if name.startswith(prefix)]


def _line(one: Mapping[str, Any]) -> AssistantLine:
    reach = "all projects" if one["projects"] == "all" else ", ".join(one["projects"])
    refused = [
        f"{use['operation'] or 'unknown'}: {use['code']} ({use['calls']})" for use in one["uses"] if use["code"] != "ok"
    ]
    return AssistantLine(
        id=one["id"],
        name=one["name"],
        holds=one["holds"],
        permissions=", ".join(one["permissions"]),
        reach=reach,
        only=", ".join(one["operations"] or ()),
        expires=views.moment(one["expires_at"]),
        last_used=views.moment(one["last_used_at"]),
        calls=one["calls"],
        refusals=tuple(refused),
    )
