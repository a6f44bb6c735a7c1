"""Who works in a project, and whom each of them asks."""

from starlette.requests import Request
from starlette.responses import Response

from workstead.doors.web import model_views, place
from workstead.doors.web.desk import Desk
from workstead.doors.web.model_views import AgentsView


async def show(desk: Desk, request: Request) -> Response:
    """Agents with their tools; routes with how each candidate stands."""
    where, _ = await place.of_project(desk, request)
    of = {"project": where.slug}
    agents = await desk.all(request, "list_agents", of, of="agents")
    routes = await desk.all(request, "list_models", of, of="routes")
    currency = (await desk.run(request, "list_models", of))["currency"]
    view = AgentsView(
        title="Agents",
        person=where.person,
        topic=where.topic,
        place=where,
        agents=tuple(map(model_views.agent, agents)),
        routes=tuple(model_views.route(each, currency) for each in routes),
    )
    return desk.renderer.page(view)
