"""Measures: the address that monitoring reads. Loopback may, what a proxy passes on may not; it knows no project."""

import resource
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import anyio
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from workstead import instance, metrics
from workstead.doors import http
from workstead.metrics import Family, Sample, counted

PREFIX = "/metrics"

_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
_LOOPBACK = ("127.", "::1")
_LAG_EVERY_S = 0.25

Source = Callable[[], Awaitable[Sequence[Family]]]


class Lag:
    """How late the loop gets to what is due; the most since somebody asked."""

    def __init__(self) -> None:
        self._most_s = 0.0

    async def serve(self) -> None:
        """Look again and again."""
        while True:
            began_s = anyio.current_time()
            await anyio.sleep(_LAG_EVERY_S)
            self._most_s = max(self._most_s, anyio.current_time() - began_s - _LAG_EVERY_S)

    def families(self) -> tuple[Family, ...]:
        """The most, which begins anew."""
        most_s, self._most_s = self._most_s, 0.0
        return (_gauge("workstead_loop_lag_seconds", "The latest the loop was since the last look.", most_s),)


class Measures:
    """The address as an ASGI application; a Guard stands before it."""

    def __init__(self, *sources: Source) -> None:
        self._sources = sources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await (await self._answer(scope))(scope, receive, send)

    async def _answer(self, scope: Scope) -> PlainTextResponse:
        if scope["path"] != PREFIX or scope["method"] not in {"GET", "HEAD"}:
            return PlainTextResponse(f"GET {PREFIX}\n", status_code=404 if scope["path"] != PREFIX else 405)
        if not _near(scope):
            said = "Metrics are for programs on this machine; ask from there, without a proxy.\n"
            return PlainTextResponse(said, status_code=403)
        families = [family for source in self._sources for family in await source()]
        return PlainTextResponse(metrics.text((*families, *_process())), media_type=metrics.MEDIA_TYPE)


def operations(counts: Callable[[], Mapping[tuple[str, str], int]]) -> Source:
    """How often each operation ended how."""

    async def families() -> Sequence[Family]:
        said = "Operations that were run, by name and how they ended: ok, or a refusal's code."
        samples = counted(counts(), ("operation", "code"))
        return (Family(name="workstead_operations_total", kind="counter", help=said, samples=samples),)

    return families


def gauge(name: str, said: str, value: Callable[[], float]) -> Source:
    """One number that goes up and down."""

    async def families() -> Sequence[Family]:
        return (_gauge(name, said, value()),)

    return families


def _gauge(name: str, said: str, value: float) -> Family:
    return Family(name=name, kind="gauge", help=said, samples=(Sample(value=value),))


def _process() -> tuple[Family, ...]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    files = len(list(Path("/proc/self/fd").iterdir()))
    version = Sample(value=1, labels=(("version", instance.VERSION),))
    return (
        Family(name="workstead_build_info", kind="gauge", help="The release that runs.", samples=(version,)),
        Family(
            name="process_cpu_seconds_total",
            kind="counter",
            help="Processor time of this process.",
            samples=(Sample(value=used.ru_utime + used.ru_stime),),
        ),
        _gauge("process_resident_memory_bytes", "Resident memory.", pages * resource.getpagesize()),
        _gauge("process_open_fds", "Open files and sockets.", files),
        _gauge("process_start_time_seconds", "When this process began, in seconds since 1970.", _STARTED_S),
    )


def _near(scope: Scope) -> bool:
    """Whether it was asked from this machine itself: a proxy of this machine says whom it asks for."""
    headers = http.headers_of(scope)
    address = scope["client"][0] if scope.get("client") else ""
    return address.startswith(_LOOPBACK) and not any(name in headers for name in _FORWARDED)


_STARTED_S = time.time()
