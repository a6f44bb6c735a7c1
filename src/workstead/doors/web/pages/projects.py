"""The list of projects, a project's card tree, and its configuration."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workstead.doors.web import forms, views
from workstead.doors.web.desk import Desk, new_key, see
from workstead.doors.web.views import ConfigurationView, ProjectLine, ProjectsView, ProjectView
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
    """One project: its run and its cards."""
    slug = request.path_params["slug"]
    person = await desk.me(request)
    one = await desk.run(request, "get_project", {"project": slug})
    tree = await desk.all(request, "get_tree", {"project": slug, "depth": MAX_DEPTH}, of="cards")
    view = ProjectView(
        title=one["title"],
        person=person,
        topic=f"projects/{one['slug']}",
        slug=one["slug"],
        name=one["name"],
        status=one["status"],
        folder=one["folder"],
        chips=views.chips(one["counts"]),
        run=views.run_view(await _last_run(desk, request, slug)),
        can_run=desk.has("start_run"),
        cards=views.nested(tree),
        key=new_key(),
    )
    return desk.renderer.page(view)


async def configuration(desk: Desk, request: Request) -> Response:
    """What the folder's configuration asks for."""
    slug = request.path_params["slug"]
    person = await desk.me(request)
    one = await desk.run(request, "get_project", {"project": slug})
    found = await desk.run(request, "get_configuration", {"project": slug})
    view = ConfigurationView(
        title="Configuration",
        person=person,
        topic=f"projects/{one['slug']}",
        slug=one["slug"],
        name=one["name"],
        digest=found["digest"],
        trusted=found["trusted"],
        compiles=found["compiles"],
        needs_trust=tuple(found["needs_trust"]),
        warnings=tuple(found["warnings"]),
        issues=tuple(found["issues"]),
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


async def _last_run(desk: Desk, request: Request, slug: str) -> dict[str, Any] | None:
    if not desk.has("list_runs"):
        return None
    found = await desk.run(request, "list_runs", {"project": slug})
    runs: list[dict[str, Any]] = found["runs"]
    return runs[0] if runs else None
