"""Which transport a project's route gets: practice plays the script beside the project's files."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from workstead import errors
from workstead.agents.models import practice_script, routing, transports
from workstead.agents.models.practice_script import Script
from workstead.agents.models.shape import Transport
from workstead.work.workflow.graph import Provider, Route
from workstead.workspace.files import Folder

SCRIPT = "practice.yaml"

_LIMIT_BYTES = 1_048_576


def transport_of(
    route: Route, providers: Mapping[str, Provider], folder: Path, *, means: routing.Means, pace_ms: int = 0
) -> Transport:
    """The way to ask what a route of a project names.

    Raises what `transports.transport_for` and a broken script raise.
    """
    script = _script(folder) if transports.needs_script(route, providers) else None
    made = transports.Means(routing=means, script=script, pace_ms=pace_ms)
    return transports.transport_for(route, providers, means=made)


def _script(folder: Path) -> Script | None:
    with Folder(folder) as opened:
        try:
            source = opened.read(SCRIPT, limit_bytes=_LIMIT_BYTES)
        except errors.Refusal as refusal:
            if refusal.kind is errors.Kind.NOT_FOUND:
                return None
            raise
    return _compiled(source)


@lru_cache(maxsize=8)
def _compiled(source: bytes) -> Script:
    # Every node asks for its project's script, and reading a long one holds the loop for 20 ms.
    return practice_script.compile_script(source, name=SCRIPT)
