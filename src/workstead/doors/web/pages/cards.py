"""One card: the cockpit, its versions, its records, and where two versions differ."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workstead import errors
from workstead.doors import http
from workstead.doors.web import card_views, forms, place, queries, side_by_side, timelines, views
from workstead.doors.web.card_views import CardView, ConversationLine, DifferenceView, HistoryView, RecordPageView
from workstead.doors.web.desk import Desk, new_key, see
from workstead.doors.web.timeline_views import SHOWS

_CURRENT = "current"


async def show(desk: Desk, request: Request) -> Response:
    """One card: what is asked, what is true, what was done, and what it belongs to."""
    return await cockpit(desk, request)


async def cockpit(desk: Desk, request: Request, *, draft: str = "", refused: errors.Refusal | None = None) -> Response:
    """The same; draft and refused: of a comment that could not be written."""
    where, card, of = await place.of_card(desk, request)
    commands = await desk.all(request, "list_processes", of, of="processes")
    view = CardView(
        title=card["title"],
        person=where.person,
        topic=where.topic,
        place=where,
        status_text=card_views.said(card),
        facts=card_views.facts(card),
        records=await _records(desk, request, of),
        work=card_views.work(await desk.all(request, "list_activations", of, of="activations")),
        dependencies=tuple(card_views.dependency(one) for one in await _section(desk, request, of, "dependencies")),
        children=views.nested(await _section(desk, request, of, "children")),
        conversations=await _speakers(desk, request, of),
        commands=len(commands),
        failed=sum(1 for one in commands if one["end"] and one["end"]["code"] != 0),
        timeline=await timelines.read(desk, request, of, draft=draft, refused=refused.message if refused else None),
        shows=SHOWS,
        reopenable=card_views.reopenable(card),
        key=new_key(),
    )
    return desk.renderer.page(view, status=http.status_of(refused) if refused else 200)


async def reopen(desk: Desk, request: Request) -> Response:
    """Make an ended card changed, so that the next run works on it again."""
    key = forms.field(await forms.fields(request), "key")
    of = {"project": request.path_params["slug"], "card_id": request.path_params["card_id"]}
    await desk.run(request, "reopen_card", {**of, "request_id": key})
    return see(f"/projects/{of['project']}/cards/{of['card_id']}")


async def history(desk: Desk, request: Request) -> Response:
    """The versions of a card, newest first, a page at a time."""
    where, _, of = await place.of_card(desk, request)
    found = await desk.run(request, "list_card_versions", {**of, "position": request.query_params.get("at")})
    view = HistoryView(
        title=f"History of {where.card_id}",
        person=where.person,
        topic=where.topic,
        place=where,
        versions=tuple(card_views.version(each) for each in found["versions"]),
        older=found["next"],
    )
    return desk.renderer.page(view)


async def difference(desk: Desk, request: Request) -> Response:
    """Where two versions of a card differ, field by field."""
    where, _, of = await place.of_card(desk, request)
    before, after = _two(request)
    found = await desk.all(
        request, "diff_card_versions", {**of, "from_version": before, "to_version": after}, of="fields"
    )
    view = DifferenceView(
        title=f"What changed in {where.card_id}",
        person=where.person,
        topic=where.topic,
        place=where,
        what=where.card_id,
        before=str(before),
        after=str(after),
        differences=card_views.fields(found),
        back=f"{where.card}/history",
    )
    return desk.renderer.page(view)


async def record(desk: Desk, request: Request) -> Response:
    """A record's text that counts now, or one accepted version; and all its versions."""
    where, _, of = await place.of_card(desk, request)
    named = {**of, "name": request.path_params["name"]}
    shown = queries.number(request, "version")
    now = await desk.run(request, "read_record", named)
    text = now if shown is None else await desk.run(request, "read_record_version", {**named, "version": shown})
    versions = await desk.all(request, "list_record_versions", named, of="versions")
    view = RecordPageView(
        title=f"{now['name']} of {where.card_id}",
        person=where.person,
        topic=where.topic,
        place=where,
        record=card_views.record(now, text),
        shown=shown,
        versions=tuple(card_views.version(each) for each in versions),
    )
    return desk.renderer.page(view)


async def record_difference(desk: Desk, request: Request) -> Response:
    """Where two texts of a record differ, side by side."""
    where, _, of = await place.of_card(desk, request)
    name = request.path_params["name"]
    before, after = _two(request)
    wanted = {**of, "name": name, "from_version": before, "to_version": after}
    hunks = await desk.all(request, "diff_record_versions", wanted, of="hunks")
    view = DifferenceView(
        title=f"What changed in {name} of {where.card_id}",
        person=where.person,
        topic=where.topic,
        place=where,
        what=name,
        before=str(before),
        after="what counts now" if after == _CURRENT else str(after),
        differences=(("", side_by_side.blocks(hunks)),) if hunks else (),
        back=f"{where.card}/records/{name}",
    )
    return desk.renderer.page(view)


async def _records(desk: Desk, request: Request, of: dict[str, str]) -> tuple[card_views.RecordView, ...]:
    found = []
    for line in await desk.all(request, "list_records", of, of="records"):
        text = await desk.run(request, "read_record", {**of, "name": line["name"]})
        if text["content"]:
            found.append(card_views.record(line, text))
    return card_views.in_order(found)


async def _section(desk: Desk, request: Request, of: dict[str, str], name: str) -> list[dict[str, Any]]:
    return await desk.all(request, "get_card", {**of, "section": name}, of=name)


async def _speakers(desk: Desk, request: Request, of: dict[str, str]) -> tuple[ConversationLine, ...]:
    found = await desk.all(request, "list_conversations", of, of="conversations")
    return tuple(ConversationLine(agent=one["agent"], rows=one["rows"]) for one in found)


def _two(request: Request) -> tuple[int, int | str]:
    after = _CURRENT if request.query_params.get("to", _CURRENT) == _CURRENT else queries.needed(request, "to")
    return queries.needed(request, "from"), after
