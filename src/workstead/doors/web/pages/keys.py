"""The page of keys: which are stored, what uses them; put one in, replace it, forget it. No value is ever shown."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workstead.doors.web import forms, views
from workstead.doors.web.desk import PAGES, Desk, new_key, see
from workstead.doors.web.key_views import KeyLine, KeysView, UseLine


async def show(desk: Desk, request: Request) -> Response:
    """Every key that is stored or named."""
    person = await desk.me(request)
    stored = {one["name"]: one for one in (await desk.run(request, "list_secrets", {}))["stored"]}
    uses = await _uses(desk, request)
    named = sorted({f"secret:{name}" for name in stored} | {one["key"] for one in uses})
    lines = tuple(_line(each, stored, uses) for each in named)
    return desk.renderer.page(KeysView(title="Keys", person=person, keys=lines, key=new_key()))


async def put(desk: Desk, request: Request) -> Response:
    """Store one, in the place of one of the same name; the value goes nowhere else."""
    given = await forms.fields(request)
    wanted = {"name": forms.field(given, "name").strip(), "value": forms.field(given, "value").strip()}
    await desk.me(request)
    await desk.keep(desk.proof(request), wanted)
    return see("/keys")


async def delete(desk: Desk, request: Request) -> Response:
    """Forget one."""
    given = await forms.fields(request)
    wanted = {"name": request.path_params["name"], "request_id": forms.field(given, "key")}
    await desk.run(request, "delete_secret", wanted)
    return see("/keys")


async def _uses(desk: Desk, request: Request) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    offset: int | None = 0
    for _ in range(PAGES):
        page = await desk.run(request, "list_key_uses", {"offset": offset})
        found += page["uses"]
        offset = page["next"]
        if offset is None:
            break
    return found


def _line(named: str, stored: dict[str, dict[str, Any]], uses: list[dict[str, Any]]) -> KeyLine:
    source, _, name = named.partition(":")
    known = stored.get(name) if source == "secret" else None
    return KeyLine(
        name=name,
        source=source,
        set_at=views.moment(known["set_at"]) if known is not None else None,
        set_by=known["set_by"] if known is not None else None,
        uses=tuple(
            UseLine(
                project=one["project"],
                provider=one["provider"],
                base_url=one["base_url"] or "",
                routes=", ".join(one["routes"]) or "no route",
            )
            for one in uses
            if one["key"] == named
        ),
    )
