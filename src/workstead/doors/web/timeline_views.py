"""What the timeline of a card is given: entries as sentences, and the composer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workstead.doors.web import views

SHOWS = (("all", "Everything"), ("people", "Comments"), ("outcomes", "Outcomes"), ("commands", "Commands"))


_CHANGES = {
    "create": "created the card",
    "child_link": "got a child",
    "update": "changed",
    "terminal": "gave the result",
    "status": "moved it to",
    "reorder": "ordered the children",
    "delete": "deleted it",
}


@dataclass(frozen=True, kw_only=True)
class EntryView:
    """One entry.

    mark: its kind. who: empty for the run itself. link: below the card's address. text: Markdown. bad: a command that
    failed.
    """

    id: str
    mark: str
    at: str
    who: str
    said: str
    status: str | None
    text: str | None
    link: str | None
    code: str | None
    bad: bool


@dataclass(frozen=True, kw_only=True)
class TimelineView:
    """A page of the timeline. show: which entries. older: the position of the next page. draft: a refused comment."""

    entries: tuple[EntryView, ...]
    show: str
    older: str | None
    later: bool
    key: str
    draft: str = ""
    refused: str | None = None


def entry(one: Mapping[str, Any]) -> EntryView:
    """An entry as its operation answers it."""
    return EntryView(
        id=one["id"].replace(":", "-").replace("@", "-"),
        mark=one["kind"],
        at=views.moment(one["at"]) or "",
        who=_who(one["by"]),
        said=_said(one),
        status=_status(one),
        text=None if one["kind"] == "command" else one["text"],
        link=_link(one),
        code=one["what"] if one["kind"] == "command" else None,
        bad=one["kind"] == "command" and one["end"] is not None and one["code"] != 0,
    )


def _who(by: str) -> str:
    kind, _, name = by.partition(":")
    return name or ("" if kind == "run" else kind)


def _said(one: Mapping[str, Any]) -> str:
    match one["kind"]:
        case "comment":
            return "said"
        case "change":
            fields = [name.replace("_", " ") for name in one["changed"] if name != "status"]
            said = _CHANGES.get(one["what"], one["what"].replace("_", " "))
            return f"{said} {', '.join(fields)}".rstrip() if one["what"] == "update" else said
        case "record":
            return f"{one['record']}, version {one['version']}"
        case "started":
            return f"work began, from {one['what'].lower()}"
        case "ended":
            return "work ended"
        case "outcome":
            return str(one["what"])
        case _:
            return "ran" if one["end"] else "is running"


def _status(one: Mapping[str, Any]) -> str | None:
    match one["kind"]:
        case "command":
            if one["end"] is None:
                return "running"
            return f"exit {one['code']}" if one["code"] is not None else str(one["end"])
        case "ended":
            return str(one["what"])
        case "outcome":
            return str(one["end"])
        case _:
            return None if one["status"] is None else str(one["status"])


def _link(one: Mapping[str, Any]) -> str | None:
    if one["process_id"]:
        return f"processes#{one['process_id']}"
    if one["record"]:
        return f"records/{one['record']}?version={one['version']}"
    if one["agent"]:
        return f"conversations/{one['agent']}"
    return "history" if one["kind"] == "change" else None
