"""What an agent said and did on a card: the newest rows first, earlier ones on demand, one row by its number."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workstead import errors
from workstead.doors.web import conversation_views, place, queries
from workstead.doors.web.conversation_views import ConversationView
from workstead.doors.web.desk import Desk

# Windows begin at multiples of this, so that a page that grows keeps what is being read in its place.
STEP_ROWS = 50


async def show(desk: Desk, request: Request) -> Response:
    """A window of rows; without a choice the one at the end. `row`: that one in full."""
    where, _, of = await place.of_card(desk, request)
    agent = request.path_params["agent"]
    total = await _rows(desk, request, {**of, "agent": agent})
    row = queries.number(request, "row")
    after = row - 1 if row else _window(queries.number(request, "after"), total=total)
    page = await desk.run(request, "read_conversation", {**of, "agent": agent, "after": max(0, after)})
    rows = _one(page["rows"]) if row else page["rows"]
    address = f"{where.card}/conversations/{agent}"
    view = ConversationView(
        title=f"{agent} on {where.card_title}",
        person=where.person,
        topic=where.topic,
        place=where,
        agent=agent,
        address=address,
        total=total,
        rows=conversation_views.exchanges(rows, redact=desk.redact, whole=bool(row), root=where.root, address=address),
        earlier=max(0, after - 2 * STEP_ROWS) if after > 0 else None,
        later=page["next"] if page["next"] is not None and page["next"] < total else None,
        whole=bool(row),
    )
    return desk.renderer.page(view)


async def _rows(desk: Desk, request: Request, of: dict[str, str]) -> int:
    given = {"project": of["project"], "card_id": of["card_id"]}
    found = await desk.run(request, "list_conversations", given)
    for one in found["conversations"]:
        if one["agent"] == of["agent"]:
            return int(one["rows"])
    raise errors.not_found("conversation", f"{of['agent']} on {of['card_id']}")


def _window(after: int | None, *, total: int) -> int:
    if after is not None:
        return after
    return max(0, (total - 1) // STEP_ROWS * STEP_ROWS - STEP_ROWS)


def _one(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first row, with its result when it is a call."""
    first = rows[:1]
    call = first[0]["call_id"] if first and first[0]["kind"] == "tool_call" else None
    return first + [row for row in rows[1:] if call is not None and row["call_id"] == call]
