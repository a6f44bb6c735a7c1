"""The model calls of a project, one with what its failure means, and where content policies blocked cards."""

from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from workstead.doors.web import model_views, place, queries
from workstead.doors.web.desk import Desk
from workstead.doors.web.model_views import CallsView, CallView, RefusalsView
from workstead.doors.web.place import Place

_FILTERS = ("card_id", "agent", "provider")


async def show(desk: Desk, request: Request) -> Response:
    """A page of calls, newest first."""
    where, _ = await place.of_project(desk, request)
    of = {"project": where.slug}
    chosen = {name: text for name in _FILTERS if (text := queries.text(request, name))}
    failed = bool(queries.text(request, "failed"))
    before = queries.text(request, "before")
    wanted = {**of, **chosen, "failed": failed} | ({"before": before} if before else {})
    found = await desk.run(request, "list_exchanges", wanted)
    kept = chosen | ({"failed": "1"} if failed else {})
    routes = await desk.all(request, "list_models", of, of="routes")
    agents = await desk.all(request, "list_agents", of, of="agents")
    view = CallsView(
        title="Model calls",
        person=where.person,
        topic=where.topic,
        place=where,
        calls=tuple(map(model_views.call, found["exchanges"])),
        chosen={**dict.fromkeys((*_FILTERS, "failed"), ""), **kept},
        filtered=bool(kept),
        agents=tuple(each["name"] for each in agents),
        providers=tuple(sorted({one["provider"] for each in routes for one in each["candidates"]})),
        older=f"{where.root}/exchanges?{urlencode({**kept, 'before': found['next']})}" if found["next"] else "",
    )
    return desk.renderer.page(view)


async def one(desk: Desk, request: Request) -> Response:
    """One call."""
    where, _ = await place.of_project(desk, request)
    wanted = {"project": where.slug, "exchange_id": request.path_params["exchange_id"]}
    found = await desk.run(request, "get_exchange", wanted)
    why = found["failure"]
    view = CallView(
        title="Model call",
        person=where.person,
        topic=where.topic,
        place=where,
        call=model_views.call(found["call"]),
        facts=_facts(found),
        failure=(why["happened"], why["then"], why["advice"]) if why else None,
        links=_links(where, found),
    )
    return desk.renderer.page(view)


async def refusals(desk: Desk, request: Request) -> Response:
    """Where a content policy blocked a card."""
    where, _ = await place.of_project(desk, request)
    wanted = {"project": where.slug, "offset": queries.number(request, "offset") or 0}
    found = await desk.run(request, "list_refusals", wanted)
    view = RefusalsView(
        title="Refusals",
        person=where.person,
        topic=where.topic,
        place=where,
        refusals=tuple(model_views.refusal(each, where.root) for each in found["refusals"]),
        older=found["next"],
    )
    return desk.renderer.page(view)


def _facts(found: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    call = found["call"]
    held = f"{model_views.number(found['held_tokens'])} tokens" if found["held_tokens"] is not None else ""
    sent = f"{model_views.number(found['sent_bytes'])} bytes" if found["sent_bytes"] is not None else ""
    named = (
        ("asked for", call["purpose"]),
        ("the route names first", found["asked_first"]),
        ("attempts", str(call["attempts"] or "")),
        ("finish", found["finish"] or ""),
        ("cached input", f"{model_views.number(call['cached_tokens'])} tokens" if call["cached_tokens"] else ""),
        ("held from the budgets", held),
        ("text asked with", f"{model_views.number(found['request_bytes'])} bytes"),
        ("sent", sent),
        ("SHA-256 of what was sent", (found["sent_digest"] or "")[:16]),
        ("segment", str(found["segment"])),
        ("id", call["exchange_id"]),
    )
    return tuple((term, value) for term, value in named if value)


def _links(where: Place, found: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    call = found["call"]
    card = f"{where.root}/cards/{call['card_id']}"
    said = f"{card}/conversations/{call['agent']}"
    links = [(f"The card {call['card_id']}", card)]
    if found["answer_row"] is not None:
        links.append((f"Its answer, row {found['answer_row']}", f"{said}?row={found['answer_row']}"))
    if found["last_row"]:
        after = max(found["last_row"] - 1, 0)
        links.append((f"What was asked, to row {found['last_row']}", f"{said}?after={after}#row-{found['last_row']}"))
    return tuple(links)
