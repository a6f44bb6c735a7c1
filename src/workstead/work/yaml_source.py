"""Strict YAML from untrusted bytes: a tree that remembers its lines. It gives the tree no meaning."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from workstead import errors

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 24
MAX_NODES = 50_000

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?([eE][-+]?[0-9]{1,2})?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(frozen=True, kw_only=True)
class Scalar:
    """One value. `text` is what was written; `plain` says that it stood without quotes."""

    line: int
    text: str
    plain: bool

    @property
    def value(self) -> str | int | float | bool | None:
        """The value by YAML 1.2's core rules: only an unquoted one can be other than text."""
        if not self.plain:
            return self.text
        if self.text in _WORDS:
            return _WORDS[self.text]
        if _INTEGER.fullmatch(self.text):
            return int(self.text)
        return float(self.text) if _NUMBER.fullmatch(self.text) else self.text


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A sequence."""

    line: int
    items: "tuple[Node, ...]"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One key of a mapping with what it holds."""

    line: int
    key: str
    value: "Node"


@dataclass(frozen=True, kw_only=True)
class Mapped:
    """A mapping; its keys are texts, in the order written, each once."""

    line: int
    entries: tuple[Entry, ...]


Node = Scalar | Listing | Mapped


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """A tree, or the reasons why there is none."""

    root: Node | None
    issues: tuple[errors.Issue, ...]


def parse(source: bytes, *, name: str) -> Parsed:
    """The tree of one document, or issues whose paths are `name:LINE`; nothing is raised."""
    problem = _unreadable(source, name)
    if problem:
        return Parsed(root=None, issues=(problem,))
    builder = _Builder(source.decode("utf-8-sig"), name)
    try:
        root = builder.document()
    except _Stop:
        root = None
    except yaml.YAMLError as error:
        builder.grammar(error)
        root = None
    return Parsed(root=None if builder.issues else root, issues=tuple(builder.issues))


def _unreadable(source: bytes, name: str) -> errors.Issue | None:
    if len(source) > MAX_BYTES:
        message = f"The file has {len(source)} bytes; it may have {MAX_BYTES} at most."
        return errors.Issue(path=f"{name}:1", message=message)
    at = source.find(b"\0")
    if at >= 0:
        line = source.count(b"\n", 0, at) + 1
        return errors.Issue(path=f"{name}:{line}", message="A NUL byte stands here; the file must be plain text.")
    try:
        source.decode("utf-8")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        return errors.Issue(path=f"{name}:{line}", message="This line is not UTF-8; save the file as UTF-8.")
    return None


class _Stop(Exception):  # noqa: N818 - leaves a source that cannot be read on
    pass


class _Builder:
    """Builds nodes from the parser's events, so that depth, number and aliases are bounded as they come."""

    def __init__(self, text: str, name: str) -> None:
        self.issues: list[errors.Issue] = []
        self._lines = text.splitlines()
        self._name = name
        self._nodes = 0
        self._events: Iterator[yaml.Event] = yaml.parse(text, Loader=_LOADER)

    def document(self) -> Node | None:
        """The only document's root."""
        next(self._events)
        event = next(self._events)
        if isinstance(event, yaml.StreamEndEvent):
            self.stop(1, "The file is empty; start from a template.")
        root = self._node(next(self._events), depth=1)
        next(self._events)
        extra = next(self._events)
        if not isinstance(extra, yaml.StreamEndEvent):
            self.stop(_line(extra), "A second document starts here; the file holds exactly one.")
        return root

    def grammar(self, error: yaml.YAMLError) -> None:
        """A mistake of YAML itself."""
        mark = getattr(error, "problem_mark", None)
        number = mark.line + 1 if mark else 1
        written = self._lines[number - 1] if number <= len(self._lines) else ""
        if "\t" in written[: len(written) - len(written.lstrip())]:
            self._issue(number, "A tab indents this line; indent with spaces.")
        else:
            problem = getattr(error, "problem", None) or "it cannot be read"
            self._issue(number, f"This is not valid YAML: {problem}.")

    def stop(self, line: int, message: str) -> None:
        """Record what makes the rest of the source unreadable and leave."""
        self._issue(line, message)
        raise _Stop

    def _issue(self, line: int, message: str) -> None:
        self.issues.append(errors.Issue(path=f"{self._name}:{line}", message=message))

    def _node(self, event: yaml.Event, *, depth: int) -> Node:
        line = _line(event)
        self._nodes += 1
        if depth > MAX_DEPTH:
            self.stop(line, f"This is nested deeper than {MAX_DEPTH} levels; flatten it.")
        if self._nodes > MAX_NODES:
            self.stop(line, f"The file has more than {MAX_NODES} values; make it smaller.")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            self.stop(line, "Anchors and aliases (`&name`, `*name`) are not read; write the value out.")
        if isinstance(event, yaml.ScalarEvent):
            self._no_tag(event.tag, line)
            return Scalar(line=line, text=event.value, plain=event.implicit[0] and not event.style)
        if isinstance(event, yaml.SequenceStartEvent):
            self._no_tag(event.tag, line)
            return self._listing(line, depth)
        if isinstance(event, yaml.MappingStartEvent):
            self._no_tag(event.tag, line)
            return self._mapping(line, depth)
        raise AssertionError(f"the parser sent {event!r} where a node starts")

    def _no_tag(self, tag: str | None, line: int) -> None:
        if tag is not None:
            self.stop(line, f"The tag `{tag}` is not read; write a plain value, a list or a mapping.")

    def _listing(self, line: int, depth: int) -> Listing:
        items: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, depth=depth + 1))
        return Listing(line=line, items=tuple(items))

    def _mapping(self, line: int, depth: int) -> Mapped:
        entries: dict[str, Entry] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, depth=depth + 1)
            value = self._node(next(self._events), depth=depth + 1)
            if not isinstance(key, Scalar):
                self._issue(key.line, "A key must be a plain word.")
            elif key.text in entries:
                first = entries[key.text].line
                self._issue(key.line, f"`{key.text}` stands on line {first} already; keep one.")
            else:
                entries[key.text] = Entry(line=key.line, key=key.text, value=value)
        return Mapped(line=line, entries=tuple(entries.values()))


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return mark.line + 1 if mark else 1
