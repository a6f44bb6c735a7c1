"""What a card's pages are given: the cockpit, its history, its records and where two versions differ."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from workstead.doors.web import views
from workstead.doors.web.place import Place
from workstead.doors.web.rendering import View
from workstead.doors.web.side_by_side import Block, paired
from workstead.doors.web.timeline_views import TimelineView
from workstead.doors.web.views import CardNode

_REOPENABLE = frozenset({"blocked", "done", "failed"})
_FACTS = ("type", "priority", "urgency", "error", "completed_at", "updated_at", "revision")
_FIRST = ("brief.md", "status.md", "review.md")


@dataclass(frozen=True, kw_only=True)
class RecordView:
    """A record's text, Markdown. source: accepted, draft or starter. more: it goes on past what is shown."""

    name: str
    source: str
    version: int
    text: str
    more: bool

    @property
    def anchor(self) -> str:
        """Its id in the page."""
        return "record-" + self.name.replace(".", "-")


@dataclass(frozen=True, kw_only=True)
class VisitView:
    """One node that was entered. agent: who worked there, None for an action. outcome: None while it goes on."""

    node: str
    executor: str
    agent: str | None
    at: str
    outcome: str | None
    summary: str | None


@dataclass(frozen=True, kw_only=True)
class WorkView:
    """One activation. took: how long, None while it goes on."""

    id: str
    entry: str
    direction: str | None
    at: str
    took: str | None
    ending: str
    visits: tuple[VisitView, ...]


@dataclass(frozen=True, kw_only=True)
class DependencyView:
    """A card that this one needs, or that needs this one."""

    relation: str
    card_id: str
    title: str
    status: str


@dataclass(frozen=True, kw_only=True)
class ConversationLine:
    """An agent that has spoken on the card, and how many rows there are."""

    agent: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class CardView(View):
    """One card. facts: names and values. failed: how many of its commands did not end well. key: of a reopening."""

    TEMPLATE: ClassVar[str] = "card.html"

    place: Place
    status_text: str | None
    facts: tuple[tuple[str, str], ...]
    records: tuple[RecordView, ...]
    work: tuple[WorkView, ...]
    dependencies: tuple[DependencyView, ...]
    children: tuple[CardNode, ...]
    conversations: tuple[ConversationLine, ...]
    commands: int
    failed: int
    timeline: TimelineView
    shows: tuple[tuple[str, str], ...]
    reopenable: bool
    key: str


@dataclass(frozen=True, kw_only=True)
class VersionView:
    """One version of a card or of a record. previous: the one before it, None for the first."""

    version: int
    previous: int | None
    at: str
    author: str
    change: str
    changed: str


@dataclass(frozen=True, kw_only=True)
class HistoryView(View):
    """Versions of a card, newest first. older: where the next page begins; None at the end."""

    TEMPLATE: ClassVar[str] = "history.html"

    place: Place
    versions: tuple[VersionView, ...]
    older: str | None


@dataclass(frozen=True, kw_only=True)
class RecordPageView(View):
    """One record: a text of it, and every accepted version. shown: the number shown, None for what counts now."""

    TEMPLATE: ClassVar[str] = "record.html"

    place: Place
    record: RecordView
    shown: int | None
    versions: tuple[VersionView, ...]


@dataclass(frozen=True, kw_only=True)
class DifferenceView(View):
    """Where two versions differ. differences: a field's name, or nothing, and its places."""

    TEMPLATE: ClassVar[str] = "difference.html"

    place: Place
    what: str
    before: str
    after: str
    differences: tuple[tuple[str, tuple[Block, ...]], ...]
    back: str


def facts(card: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """A card's plain facts as its operation answers them."""
    found = [(name.replace("_", " "), _shown(name, card[name])) for name in _FACTS if card.get(name)]
    author = card["created_by"]["name"]
    return (*found, ("created", f"{views.moment(card['created_at'])} by {author}"))


def reopenable(card: Mapping[str, Any]) -> bool:
    """Whether a person may ask for it again; whether it can be done now says the operation."""
    return card["status"] in _REOPENABLE


def said(card: Mapping[str, Any]) -> str | None:
    """What the card itself says of its state."""
    result = card["result"]
    text = result["summary"] if result else card["status_text"]
    return str(text) if text else None


def record(line: Mapping[str, Any], text: Mapping[str, Any]) -> RecordView:
    """A record as its two reads answer it."""
    return RecordView(
        name=line["name"],
        source=text.get("source") or "accepted",
        version=line["accepted"],
        text=text["content"],
        more=text["next_offset"] is not None,
    )


def in_order(records: Iterable[RecordView]) -> tuple[RecordView, ...]:
    """What is asked, what is true, what was judged; then the others by name."""
    ranks = {name: rank for rank, name in enumerate(_FIRST)}
    return tuple(sorted(records, key=lambda one: (ranks.get(one.name, len(ranks)), one.name)))


def work(activations: Sequence[Mapping[str, Any]]) -> tuple[WorkView, ...]:
    """Activations as their operation answers them, newest first."""
    return tuple(
        WorkView(
            id=one["id"],
            entry=one["entry"],
            direction=one["direction"],
            at=views.moment(one["opened_at"]),
            took=views.duration(one["opened_at"], one["closed_at"]),
            ending=one["ending"] or ("running" if one["closed_at"] is None else "ended"),
            visits=tuple(_visit(visit) for visit in one["visits"]),
        )
        for one in reversed(activations)
    )


def dependency(one: Mapping[str, Any]) -> DependencyView:
    """A dependency as its operation answers it."""
    return DependencyView(relation=one["relation"], card_id=one["card_id"], title=one["title"], status=one["status"])


def version(line: Mapping[str, Any]) -> VersionView:
    """A version's line as its operation answers it."""
    return VersionView(
        version=line["version"],
        previous=line["previous"],
        at=views.moment(line["at"]),
        author=line["author"]["name"],
        change=line["change"],
        changed=", ".join(line["changed"]),
    )


def fields(found: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, tuple[Block, ...]], ...]:
    """Fields that differ, each as lines before and after."""
    return tuple(
        (each["field"], (Block(pairs=paired([*_lines("-", each["before"]), *_lines("+", each["after"])])),))
        for each in found
    )


def _lines(sign: str, value: object) -> list[str]:
    if value is None or value in ([], ""):
        return []
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return [sign + line for line in text.split("\n")]


def _visit(visit: Mapping[str, Any]) -> VisitView:
    kind, _, name = visit["executor"].partition(":")
    return VisitView(
        node=visit["node"],
        executor=name or kind,
        agent=name if kind == "agent" else None,
        at=views.moment(visit["entered_at"]),
        outcome=visit["outcome"],
        summary=visit["summary"],
    )


def _shown(name: str, value: object) -> str:
    return views.moment(value) if name.endswith("_at") else str(value)
