"""The list of projects, and one project's run and card tree."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workstead.doors.web import place, queries, views
from workstead.doors.web.desk import Desk, new_key
from workstead.doors.web.project_views import ProjectView
from workstead.doors.web.views import ProjectLine, ProjectsView
from workstead.work.workflow.identity import MAX_DEPTH


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
    text, status = queries.text(request, "q"), queries.text(request, "status")
    tree = await desk.all(request, "get_tree", {"project": where.slug, "depth": MAX_DEPTH}, of="cards")
    shown = views.narrowed(tree, text=text, status=status)
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
        cards=views.nested(shown),
        text=text,
        status=status,
        shown=len(shown),
        total=len(tree),
        key=new_key(),
    )
    return desk.renderer.page(view)


async def _last_run(desk: Desk, request: Request, slug: str) -> dict[str, Any] | None:
    if not desk.has("list_runs"):
        return None
    found = await desk.run(request, "list_runs", {"project": slug})
    runs: list[dict[str, Any]] = found["runs"]
    return runs[0] if runs else None
