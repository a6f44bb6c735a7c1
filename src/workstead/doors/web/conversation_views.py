"""What a conversation's page is given: its rows as exchanges a person can read."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from workstead.doors.web import conversation_marks, views
from workstead.doors.web.conversation_marks import Link
from workstead.doors.web.place import Place
from workstead.doors.web.rendering import View
from workstead.kernel.canonical import Json

Redact = Callable[[Json], Json]

CUT_CHARS = 6000
_SHORT_CHARS = 90
# What was printed or written comes first; the small facts about it follow.
_ORDER = {"patch": 0, "text": 0, "data": 1, "line": 2}
# What a call is about, by the argument that says it.
_SUBJECTS = ("path", "command", "pattern", "card_id", "title", "outcome", "url", "process_id", "directory")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One named value. kind: line stands beside its name; text, patch and data stand below it. cut: it goes on."""

    name: str
    kind: Literal["line", "text", "patch", "data"]
    text: str
    cut: bool = False

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """The lines of a patch, each with what it does."""
        kinds = {"+": "added", "-": "removed", "@": "place"}
        return tuple((kinds.get(line[:1], "same"), line) for line in self.text.split("\n"))


@dataclass(frozen=True, kw_only=True)
class CallView:
    """A tool call with its result beside it. state: waiting, ok, failed. said: the result in a few words."""

    tool: str
    subject: str
    state: Literal["waiting", "ok", "failed"]
    said: str | None
    given: tuple[Part, ...] = ()
    result: tuple[Part, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SpokenView:
    """One exchange, named by its first row. kind: activation, text, call, or what else was told to the agent."""

    number: int
    kind: str
    who: str
    at: str
    text: str = ""
    more: str = ""
    about: str = ""
    links: tuple[Link, ...] = ()
    cut: bool = False
    call: CallView | None = None


@dataclass(frozen=True, kw_only=True)
class ConversationView(View):
    """A page of what an agent said and did on a card. earlier, later: rows to show after, None where there are none."""

    TEMPLATE: ClassVar[str] = "conversation.html"

    place: Place
    agent: str
    address: str
    total: int
    rows: tuple[SpokenView, ...]
    earlier: int | None
    later: int | None
    whole: bool


def exchanges(
    rows: Sequence[Mapping[str, Any]], *, redact: Redact, whole: bool = False, root: str = "", address: str = ""
) -> tuple[SpokenView, ...]:
    """Rows as their operation answers them; a result stands with its call when both are among them.

    root, address: of the project and of the conversation, for links.
    """
    limit_chars = None if whole else CUT_CHARS
    results = {row["call_id"]: row for row in rows if row["kind"] == "tool_result"}
    calls = {row["call_id"] for row in rows if row["kind"] == "tool_call"}
    return tuple(
        _mark(row, redact=redact, root=root, address=address)
        if row["kind"] in conversation_marks.KINDS
        else _exchange(row, results.get(row["call_id"]), redact=redact, limit_chars=limit_chars)
        for row in rows
        if row["kind"] != "tool_result" or row["call_id"] not in calls
    )


def _mark(row: Mapping[str, Any], *, redact: Redact, root: str, address: str) -> SpokenView:
    content = redact(row["content"])
    known: Mapping[str, Any] = content if isinstance(content, dict) else {}
    made = conversation_marks.mark(row["kind"], known, root=root, address=address)
    return SpokenView(
        number=row["number"],
        kind=row["kind"],
        who=row["role"],
        at=views.moment(row["at"]),
        text=made.text,
        more=made.more,
        about=made.about,
        links=made.links,
    )


def _exchange(
    row: Mapping[str, Any], result: Mapping[str, Any] | None, *, redact: Redact, limit_chars: int | None
) -> SpokenView:
    content = redact(row["content"])
    known: Mapping[str, Any] = content if isinstance(content, dict) else {"text": str(content)}
    spoken = SpokenView(number=row["number"], kind=row["kind"], who=row["role"], at=views.moment(row["at"]))
    if row["kind"] in {"tool_call", "tool_result"}:
        return replace(spoken, kind="call", call=_call(row, known, result, redact=redact, limit_chars=limit_chars))
    text, cut = _cut(str(known.get("text", "")), limit_chars)
    return replace(spoken, text=text, cut=cut)


def _call(
    row: Mapping[str, Any],
    known: Mapping[str, Any],
    result: Mapping[str, Any] | None,
    *,
    redact: Redact,
    limit_chars: int | None,
) -> CallView:
    given = redact(_parsed(known["arguments"])) if "arguments" in known else None
    answer = row if row["kind"] == "tool_result" else result
    outcome = _outcome(redact(answer["content"])) if answer is not None else None
    said = _said(outcome)
    return CallView(
        tool=row["tool"] or "",
        subject=_subject(given),
        state="waiting" if outcome is None else "failed" if said is not None else "ok",
        said=said,
        given=_parts(given, limit_chars),
        result=_parts(outcome.get("data") if outcome is not None else None, limit_chars),
    )


def _parsed(arguments: object) -> Json:
    if not isinstance(arguments, str):
        return None
    try:
        value: Json = json.loads(arguments)
    except ValueError:
        # What a model sent that is no JSON is shown as it came.
        return arguments
    return value


def _outcome(content: Json) -> dict[str, Any]:
    result = content.get("result") if isinstance(content, dict) else None
    return result if isinstance(result, dict) else {"success": False, "error": "no result"}


def _said(outcome: Mapping[str, Any] | None) -> str | None:
    """Why a call did not do what was wanted; None when it did."""
    if outcome is None:
        return None
    if not outcome.get("success"):
        return str(outcome.get("error") or "failed")
    data = outcome.get("data")
    code = data.get("exit_code") if isinstance(data, dict) else None
    return f"exit code {code}" if isinstance(code, int) and code != 0 else None


def _subject(given: Json) -> str:
    if not isinstance(given, dict):
        return ""
    patched = re.findall(r"^\+\+\+ (?:b/)?(\S+)", str(given.get("patch", "")), re.MULTILINE)
    found = next((str(given[name]) for name in _SUBJECTS if given.get(name)), ", ".join(patched))
    line = found.split("\n")[0]
    return line if len(line) <= _SHORT_CHARS else line[: _SHORT_CHARS - 1] + "…"


def _parts(value: Json, limit_chars: int | None) -> tuple[Part, ...]:
    if value in (None, {}, [], ""):
        return ()
    if not isinstance(value, dict):
        return (_part("", value, limit_chars),)
    parts = [_part(name, each, limit_chars) for name, each in value.items() if each not in (None, "", [], {})]
    return tuple(sorted(parts, key=lambda part: _ORDER[part.kind]))


def _part(name: str, value: Json, limit_chars: int | None) -> Part:
    if isinstance(value, str):
        kind: Literal["line", "text", "patch", "data"] = "text"
        if name == "patch":
            kind = "patch"
        elif "\n" not in value and len(value) <= _SHORT_CHARS:
            kind = "line"
        text, cut = _cut(value.rstrip("\n"), limit_chars)
        return Part(name=name, kind=kind, text=text, cut=cut)
    if isinstance(value, bool | int | float):
        return Part(name=name, kind="line", text=json.dumps(value))
    text, cut = _cut(json.dumps(value, ensure_ascii=False, indent=1), limit_chars)
    return Part(name=name, kind="data", text=text, cut=cut)


def _cut(text: str, limit_chars: int | None) -> tuple[str, bool]:
    if limit_chars is None or len(text) <= limit_chars:
        return text, False
    return text[:limit_chars], True
