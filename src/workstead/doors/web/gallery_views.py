"""What the gallery is given: made-up values of the real view types, so that a component cannot drift from its page."""

from dataclasses import dataclass
from typing import ClassVar

from workstead import errors
from workstead.doors.web import workflow_views
from workstead.doors.web.card_views import VisitView, WorkView
from workstead.doors.web.conversation_marks import Link
from workstead.doors.web.conversation_views import CallView, Part, SpokenView
from workstead.doors.web.model_views import AgentLine, BudgetLine, CallLine, CandidateLine
from workstead.doors.web.outline_views import OutlineNode
from workstead.doors.web.place import Place
from workstead.doors.web.process_views import ProcessView
from workstead.doors.web.rendering import View
from workstead.doors.web.side_by_side import Block, paired
from workstead.doors.web.timeline_views import EntryView
from workstead.doors.web.workflow_views import Drawing
from workstead.work.workflow.lifecycle import Status

_AT = "2026-01-02 10:30"
_STATES = ("starting", "running", "pausing", "paused", "stopping", "interrupted")
_MARKDOWN = "A **verdict** with `code`, a [link](https://example.org/x) and\n\n- a list\n- of two\n\n> and a quotation."
_PATCH = "@@ -1,2 +1,2 @@\n def due(day):\n-    return day\n+    return check(day)"
_GRAPH = {
    "entries": [{"entry": "BACKLOG", "node": "work"}],
    "nodes": [
        {"name": "work", "kind": "agent", "executor": "executor"},
        {"name": "check", "kind": "action", "executor": "tests"},
        {"name": "review", "kind": "agent", "executor": "reviewer"},
    ],
    "edges": [
        {"node": "work", "outcome": "ready", "target": "check", "ends": False},
        {"node": "check", "outcome": "passed", "target": "review", "ends": False},
        {"node": "check", "outcome": "failed", "target": "work", "ends": False},
        {"node": "review", "outcome": "done", "target": "DONE", "ends": True},
        {"node": "review", "outcome": "changes", "target": "work", "ends": False},
    ],
}


@dataclass(frozen=True, kw_only=True)
class Samples:
    """One of everything, for one colour scheme; ids differ, so that both stand in one page."""

    scheme: str
    entries: tuple[EntryView, ...]
    rows: tuple[SpokenView, ...]
    work: tuple[WorkView, ...]
    commands: tuple[ProcessView, ...]
    nodes: tuple[OutlineNode, ...]
    agents: tuple[AgentLine, ...]
    candidates: tuple[CandidateLine, ...]
    calls: tuple[CallLine, ...]
    budgets: tuple[BudgetLine, ...]


@dataclass(frozen=True, kw_only=True)
class GalleryView(View):
    """The gallery. place: of a project that does not exist."""

    TEMPLATE: ClassVar[str] = "gallery.html"

    place: Place
    statuses: tuple[str, ...]
    states: tuple[str, ...]
    samples: tuple[Samples, ...]
    difference: Block
    lines: tuple[tuple[int, str], ...]
    markdown: str
    issues: tuple[errors.Issue, ...]
    drawing: Drawing


def gallery(*, person: str) -> GalleryView:
    """Every component in every state."""
    where = Place(
        person=person, slug="sample", name="sample", status="done", card_id="card-a", card_title="Refuse what is late"
    )
    return GalleryView(
        title="Gallery",
        person=person,
        place=where,
        statuses=tuple(status.value for status in Status),
        states=_STATES,
        samples=tuple(_samples(scheme, start=start) for scheme, start in (("light", 0), ("dark", 100))),
        difference=Block(pairs=paired([" def due(day):", "-    return day", "+    return check(day)", "+", " # end"])),
        lines=((1, "def due(day):"), (2, ""), (3, "    return check(day)  # " + "a long line that is broken " * 6)),
        markdown=_MARKDOWN,
        issues=(errors.Issue(path="title", message="say what it is about"),),
        drawing=workflow_views.drawing(_GRAPH, live={"check": ["card-a"]}),
    )


def _samples(scheme: str, *, start: int) -> Samples:
    return Samples(
        scheme=scheme,
        entries=_entries(scheme),
        rows=_rows(start),
        work=_work(scheme),
        commands=_commands(scheme),
        nodes=_nodes(scheme),
        agents=(_agent(scheme),),
        candidates=_candidates(),
        calls=_calls(scheme),
        budgets=_budgets(),
    )


def _entries(scheme: str) -> tuple[EntryView, ...]:
    def entry(mark: str, said: str, *, who: str = "", status: str | None = None, text: str | None = None) -> EntryView:
        code = "python3 -m unittest -q" if mark == "command" else None
        link = None if mark in {"comment", "started", "ended"} else "history"
        return EntryView(
            id=f"{mark}-{scheme}",
            mark=mark,
            at=_AT,
            who=who,
            said=said,
            status=status,
            text=text,
            link=link,
            code=code,
            bad=status == "exit 1",
        )

    return (
        entry("comment", "said", who="Ada", text=_MARKDOWN),
        entry("ended", "work ended", status="done"),
        entry("outcome", "review", who="reviewer", status="admit_review", text="All of it holds."),
        entry("record", "review.md, version 1", who="reviewer"),
        entry("command", "ran", who="executor", status="exit 1"),
        entry("started", "work began, from backlog"),
        entry("change", "moved it to", who="runtime", status="running"),
    )


def _rows(start: int) -> tuple[SpokenView, ...]:
    def call(number: int, state: str, said: str | None) -> SpokenView:
        given = (Part(name="path", kind="line", text="due.py"), Part(name="patch", kind="patch", text=_PATCH))
        result = () if state == "waiting" else (Part(name="output", kind="text", text="ok\n3 tests", cut=True),)
        made = CallView(
            tool="apply_patch",
            subject="due.py",
            state="ok" if state == "ok" else "failed" if state == "failed" else "waiting",
            said=said,
            given=given,
            result=result,
        )
        return SpokenView(number=start + number, kind="call", who="executor", at=f"{_AT}:00", call=made)

    return (
        SpokenView(
            number=start + 1,
            kind="activation",
            who="",
            at=f"{_AT}:00",
            text="Work begins at",
            links=(Link(label="card-a", href="#"),),
            more="What the agent was told.",
            about="Instructions",
        ),
        SpokenView(number=start + 2, kind="text", who="executor", at=f"{_AT}:01", text=_MARKDOWN),
        call(3, "ok", None),
        call(4, "failed", "a hunk does not fit"),
        call(5, "waiting", None),
        SpokenView(number=start + 6, kind="correction", who="", at=f"{_AT}:05", text="End with emit_result.", cut=True),
    )


def _work(scheme: str) -> tuple[WorkView, ...]:
    def visit(node: str, outcome: str | None, *, agent: str | None) -> VisitView:
        summary = "It holds." if outcome else None
        return VisitView(node=node, executor=agent or "tests", agent=agent, at=_AT, outcome=outcome, summary=summary)

    return (
        WorkView(
            id=f"{scheme}-live",
            entry="BACKLOG",
            direction="Mind the leap years.",
            at=_AT,
            took=None,
            ending="running",
            visits=(visit("work", "ready", agent="executor"), visit("check", None, agent=None)),
        ),
    )


def _commands(scheme: str) -> tuple[ProcessView, ...]:
    ends = (("running", "still running"), ("done", "exit code 0"), ("failed", "exit code 1"), ("failed", "unknown"))
    return tuple(
        ProcessView(
            id=f"proc-{scheme}-{number}",
            command="python3 -B -m unittest -q",
            cwd="." if number else "tests",
            at=_AT,
            took=None if state == "running" else "1.2 s",
            state=state,
            said=said,
            streams=(("stdout", "2.0 KiB", number != 3), ("stderr", "", True)),
        )
        for number, (state, said) in enumerate(ends)
    )


def _agent(scheme: str) -> AgentLine:
    facts = (("works at", "goal/work, task/work"), ("network", "none"), ("may write", "status.md"))
    return AgentLine(name=f"executor-{scheme}", route="think", tools=("read", "edit", "run_command"), facts=facts)


def _candidates() -> tuple[CandidateLine, ...]:
    def candidate(model: str, standing: str, wait: str = "", why: str = "") -> CandidateLine:
        return CandidateLine(
            name=f"provider:{model}",
            kind="anthropic",
            address="https://example.org",
            key_source="secret",
            key_name="provider",
            standing=standing,
            wait=wait,
            why=why,
            facts=(("window", "200,000 tokens"), ("a million tokens", "3.00 in, 15.00 out USD")),
        )

    return (
        candidate("large", "blocked", "1 min 12 s", "The provider takes no more requests for now."),
        candidate("small", "cooling", "30.0 s", "The provider is overloaded."),
        candidate("other", "healthy"),
    )


def _calls(scheme: str) -> tuple[CallLine, ...]:
    states = (("running", ""), ("done", ""), ("failed", "rate_limit"), ("interrupted", ""), ("unknown", ""))
    return tuple(
        CallLine(
            id=f"{scheme}-{number}",
            status=status,
            at=f"{_AT}:0{number}",
            agent="executor",
            card_id="card-a",
            model="provider:large",
            purpose="turn",
            took="" if status == "running" else "2.4 s",
            tokens="12,400 in, 310 out" if status == "done" else "",
            failure=failure,
        )
        for number, (status, failure) in enumerate(states)
    )


def _budgets() -> tuple[BudgetLine, ...]:
    def budget(name: str, standing: str, percent: int | None, held: str = "") -> BudgetLine:
        said = f"{percent} % are used." if percent is not None else "310,400 tokens are used; there is no limit."
        return BudgetLine(name=name, standing=standing, percent=percent, sentence=said, source="set by Ada", held=held)

    return (
        budget("The project", "open", 42, held="12,000 tokens"),
        budget("agent executor", "warned", 86),
        budget("card card-a", "spent", 104),
        budget("card card-b", "unlimited", None),
    )


def _nodes(scheme: str) -> tuple[OutlineNode, ...]:
    def node(name: str, title: str, status: str, *, children: tuple[OutlineNode, ...] = ()) -> OutlineNode:
        shut = name == "shut"
        return OutlineNode(
            id=f"{scheme}-{name}",
            title=title,
            status=status,
            opened=bool(children),
            count=40 if shut else len(children),
            turn="#" if shut or children else None,
            below=(("running", 1), ("failed", 2)) if shut else (),
            more=60 if children else 0,
            more_at="#",
            children=children,
        )

    one = node("one", "A card with a title that is so long that it must go on in a second line on a phone", "changed")
    return (node("open", "A card that is open", "running", children=(one,)), node("shut", "One that is shut", "done"))
