"""Reads a tree of values into typed ones; a mistake becomes an issue with its line and stops nothing.

After a mistake a reader returns an empty value ("" or 0), so that later checks skip it and report it once.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from workstead import errors
from workstead.kernel.canonical import Json
from workstead.work import yaml_source
from workstead.work.workflow import grammar

_Choice = TypeVar("_Choice", bound=StrEnum)

# Literal text: `${...}` belongs to whoever reads it later.
_LITERAL_KEYS = frozenset({"compaction_key", "key", "script", "template"})
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_VARIABLE_NAME = re.compile(r"WORKSTEAD_VAR_[A-Z0-9_]+")
_MAX_TEXT_BYTES = 4096


class Problems:
    """Collects the issues and warnings of one source."""

    def __init__(self, source: str, environment: Mapping[str, str]) -> None:
        self.issues: list[errors.Issue] = []
        self.warnings: list[str] = []
        self.variables: set[str] = set()
        self._environment = environment
        self._source = source

    def add(self, at: "At", message: str) -> None:
        """Record a mistake at a place of the source."""
        self.issues.append(errors.Issue(path=self.where(at), message=message))

    def where(self, at: "At") -> str:
        """A place of the source as an issue's path: file, line, keys."""
        return f"{self._source}:{at.line} {at.path}".rstrip()

    def add_elsewhere(self, path: str, message: str) -> None:
        """Record a mistake in another file."""
        issue = errors.Issue(path=path, message=message)
        if issue not in self.issues:
            self.issues.append(issue)

    def expand(self, at: "At", text: str) -> str:
        """The text with `${WORKSTEAD_VAR_NAME}` replaced; a missing one is empty, with a warning."""

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if not _VARIABLE_NAME.fullmatch(name):
                self.add(at, f"`{match[0]}` is not read; only `${{WORKSTEAD_VAR_NAME}}` is replaced here.")
                return ""
            self.variables.add(name)
            if name not in self._environment:
                self.warnings.append(f"{self.where(at)}: {name} is not set; it is read as empty.")
            return self._environment.get(name, "")

        return _VARIABLE.sub(value, text)


class At:
    """A place in the tree: a value, the keys that lead to it, and where its mistakes go."""

    def __init__(self, node: yaml_source.Node, path: str, problems: Problems) -> None:
        self.path = path
        self.line = node.line
        self._node = node
        self._problems = problems

    @property
    def where(self) -> str:
        """The path that an issue here has."""
        return self._problems.where(self)

    def fail(self, message: str) -> None:
        """Record a mistake here."""
        self._problems.add(self, message)

    def fields(self, required: Sequence[str], optional: Sequence[str] = ()) -> "dict[str, At]":
        """The keys of a closed mapping; an unknown or missing one is a mistake."""
        entries = self.entries()
        known = (*required, *optional)
        for key in [key for key in entries if key not in known]:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean `{close[0]}`?" if close else f"known are {_listed(known)}."
            entries.pop(key).fail(f"`{key}` is not a key here; {hint}")
        missing = [key for key in required if key not in entries]
        if missing and isinstance(self._node, yaml_source.Mapped):
            self.fail(f"{_listed(missing)} must be given here.")
        return entries

    def entries(self) -> "dict[str, At]":
        """The keys of a mapping that may have any."""
        if not isinstance(self._node, yaml_source.Mapped):
            self.fail("This must be a mapping of keys to values.")
            return {}
        return {entry.key: self._at(entry) for entry in self._node.entries}

    def named(self, pattern: grammar.Pattern) -> "dict[str, At]":
        """The keys of a mapping from names; a key that is no such name is a mistake and left out."""
        found = {}
        for key, at in self.entries().items():
            if pattern.fits(key):
                found[key] = at
            else:
                at.fail(f"`{key}` is no {pattern.what}; it must be {pattern.rule}.")
        return found

    def items(self) -> "list[At]":
        """The items of a list."""
        if not isinstance(self._node, yaml_source.Listing):
            self.fail("This must be a list.")
            return []
        return [At(item, f"{self.path}[{i}]", self._problems) for i, item in enumerate(self._node.items)]

    def plain(self) -> Json:
        """Everything here as plain values, nothing replaced: for what is data to its reader."""
        return _plain(self._node)

    def find(self, *keys: str | int) -> "At":
        """The place that these keys lead to, or the last one on the way that is there; records nothing."""
        at = self
        for key in keys:
            node = at._node
            if isinstance(key, int) and isinstance(node, yaml_source.Listing) and key < len(node.items):
                at = At(node.items[key], f"{at.path}[{key}]", self._problems)
                continue
            entries = node.entries if isinstance(node, yaml_source.Mapped) else ()
            found = next((entry for entry in entries if entry.key == key), None)
            if found is None:
                break
            at = at._at(found)
        return at

    def holds_mapping(self) -> bool:
        """Whether this is a mapping."""
        return isinstance(self._node, yaml_source.Mapped)

    def holds_list(self) -> bool:
        """Whether this is a list."""
        return isinstance(self._node, yaml_source.Listing)

    def text(self, *, max_bytes: int = _MAX_TEXT_BYTES) -> str:
        """A text with something in it."""
        value = self._scalar()
        if not isinstance(value, str) or not value.strip():
            if not self._failed(value):
                self.fail("This must be a text; quote it if it looks like a number or a word such as true.")
            return ""
        if len(value.encode()) > max_bytes:
            self.fail(f"This text may have {max_bytes} bytes at most.")
            return ""
        return value

    def any_text(self, *, max_bytes: int = _MAX_TEXT_BYTES) -> str:
        """A text that may be empty."""
        value = self._scalar()
        return "" if isinstance(value, str) and not value else self.text(max_bytes=max_bytes)

    def name(self, pattern: grammar.Pattern) -> str:
        """A text that follows a grammar."""
        text = self.text()
        if text and not pattern.fits(text):
            self.fail(f"`{text}` is no {pattern.what}; it must be {pattern.rule}.")
            return ""
        return text

    def names(self, pattern: grammar.Pattern) -> tuple[str, ...]:
        """A list of such texts, each once."""
        return self.unique([(item, item.name(pattern)) for item in self.items()])

    def unique(self, found: "Sequence[tuple[At, str]]") -> tuple[str, ...]:
        """The texts found in order; a second one of the same is a mistake."""
        seen: list[str] = []
        for at, text in found:
            if text in seen:
                at.fail(f"`{text}` stands in this list already; name it once.")
            elif text:
                seen.append(text)
        return tuple(seen)

    def integer(self, *, minimum: int, maximum: int) -> int:
        """A whole number within bounds."""
        value = self._scalar()
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            self.fail(f"This must be a whole number from {minimum} to {maximum}.")
            return minimum
        return value

    def number(self, *, minimum: float, maximum: float) -> float:
        """A number within bounds."""
        value = self._scalar()
        if isinstance(value, bool) or not isinstance(value, int | float) or not minimum <= value <= maximum:
            self.fail(f"This must be a number from {minimum} to {maximum}.")
            return minimum
        return float(value)

    def written(self) -> str:
        """A value exactly as it stands in the source."""
        if not isinstance(self._node, yaml_source.Scalar):
            return ""
        return self._problems.expand(self, self._node.text) if "${" in self._node.text else self._node.text

    def boolean(self) -> bool:
        """True or false."""
        value = self._scalar()
        if not isinstance(value, bool):
            self.fail("This must be `true` or `false`.")
            return False
        return value

    def choice(self, choices: type[_Choice], *, default: _Choice) -> _Choice:
        """One of a closed set; the default stands in after a mistake."""
        value = self._scalar()
        for choice in choices:
            if value == choice.value:
                return choice
        self.fail(f"This must be one of {_listed([choice.value for choice in choices])}.")
        return default

    def missing(self, name: str, kind: str, known: "Mapping[str, object]") -> bool:
        """Whether a name read here is not among the known ones. An empty one is, and was reported."""
        if not name or name in known:
            return not name
        close = difflib.get_close_matches(name, list(known), n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known are {_listed(list(known))}."
        self.fail(f"There is no {kind} `{name}`; {hint}")
        return True

    def _at(self, entry: yaml_source.Entry) -> "At":
        at = At(entry.value, f"{self.path}.{entry.key}" if self.path else entry.key, self._problems)
        at.line = entry.line
        return at

    def _scalar(self) -> str | int | float | bool | None:
        if not isinstance(self._node, yaml_source.Scalar):
            return None
        if "${" not in self._node.text or self.path.rpartition(".")[2] in _LITERAL_KEYS:
            return self._node.value
        text = self._problems.expand(self, self._node.text)
        return yaml_source.Scalar(line=self.line, text=text, plain=self._node.plain and bool(text)).value

    def _failed(self, value: object) -> bool:
        """Whether an empty value comes from a bad `${...}`, which is recorded already."""
        return (
            value == ""
            and isinstance(self._node, yaml_source.Scalar)
            and "${" in self._node.text
            and any(issue.path == self.where for issue in self._problems.issues)
        )


def _plain(node: yaml_source.Node) -> Json:
    if isinstance(node, yaml_source.Scalar):
        return node.value
    if isinstance(node, yaml_source.Listing):
        return [_plain(item) for item in node.items]
    return {entry.key: _plain(entry.value) for entry in node.entries}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
