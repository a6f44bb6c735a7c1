"""The timeline in the cockpit of a card: the part that the address asks for."""

from collections.abc import Mapping

from starlette.requests import Request

from workstead import errors
from workstead.doors.web import timeline_views
from workstead.doors.web.desk import Desk, new_key
from workstead.doors.web.timeline_views import SHOWS, TimelineView

_TITLES = dict(SHOWS)


async def read(
    desk: Desk, request: Request, of: Mapping[str, str], *, draft: str = "", refused: str | None = None
) -> TimelineView:
    """The part of the timeline that the address asks for."""
    show = request.query_params.get("show", "all")
    if show not in _TITLES:
        raise errors.invalid("show_unknown", f"Show {', '.join(_TITLES)}.")
    position = request.query_params.get("at")
    found = await desk.run(request, "list_timeline", {**of, "show": show, "position": position})
    return TimelineView(
        entries=tuple(timeline_views.entry(one) for one in found["entries"]),
        show=show,
        older=found["next"],
        later=position is not None,
        key=new_key(),
        draft=draft,
        refused=refused,
    )
