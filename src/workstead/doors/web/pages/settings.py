"""A project's settings: its configuration and whether it is accepted, and how its commands are contained."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workstead import errors
from workstead.doors.web import forms, place, views
from workstead.doors.web.desk import Desk, new_key, see
from workstead.doors.web.project_views import SettingsView

_FACTS = (("folder", "folder"), ("short name", "slug"), ("owner", "owner"), ("id", "id"))


async def show(desk: Desk, request: Request) -> Response:
    """What the folder's configuration asks for, and everything else that holds for the whole project."""
    where, one = await place.of_project(desk, request)
    found = await desk.run(request, "get_configuration", {"project": where.slug})
    machine = desk.doctor()
    missing = machine.get("isolation_missing")
    view = SettingsView(
        title="Settings",
        person=where.person,
        topic=where.topic,
        place=where,
        facts=(*((label, str(one[name])) for label, name in _FACTS), ("since", views.moment(one["created_at"]))),
        digest=found["digest"],
        trusted=found["trusted"],
        compiles=found["compiles"],
        needs_trust=tuple(found["needs_trust"]),
        warnings=tuple(found["warnings"]),
        issues=tuple(errors.Issue(path=issue["path"], message=issue["message"]) for issue in found["issues"]),
        types=await _types(desk, request, where.slug),
        isolation=str(machine.get("isolation") or "not tried yet"),
        isolation_floor=str(machine.get("isolation_floor")),
        isolation_missing=tuple(str(each) for each in missing) if isinstance(missing, Sequence) else (),
        key=new_key(),
    )
    return desk.renderer.page(view)


async def trust(desk: Desk, request: Request) -> Response:
    """Accept exactly the configuration that was shown."""
    slug = request.path_params["slug"]
    given = await forms.fields(request)
    wanted = {"project": slug, "digest": forms.field(given, "digest"), "request_id": forms.field(given, "key")}
    await desk.run(request, "trust_configuration", wanted)
    return see(f"/projects/{slug}")


async def _types(desk: Desk, request: Request, slug: str) -> tuple[str, ...]:
    try:
        found: dict[str, Any] = await desk.run(request, "list_workflows", {"project": slug})
    except errors.Refusal as refusal:
        if refusal.code != "configuration_untrusted":
            raise
        return ()
    return tuple(found["types"])
