"""Run, pause, resume and stop as plain forms."""

from starlette.requests import Request
from starlette.responses import Response

from workstead.doors.web import forms
from workstead.doors.web.desk import Desk, see


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
