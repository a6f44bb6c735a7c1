"""What was decided and seen in a project."""

from starlette.requests import Request
from starlette.responses import Response

from workstead.doors.web import place, project_views, queries
from workstead.doors.web.desk import Desk
from workstead.doors.web.project_views import EventsView
from workstead.kernel.evidence import Lane

_FULL = 100


async def show(desk: Desk, request: Request) -> Response:
    """A page of facts of one lane, newest first."""
    where, _ = await place.of_project(desk, request)
    lane = queries.text(request, "lane") or Lane.CONTROL.value
    before = queries.text(request, "before")
    wanted = {"project": where.slug, "lane": lane} | ({"before": before} if before else {})
    found = (await desk.run(request, "list_evidence", wanted))["facts"]
    view = EventsView(
        title="Events",
        person=where.person,
        topic=where.topic,
        place=where,
        lane=lane,
        lanes=tuple((each.value, f"{where.root}/events?lane={each.value}") for each in Lane),
        facts=tuple(project_views.fact(one) for one in found),
        older=found[-1]["id"] if len(found) == _FULL else None,
    )
    return desk.renderer.page(view)
