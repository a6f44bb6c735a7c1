"""The list of projects, and one project's run and card tree."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workstead.doors.web import outline_views, place, queries, views
from workstead.doors.web.desk import Desk, new_key
from workstead.doors.web.outline_views import Asked
from workstead.doors.web.project_views import ProjectView
from workstead.doors.web.views import ProjectLine, ProjectsView


async def index(desk: Desk, request: Request) -> Response:
    """Every project the person may see."""
    person = await desk.me(request)
    listed = await desk.run(request, "list_projects", {})
    lines = tuple(
        ProjectLine(
            slug=one["slug"],
            name=one["name"],
            title=one["title"],
            status=one["status"],
            chips=views.chips(one["counts"]),
        )
        for one in listed["projects"]
    )
    return desk.renderer.page(ProjectsView(title="Projects", person=person, topic="projects", projects=lines))


async def show(desk: Desk, request: Request) -> Response:
    """One project: its run and its cards, all of them or those that are sought."""
    where, one = await place.of_project(desk, request)
    asked = _asked(request)
    found = await desk.run(request, "get_outline", {"project": where.slug, **asked.wanted()})
    view = ProjectView(
        title=one["title"],
        person=where.person,
        topic=where.topic,
        place=where,
        folder=one["folder"],
        isolation=str(desk.doctor().get("isolation") or "not tried yet"),
        chips=views.chips(one["counts"]),
        run=views.run_view(await _last_run(desk, request, where.slug)),
        can_run=desk.has("start_run"),
        tree=outline_views.outline(found, asked, root=where.root),
        text=asked.text,
        status=asked.status,
        key=new_key(),
    )
    return desk.renderer.page(view)


def _asked(request: Request) -> Asked:
    return Asked(
        text=queries.text(request, "q"),
        status=queries.text(request, "status"),
        top=queries.text(request, "top"),
        opened=outline_views.ids(request.query_params.get("opened", "")),
        shut=outline_views.ids(request.query_params.get("shut", "")),
        offset=queries.number(request, "from") or 0,
    )


async def _last_run(desk: Desk, request: Request, slug: str) -> dict[str, Any] | None:
    if not desk.has("list_runs"):
        return None
    found = await desk.run(request, "list_runs", {"project": slug})
    runs: list[dict[str, Any]] = found["runs"]
    return runs[0] if runs else None
