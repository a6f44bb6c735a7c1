"""Which transport a project's provider gets: practice plays the script beside the project's files."""

from pathlib import Path

from workstead import errors
from workstead.agents.models import practice_script, transports
from workstead.agents.models.practice_script import Script
from workstead.agents.models.shape import Transport
from workstead.work.workflow.graph import Provider, ProviderKind
from workstead.workspace.files import Folder

SCRIPT = "practice.yaml"

_LIMIT_BYTES = 1_048_576


def transport_of(provider: Provider, folder: Path, *, pace_ms: int = 0) -> Transport:
    """The way to ask a provider for one project. Raises what `transports.transport_for` and a broken script raise."""
    script = _script(folder) if provider.kind is ProviderKind.PRACTICE else None
    means = transports.Means(script=script, pace_ms=pace_ms)
    return transports.transport_for(provider, provider.models[0], means=means)


def _script(folder: Path) -> Script | None:
    with Folder(folder) as opened:
        try:
            source = opened.read(SCRIPT, limit_bytes=_LIMIT_BYTES)
        except errors.Refusal as refusal:
            if refusal.kind is errors.Kind.NOT_FOUND:
                return None
            raise
    return practice_script.compile_script(source, name=SCRIPT)
