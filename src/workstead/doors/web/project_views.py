"""What a project's pages are given: its cards, its runs, its events, its settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from workstead import errors
from workstead.doors.web import views
from workstead.doors.web.outline_views import OutlineView
from workstead.doors.web.place import Place
from workstead.doors.web.rendering import View
from workstead.doors.web.views import RunView


@dataclass(frozen=True, kw_only=True)
class ProjectView(View):
    """A project's page. can_run: whether this server runs projects. key: names one intended change.

    text, status: what the tree is narrowed to.
    """

    TEMPLATE: ClassVar[str] = "project.html"

    place: Place
    folder: str | None
    isolation: str
    chips: tuple[tuple[str, int], ...]
    run: RunView | None
    can_run: bool
    tree: OutlineView
    text: str
    status: str
    key: str


@dataclass(frozen=True, kw_only=True)
class RunsView(View):
    """The project's runs, newest first. later: pass as offset."""

    TEMPLATE: ClassVar[str] = "runs.html"

    place: Place
    runs: tuple[RunView, ...]
    later: int | None


@dataclass(frozen=True, kw_only=True)
class FactView:
    """One fact. detail: names and values."""

    id: str
    at: str
    event: str
    actor: str
    subject: str
    detail: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class EventsView(View):
    """What was decided and seen, newest first. older: pass as before."""

    TEMPLATE: ClassVar[str] = "events.html"

    place: Place
    lane: str
    lanes: tuple[tuple[str, str], ...]
    facts: tuple[FactView, ...]
    older: str | None


@dataclass(frozen=True, kw_only=True)
class SettingsView(View):
    """What the folder's configuration asks for and whether it is accepted; how commands are contained."""

    TEMPLATE: ClassVar[str] = "settings.html"

    place: Place
    facts: tuple[tuple[str, str], ...]
    digest: str
    trusted: bool
    compiles: bool
    needs_trust: tuple[str, ...]
    warnings: tuple[str, ...]
    issues: tuple[errors.Issue, ...]
    types: tuple[str, ...]
    isolation: str
    isolation_floor: str
    isolation_missing: tuple[str, ...]
    key: str


def fact(one: Mapping[str, Any]) -> FactView:
    """A fact as its operation answers it."""
    return FactView(
        id=one["id"],
        at=views.moment(one["at"]),
        event=one["event"],
        actor=one["actor"],
        subject=one["subject"],
        detail=tuple((name, str(value)) for name, value in one["detail"].items()),
    )
