"""Where a page stands: who looks, at which project and card; what every page inside a project begins with."""

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from workstead.doors.web.desk import Desk


@dataclass(frozen=True, kw_only=True)
class Place:
    """A page's place. card_id, card_title: empty on a project's own pages. status: of the card, else of the project."""

    person: str
    slug: str
    name: str
    status: str
    card_id: str = ""
    card_title: str = ""

    @property
    def topic(self) -> str:
        """What the page follows live."""
        return f"projects/{self.slug}"

    @property
    def root(self) -> str:
        """The address of the project."""
        return f"/projects/{self.slug}"

    @property
    def card(self) -> str:
        """The address of the card."""
        return f"{self.root}/cards/{self.card_id}"


async def of_project(desk: Desk, request: Request) -> tuple[Place, dict[str, Any]]:
    """The place and the project, as `get_project` answers it."""
    person = await desk.me(request)
    one = await desk.run(request, "get_project", {"project": request.path_params["slug"]})
    return Place(person=person, slug=one["slug"], name=one["name"], status=one["status"]), one


async def of_card(desk: Desk, request: Request) -> tuple[Place, dict[str, Any], dict[str, str]]:
    """The place, the card as `get_card` answers it, and what names it in further reads."""
    person = await desk.me(request)
    one = await desk.run(request, "get_project", {"project": request.path_params["slug"]})
    of = {"project": one["slug"], "card_id": request.path_params["card_id"]}
    card = await desk.run(request, "get_card", of)
    place = Place(
        person=person,
        slug=one["slug"],
        name=one["name"],
        status=card["status"],
        card_id=card["card_id"],
        card_title=card["title"],
    )
    return place, card, of
