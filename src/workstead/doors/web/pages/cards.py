"""One card: its facts, what its last activation came to, its children and its records."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workstead.doors.web.desk import Desk
from workstead.doors.web.views import CardView

_FACTS = ("type", "priority", "urgency", "depends_on", "revision", "updated_at")


async def show(desk: Desk, request: Request) -> Response:
    """One card."""
    slug, card_id = request.path_params["slug"], request.path_params["card_id"]
    person = await desk.me(request)
    one = await desk.run(request, "get_project", {"project": slug})
    card = await desk.run(request, "get_card", {"project": slug, "card_id": card_id})
    view = CardView(
        title=card["title"],
        person=person,
        topic=f"projects/{one['slug']}",
        slug=one["slug"],
        name=one["name"],
        card_id=card_id,
        status=card["status"],
        summary=_summary(card),
        facts=tuple((name.replace("_", " "), _shown(card[name])) for name in _FACTS if card.get(name)),
    )
    return desk.renderer.page(view)


def _summary(card: dict[str, Any]) -> str | None:
    result = card.get("result")
    return str(result["summary"]) if result else card.get("error")


def _shown(value: object) -> str:
    return ", ".join(str(each) for each in value) if isinstance(value, list | tuple) else str(value)
