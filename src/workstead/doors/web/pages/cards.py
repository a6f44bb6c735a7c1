"""One card: its facts, children and records; its history; what an agent said on it."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workstead import errors
from workstead.doors.web import views
from workstead.doors.web.desk import Desk
from workstead.doors.web.views import CardView, ConversationView, HistoryView, RecordView, VersionView

_FACTS = ("type", "priority", "urgency", "depends_on", "error", "completed_at", "revision", "updated_at")


async def show(desk: Desk, request: Request) -> Response:
    """One card."""
    person = await desk.me(request)
    one, of = await _project(desk, request)
    card = await desk.run(request, "get_card", of)
    children = await desk.all(request, "get_card", {**of, "section": "children"}, of="children")
    view = CardView(
        title=card["title"],
        person=person,
        topic=f"projects/{one['slug']}",
        slug=one["slug"],
        name=one["name"],
        card_id=card["card_id"],
        status=card["status"],
        status_text=_said(card),
        facts=tuple((name.replace("_", " "), _shown(name, card[name])) for name in _FACTS if card.get(name)),
        records=await _records(desk, request, of),
        children=views.nested(children),
        conversations=await _speakers(desk, request, of),
    )
    return desk.renderer.page(view)


async def history(desk: Desk, request: Request) -> Response:
    """Every version of a card."""
    person = await desk.me(request)
    one, of = await _project(desk, request)
    versions = await desk.all(request, "list_card_versions", of, of="versions")
    view = HistoryView(
        title=f"History of {of['card_id']}",
        person=person,
        topic=f"projects/{one['slug']}",
        slug=one["slug"],
        name=one["name"],
        card_id=of["card_id"],
        versions=tuple(_version(each) for each in versions),
    )
    return desk.renderer.page(view)


async def conversation(desk: Desk, request: Request) -> Response:
    """What an agent said and did on a card, a page of rows at a time."""
    person = await desk.me(request)
    one, of = await _project(desk, request)
    agent = request.path_params["agent"]
    page = await desk.run(request, "read_conversation", {**of, "agent": agent, "after": _after(request)})
    view = ConversationView(
        title=f"{agent} on {of['card_id']}",
        person=person,
        topic=f"projects/{one['slug']}",
        slug=one["slug"],
        name=one["name"],
        card_id=of["card_id"],
        agent=agent,
        rows=tuple(views.spoken(row) for row in page["rows"]),
        next=page["next"],
    )
    return desk.renderer.page(view)


async def _project(desk: Desk, request: Request) -> tuple[dict[str, Any], dict[str, str]]:
    slug, card_id = request.path_params["slug"], request.path_params["card_id"]
    return await desk.run(request, "get_project", {"project": slug}), {"project": slug, "card_id": card_id}


async def _records(desk: Desk, request: Request, of: dict[str, str]) -> tuple[RecordView, ...]:
    found = []
    for line in await desk.all(request, "list_records", of, of="records"):
        text = await desk.run(request, "read_record", {**of, "name": line["name"]})
        if text["content"]:
            more = text["next_offset"] is not None
            found.append(
                RecordView(name=line["name"], source=text["source"] or "empty", text=text["content"], more=more)
            )
    return tuple(found)


async def _speakers(desk: Desk, request: Request, of: dict[str, str]) -> tuple[str, ...]:
    if not desk.has("list_conversations"):
        return ()
    found = await desk.run(request, "list_conversations", of)
    return tuple(one["agent"] for one in found["conversations"])


def _version(line: dict[str, Any]) -> VersionView:
    return VersionView(
        version=line["version"],
        at=views.moment(line["at"]),
        author=line["author"]["name"],
        change=line["change"],
        changed=", ".join(line["changed"]),
    )


def _after(request: Request) -> int:
    given = request.query_params.get("after", "0")
    if not (given.isascii() and given.isdigit() and len(given) < 10):
        raise errors.invalid("after_invalid", "Follow the link of the page; `after` is a row's number.")
    return int(given)


def _said(card: dict[str, Any]) -> str | None:
    result = card["result"]
    said = result["summary"] if result else card["status_text"]
    return str(said) if said else None


def _shown(name: str, value: object) -> str:
    if name.endswith("_at"):
        return views.moment(value)
    return ", ".join(str(each) for each in value) if isinstance(value, list | tuple) else str(value)
