"""What pages are given: declared values, made from what operations answer, never a row or a connection."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from markupsafe import Markup

from workstead import errors
from workstead.doors.web.rendering import View


@dataclass(frozen=True, kw_only=True)
class SignInView(View):
    """The sign-in page. link: the one-time secret to be spent, exact; None when somebody came without one."""

    TEMPLATE: ClassVar[str] = "sign_in.html"

    link: Markup | None


@dataclass(frozen=True, kw_only=True)
class RefusedView(View):
    """A refusal as a page."""

    TEMPLATE: ClassVar[str] = "refused.html"

    message: str
    issues: tuple[errors.Issue, ...] = ()
    sign_in: bool = False


@dataclass(frozen=True, kw_only=True)
class ProjectLine:
    """One project in the list. chips: counts by status."""

    slug: str
    name: str
    title: str
    status: str
    chips: tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class ProjectsView(View):
    """The list of projects."""

    TEMPLATE: ClassVar[str] = "projects.html"

    projects: tuple[ProjectLine, ...]


@dataclass(frozen=True, kw_only=True)
class RunView:
    """A project's live run, or its last one. state: the live state, else how it ended."""

    id: str
    state: str
    live: bool
    person: str
    at: str
    reason: str | None

    @property
    def actions(self) -> tuple[tuple[str, str], ...]:
        """What a person may ask of it: path below `/run/` and label."""
        if not self.live:
            return ()
        if self.state == "paused":
            return (("resume", "Resume"), ("stop", "Stop"))
        if self.state in {"starting", "running"}:
            return (("pause", "Pause"), ("stop", "Stop"))
        return (("stop", "Stop"),)


@dataclass(frozen=True, kw_only=True)
class CardNode:
    """A card in the tree."""

    id: str
    title: str
    type: str
    status: str
    urgency: str
    children: tuple["CardNode", ...] = ()


@dataclass(frozen=True, kw_only=True)
class ProjectView(View):
    """A project's page. can_run: whether this server runs projects at all. key: names one intended change."""

    TEMPLATE: ClassVar[str] = "project.html"

    slug: str
    name: str
    status: str
    folder: str | None
    chips: tuple[tuple[str, int], ...]
    run: RunView | None
    can_run: bool
    cards: tuple[CardNode, ...]
    key: str


@dataclass(frozen=True, kw_only=True)
class ConfigurationView(View):
    """What the folder's configuration asks for, and whether it is accepted."""

    TEMPLATE: ClassVar[str] = "configuration.html"

    slug: str
    name: str
    digest: str
    trusted: bool
    compiles: bool
    needs_trust: tuple[str, ...]
    warnings: tuple[str, ...]
    issues: tuple[errors.Issue, ...]
    key: str


@dataclass(frozen=True, kw_only=True)
class RecordView:
    """A record's text that counts now. source: accepted, draft or starter. more: it goes on past what is shown."""

    name: str
    source: str
    text: str
    more: bool


@dataclass(frozen=True, kw_only=True)
class CardView(View):
    """One card. facts: names and values. conversations: the agents that have spoken on it."""

    TEMPLATE: ClassVar[str] = "card.html"

    slug: str
    name: str
    card_id: str
    status: str
    status_text: str | None
    facts: tuple[tuple[str, str], ...]
    records: tuple[RecordView, ...]
    children: tuple[CardNode, ...]
    conversations: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class VersionView:
    """One version of a card in its history."""

    version: int
    at: str
    author: str
    change: str
    changed: str


@dataclass(frozen=True, kw_only=True)
class HistoryView(View):
    """Every version of a card, newest first."""

    TEMPLATE: ClassVar[str] = "history.html"

    slug: str
    name: str
    card_id: str
    versions: tuple[VersionView, ...]


@dataclass(frozen=True, kw_only=True)
class SpokenView:
    """One row of a conversation. who: agent, system or tool. tool: the one called or answered. text: as said."""

    number: int
    who: str
    kind: str
    tool: str | None
    at: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ConversationView(View):
    """What an agent said and did on a card. next: where later rows begin; None at the end."""

    TEMPLATE: ClassVar[str] = "conversation.html"

    slug: str
    name: str
    card_id: str
    agent: str
    rows: tuple[SpokenView, ...]
    next: int | None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Something to tick, and what it means."""

    name: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class AssistantLine:
    """One assistant. refusals: which calls were refused and why, counted."""

    id: str
    name: str
    holds: bool
    permissions: str
    reach: str
    expires: str
    last_used: str
    calls: int
    refusals: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AssistantsView(View):
    """A person's assistants, newest first, and the form that makes one."""

    TEMPLATE: ClassVar[str] = "assistants.html"

    assistants: tuple[AssistantLine, ...]
    permissions: tuple[Choice, ...]
    projects: tuple[Choice, ...]
    key: str


@dataclass(frozen=True, kw_only=True)
class TokenView(View):
    """A fresh assistant with its token, exact. setups: title, place and text for each client."""

    TEMPLATE: ClassVar[str] = "token.html"

    name: str
    token: Markup
    expires: str
    setups: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, kw_only=True)
class ConnectView(View):
    """Where assistants connect, and how each client is told."""

    TEMPLATE: ClassVar[str] = "connect.html"

    address: str
    setups: tuple[tuple[str, str, str], ...]


def chips(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Counts by status in a fixed order: what needs eyes first."""
    order = ("running", "blocked", "failed", "changed", "stopped", "backlog", "done", "cancelled")
    ranks = {name: rank for rank, name in enumerate(order)}
    found = [(str(name), number) for name, number in counts.items() if number]
    return tuple(sorted(found, key=lambda chip: (ranks.get(chip[0], len(order)), chip[0])))


def run_view(run: Mapping[str, Any] | None) -> RunView | None:
    """A run as its operations answer it."""
    if run is None:
        return None
    live = run.get("ended_at") is None
    state = run["state"] if live else run.get("ending") or "ended"
    return RunView(
        id=run.get("id") or run["run_id"],
        state=state,
        live=live,
        person=run.get("person") or "",
        at=moment(run.get("ended_at") or run.get("created_at")),
        reason=run.get("reason"),
    )


def spoken(row: Mapping[str, Any]) -> SpokenView:
    """A conversation's row as its operation answers it."""
    content = row["content"]
    text = content.get("text") if isinstance(content, dict) else None
    if row["tool"] is not None:
        shown = content.get("arguments", content.get("result", content)) if isinstance(content, dict) else content
        text = json.dumps(shown, ensure_ascii=False, indent=2)
    return SpokenView(
        number=row["number"],
        who=row["role"],
        kind=row["kind"],
        tool=row["tool"],
        at=moment(row["at"]),
        text=text if isinstance(text, str) else json.dumps(content, ensure_ascii=False, indent=2),
    )


def moment(at: object) -> str:
    """A stored time as pages show it: to the minute, UTC."""
    return str(at or "")[:16].replace("T", " ")


def nested(rows: Sequence[Mapping[str, Any]]) -> tuple[CardNode, ...]:
    """Flat cards, siblings in their order, as trees; a card whose parent is not among them stands on top."""
    known = {row["card_id"] for row in rows}
    below: dict[str | None, list[Mapping[str, Any]]] = {}
    for row in rows:
        parent = row.get("parent_id")
        below.setdefault(parent if parent in known else None, []).append(row)

    def node(row: Mapping[str, Any]) -> CardNode:
        return CardNode(
            id=row["card_id"],
            title=row["title"],
            type=row["type"],
            status=row["status"],
            urgency=row.get("urgency", "normal"),
            children=tuple(node(child) for child in below.get(row["card_id"], ())),
        )

    return tuple(node(row) for row in below.get(None, ()))
