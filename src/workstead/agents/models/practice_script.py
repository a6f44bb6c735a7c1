"""The script that practice plays: `practice.yaml` read into scenes. It plays nothing itself.

A script is a list of scenes. A scene says when it is chosen (`when`) and holds the turns of one step of a card, or
says that its turns are those of another scene (`same_as`, by its `name` or its node). One with a `summary` instead of
turns says what the agent's summary is when its conversation is shortened. A turn is what the agent says and
the tools it calls; a call may be known `as` a name, which other calls use as `${name.card_id}`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from workstead import errors
from workstead.agents.models.shape import Child
from workstead.kernel.canonical import Json
from workstead.work import yaml_source
from workstead.work.workflow import grammar
from workstead.work.workflow.lifecycle import Entry, Status
from workstead.work.workflow.reading import At, Problems

REFERENCE = re.compile(r"\$\{([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)\}")
OWN_CARD = "card"
OWN_FIELDS = ("id", "title")
CHILD_FIELD = "card_id"

_CREATE = "create_card"
_MAX_TIMES = 16
_MAX_DELAY_MS = 60_000
_MAX_SAY_BYTES = 16_384
_NAME = grammar.Pattern(
    what="name of a call",
    rule="a lowercase letter, then up to 31 lowercase letters, digits or `_`, and not `card`",
    regex=re.compile(r"(?!card$)[a-z][a-z0-9_]{0,31}"),
)
_SCENE = grammar.Pattern(
    what="name of a scene",
    rule="a lowercase letter, then up to 63 lowercase letters, digits or `-`",
    regex=re.compile(r"[a-z][a-z0-9-]{0,63}"),
)


@dataclass(frozen=True, kw_only=True)
class Condition:
    """What is asked about the card's children. statuses: those that count; empty for any."""

    child: str
    present: bool = True
    statuses: frozenset[Status] = frozenset()

    def holds(self, children: Mapping[str, Child]) -> bool:
        """Whether it is so now."""
        found = children.get(self.child)
        if found is None or not self.present:
            return (found is None) is not self.present
        return not self.statuses or found.status in self.statuses


@dataclass(frozen=True, kw_only=True)
class ScriptedCall:
    """One tool call. name: what later calls know its result by. unless: when it holds, the agent only looks."""

    tool: str
    arguments: Mapping[str, Json]
    name: str | None = None
    unless: Condition | None = None


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One answer. delay_ms: how long the agent seems to think; None leaves that to whoever plays the script."""

    say: str
    calls: tuple[ScriptedCall, ...]
    delay_ms: int | None = None


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The turns of one step of a card. card, entry: None for any. conditions: all must hold when the step begins.

    summary: instead of turns, what is said when the agent's conversation is shortened; then node is empty for any.
    """

    number: int
    agent: str
    node: str
    turns: tuple[Turn, ...]
    name: str | None = None
    card: str | None = None
    entry: Entry | None = None
    summary: str | None = None
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Named:
    """A call that has a name: where it stands, and the title of the child card it is about, if it says one."""

    scene: int
    turn: int
    index: int
    child: str | None


@dataclass(frozen=True, kw_only=True)
class Script:
    """A whole script. names: every named call."""

    scenes: tuple[Scene, ...]
    names: Mapping[str, Named]


def compile_script(source: bytes, *, name: str = "practice.yaml") -> Script:
    """The script in these bytes; raises invalid `practice_script_invalid` with every mistake by file, line and key."""
    parsed = yaml_source.parse(source, name=name)
    if parsed.root is None:
        raise _refusal(name, parsed.issues)
    problems = Problems(name, {})
    script = _Reader().script(At(parsed.root, "", problems))
    if problems.issues:
        raise _refusal(name, tuple(problems.issues))
    return script


def references(value: Json) -> Iterator[tuple[str, str]]:
    """Every `${name.field}` in the texts of a value."""
    if isinstance(value, str):
        yield from ((match[1], match[2]) for match in REFERENCE.finditer(value))
    elif isinstance(value, list):
        for item in value:
            yield from references(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from references(item)


def _refusal(name: str, issues: tuple[errors.Issue, ...]) -> errors.Refusal:
    first = issues[0]
    message = f"{name} cannot be played: {first.path}: {first.message}"
    return errors.invalid("practice_script_invalid", message, issues=issues)


class _Reader:
    """Reads the list, then settles what scenes say about each other."""

    def __init__(self) -> None:
        self._names: dict[str, Named] = {}
        self._uses: list[tuple[At, ScriptedCall, int, int]] = []
        self._borrowed: list[tuple[At, int, str]] = []

    def script(self, at: At) -> Script:
        """The script of the whole tree; its mistakes are recorded."""
        items = at.items()
        if not items and at.holds_list():
            at.fail("The script is empty; it needs at least one scene.")
        scenes = [self._scene(item, number) for number, item in enumerate(items)]
        self._check_scene_names(items, scenes)
        self._check_references()
        whole = list(scenes)
        for where, number, wanted in self._borrowed:
            whole[number] = _borrow(where, scenes[number], scenes, wanted=wanted)
        return Script(scenes=tuple(whole), names=dict(self._names))

    def _scene(self, at: At, number: int) -> Scene:
        tells = "summary" in at.entries() if at.holds_mapping() else False
        fields = at.fields(["when", "summary"]) if tells else at.fields(["when", "turns"], ["name"])
        asked = (["agent"], ["node", "card"]) if tells else (["agent", "node"], ["card", "entry", "if"])
        when = fields["when"].fields(*asked) if "when" in fields else {}
        return Scene(
            number=number,
            name=fields["name"].name(_SCENE) or None if "name" in fields else None,
            agent=when["agent"].name(grammar.AGENT) if "agent" in when else "",
            node=when["node"].name(grammar.NODE) if "node" in when else "",
            card=when["card"].text() if "card" in when else None,
            entry=when["entry"].choice(Entry, default=Entry.BACKLOG) if "entry" in when else None,
            conditions=_conditions(when["if"]) if "if" in when else (),
            turns=self._turns(fields["turns"], number) if "turns" in fields else (),
            summary=fields["summary"].text(max_bytes=_MAX_SAY_BYTES) if tells else None,
        )

    def _turns(self, at: At, number: int) -> tuple[Turn, ...]:
        if at.holds_mapping():
            fields = at.fields(["same_as"])
            wanted = fields["same_as"].name(_SCENE) if "same_as" in fields else ""
            if wanted:
                self._borrowed.append((fields["same_as"], number, wanted))
            return ()
        turns: list[Turn] = []
        items = at.items()
        if not items and at.holds_list():
            at.fail("A scene has at least one turn.")
        for item in items:
            turns += self._turn(item, number, turn=len(turns))
        return tuple(turns)

    def _turn(self, at: At, number: int, *, turn: int) -> list[Turn]:
        fields = at.fields(["calls"], ["say", "delay_ms", "times"])
        items = fields["calls"].items() if "calls" in fields else []
        if "calls" in fields and not items and fields["calls"].holds_list():
            fields["calls"].fail("A turn calls at least one tool; an agent at work never only talks.")
        delay = fields["delay_ms"].integer(minimum=0, maximum=_MAX_DELAY_MS) if "delay_ms" in fields else None
        read = Turn(
            say=fields["say"].text(max_bytes=_MAX_SAY_BYTES) if "say" in fields else "",
            calls=tuple(self._call(item, number, turn, index) for index, item in enumerate(items)),
            delay_ms=delay,
        )
        return [read] * (fields["times"].integer(minimum=1, maximum=_MAX_TIMES) if "times" in fields else 1)

    def _call(self, at: At, scene: int, turn: int, index: int) -> ScriptedCall:
        entries = at.entries()
        name = entries.pop("as").name(_NAME) if "as" in entries else ""
        unless = _condition(entries.pop("unless"), negative=False) if "unless" in entries else None
        tools = list(entries.items())
        if len(tools) != 1:
            if at.holds_mapping():
                at.fail("A call is one tool with its arguments, and beside it `as` and `unless` if need be.")
            return ScriptedCall(tool="", arguments={})
        tool, place = tools[0]
        if not grammar.TOOL.fits(tool):
            place.fail(f"`{tool}` is no {grammar.TOOL.what}; it must be {grammar.TOOL.rule}.")
        arguments = place.plain()
        if not isinstance(arguments, dict):
            place.fail("The arguments must be a mapping of names to values; write `{}` for none.")
            arguments = {}
        call = ScriptedCall(tool=tool, arguments=arguments, name=name or None, unless=unless)
        self._uses.append((place, call, scene, turn))
        if name and name in self._names:
            at.fail(f"`{name}` is the name of an earlier call already; names are known in the whole script.")
        elif name:
            self._names[name] = Named(scene=scene, turn=turn, index=index, child=_child_of(call))
        return call

    def _check_references(self) -> None:
        for at, call, scene, turn in self._uses:
            for name, key in references(dict(call.arguments)):
                problem = self._problem(name, key, scene=scene, turn=turn)
                if problem:
                    at.fail(f"`${{{name}.{key}}}` {problem}")

    def _problem(self, name: str, key: str, *, scene: int, turn: int) -> str | None:
        if name == OWN_CARD:
            return None if key in OWN_FIELDS else "is not known; the own card has `id` and `title`."
        named = self._names.get(name)
        if named is None:
            return f"names no call; give one `as: {name}`."
        if named.scene == scene and named.turn >= turn:
            return "is known only after the turn that makes it."
        if named.scene != scene and (named.child is None or key != CHILD_FIELD):
            return f"reaches into another scene; only the `{CHILD_FIELD}` of a child with a title can be used there."
        return None

    @staticmethod
    def _check_scene_names(items: list[At], scenes: list[Scene]) -> None:
        seen: set[str] = set()
        for at, scene in zip(items, scenes, strict=True):
            if scene.name in seen:
                at.find("name").fail(f"`{scene.name}` is the name of an earlier scene; names stand once.")
            elif scene.name:
                seen.add(scene.name)


def _borrow(at: At, scene: Scene, scenes: list[Scene], *, wanted: str) -> Scene:
    """The scene with the turns of the one it names."""
    named = [other for other in scenes if other.name == wanted]
    alike = [
        other for other in scenes if other.node == wanted and other.agent == scene.agent and other.card == scene.card
    ]
    found = named or alike
    if not found:
        at.fail(f"No scene has the name `{wanted}`, and none of this agent and card has that node.")
    elif len(found) > 1:
        at.fail(f"Several scenes stand at the node `{wanted}`; give the one that is meant a `name` and say that.")
    elif not found[0].turns:
        at.fail(f"The scene `{wanted}` has no turns of its own; name the one that has them.")
    else:
        return replace(scene, turns=found[0].turns)
    return scene


def _conditions(at: At) -> tuple[Condition, ...]:
    items = [at] if at.holds_mapping() else at.items()
    return tuple(_condition(item, negative=True) for item in items)


def _condition(at: At, *, negative: bool) -> Condition:
    missing = negative and "child_missing" in at.entries()
    fields = at.fields(["child_missing"]) if missing else at.fields(["child"], ["status"])
    key = "child_missing" if missing else "child"
    child = fields[key].text() if key in fields else ""
    statuses = fields["status"].items() if "status" in fields else []
    if "status" in fields and not statuses and fields["status"].holds_list():
        fields["status"].fail("Name at least one status, or leave `status` out for any.")
    known = frozenset(item.choice(Status, default=Status.DONE) for item in statuses)
    return Condition(child=child, present=not missing, statuses=known)


def _child_of(call: ScriptedCall) -> str | None:
    """The title of the child card that a call is about."""
    if call.unless is not None:
        return call.unless.child
    title = call.arguments.get("title")
    return title if call.tool == _CREATE and isinstance(title, str) else None
