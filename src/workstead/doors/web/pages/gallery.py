"""The gallery: every component in every state, drawn by the same templates as the real pages; for the operator."""

from starlette.requests import Request
from starlette.responses import Response

from workstead import errors
from workstead.doors.web import gallery_views
from workstead.doors.web.desk import Desk


async def show(desk: Desk, request: Request) -> Response:
    """The gallery, light and dark beside each other. Anybody else finds no such page."""
    me = await desk.run(request, "get_me", {})
    if not me["operator"]:
        raise errors.not_found("page", "gallery")
    return desk.renderer.page(gallery_views.gallery(person=str(me["name"])))
