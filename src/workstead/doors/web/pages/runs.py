"""Run, pause, resume and stop as plain forms; and the runs there were."""

from starlette.requests import Request
from starlette.responses import Response

from workstead.doors.web import forms, place, queries, views
from workstead.doors.web.desk import Desk, see
from workstead.doors.web.project_views import RunsView


async def show(desk: Desk, request: Request) -> Response:
    """The project's runs, newest first."""
    where, _ = await place.of_project(desk, request)
    offset = queries.number(request, "offset") or 0
    found = await desk.run(request, "list_runs", {"project": where.slug, "offset": offset})
    view = RunsView(
        title="Runs",
        person=where.person,
        topic=where.topic,
        place=where,
        runs=tuple(run for run in map(views.run_view, found["runs"]) if run is not None),
        later=found["next"],
    )
    return desk.renderer.page(view)


async def start(desk: Desk, request: Request) -> Response:
    """Start a run; a configuration nobody accepted yet is shown instead."""
    slug = request.path_params["slug"]
    key = forms.field(await forms.fields(request), "key")
    found = await desk.run(request, "get_configuration", {"project": slug})
    if not found["compiles"] or not found["trusted"]:
        return see(f"/projects/{slug}/configuration")
    await desk.run(request, "start_run", {"project": slug, "request_id": key})
    return see(f"/projects/{slug}")


async def pause(desk: Desk, request: Request) -> Response:
    """What is being done ends, nothing new begins."""
    return await _control(desk, request, "pause_run")


async def resume(desk: Desk, request: Request) -> Response:
    """Go on."""
    return await _control(desk, request, "resume_run")


async def stop(desk: Desk, request: Request) -> Response:
    """End the run and every process in it."""
    return await _control(desk, request, "stop_run")


async def _control(desk: Desk, request: Request, operation: str) -> Response:
    slug = request.path_params["slug"]
    key = forms.field(await forms.fields(request), "key")
    await desk.run(request, operation, {"project": slug, "request_id": key})
    return see(f"/projects/{slug}")
