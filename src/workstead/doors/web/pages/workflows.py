"""The workflow of a card type as a graph, with the cards that are at work in it now."""

from starlette.requests import Request
from starlette.responses import Response

from workstead.doors.web import place, workflow_views
from workstead.doors.web.desk import Desk
from workstead.doors.web.workflow_views import WorkflowView


async def show(desk: Desk, request: Request) -> Response:
    """The graph of one card type."""
    where, _ = await place.of_project(desk, request)
    kind = request.path_params["type"]
    graph = await desk.run(request, "get_workflow", {"project": where.slug, "type": kind})
    types = (await desk.run(request, "list_workflows", {"project": where.slug}))["types"]
    view = WorkflowView(
        title=f"Workflow of {kind} cards",
        person=where.person,
        topic=where.topic,
        place=where,
        type=kind,
        types=tuple((each, f"{where.root}/workflows/{each}") for each in types),
        children=tuple(graph["permitted_child_types"]),
        drawing=workflow_views.drawing(graph, live=await _live(desk, request, where.slug, kind=kind)),
        edges=tuple((edge["node"], edge["outcome"], edge["target"]) for edge in graph["edges"]),
    )
    return desk.renderer.page(view)


async def _live(desk: Desk, request: Request, slug: str, *, kind: str) -> dict[str, list[str]]:
    """The cards of this type that have an open activation, by the node they are at; few, since one works at a time."""
    wanted = {"project": slug, "status": "running", "type": kind}
    at: dict[str, list[str]] = {}
    for card in await desk.all(request, "list_cards", wanted, of="cards"):
        of = {"project": slug, "card_id": card["card_id"]}
        for one in await desk.all(request, "list_activations", of, of="activations"):
            if one["closed_at"] is None and one["visits"]:
                at.setdefault(one["visits"][-1]["node"], []).append(card["card_id"])
    return at
