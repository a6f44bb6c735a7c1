"""The commands that were run for a card, and what they printed."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workstead import errors
from workstead.doors.web import place, process_views, queries
from workstead.doors.web.desk import Desk
from workstead.doors.web.process_views import CaptureView, ProcessesView

_STRETCH_BYTES = 32 << 10


async def show(desk: Desk, request: Request) -> Response:
    """A card's commands, newest first."""
    where, _, of = await place.of_card(desk, request)
    found = await desk.all(request, "list_processes", of, of="processes")
    view = ProcessesView(
        title=f"Commands of {where.card_title}",
        person=where.person,
        topic=where.topic,
        place=where,
        processes=tuple(process_views.process(row) for row in reversed(found)),
    )
    return desk.renderer.page(view)


async def capture(desk: Desk, request: Request) -> Response:
    """A stretch of what a command printed; without a choice its end, where the reason of a failure stands."""
    where, _, of = await place.of_card(desk, request)
    row = await _process(desk, request, of)
    stream = request.path_params["stream"]
    end_bytes = row["end"][f"{stream}_bytes"] if row["end"] and stream in {"stdout", "stderr"} else 0
    offset = queries.number(request, "offset")
    offset = max(0, end_bytes - _STRETCH_BYTES) if offset is None else offset
    wanted = {**of, "process_id": row["id"], "stream": stream, "offset": offset, "limit_bytes": _STRETCH_BYTES}
    found = await desk.run(request, "read_capture", wanted)
    view = CaptureView(
        title=f"{stream} of {row['id']}",
        person=where.person,
        topic=where.topic,
        place=where,
        process=process_views.process(row),
        stream=stream,
        text=found["content"],
        begins=process_views.size(offset),
        total=process_views.size(found["total_bytes"]),
        earlier=max(0, offset - _STRETCH_BYTES) if offset else None,
        later=found["next_offset"],
    )
    return desk.renderer.page(view)


async def _process(desk: Desk, request: Request, of: dict[str, str]) -> dict[str, Any]:
    wanted = request.path_params["process_id"]
    for row in await desk.all(request, "list_processes", of, of="processes"):
        if row["id"] == wanted:
            return row
    raise errors.not_found("process", wanted)
