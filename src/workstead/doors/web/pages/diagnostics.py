"""What the operator looks at when something does not work: the requests that failed last, and where to see more."""

from starlette.requests import Request
from starlette.responses import Response

from workstead.doors.web.account_views import DiagnosticsView, FailedLine
from workstead.doors.web.desk import Desk


async def show(desk: Desk, request: Request) -> Response:
    """The last failed requests, newest first."""
    person = await desk.me(request)
    found = await desk.run(request, "list_failed_requests", {})
    view = DiagnosticsView(
        title="Diagnostics",
        person=person,
        kept=found["kept"],
        requests=tuple(
            FailedLine(
                at=str(one["at"])[:19].replace("T", " "),
                door=one["door"],
                asked=f"{one['method']} {one['path']}",
                status=one["status"],
                took=f"{one['milliseconds']} ms",
                request_id=one["request_id"],
            )
            for one in found["requests"]
        ),
    )
    return desk.renderer.page(view)
