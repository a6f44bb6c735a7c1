"""Redaction: the one projection that everything leaving as text for reading goes through. Pure.

Stored data is never redacted; what is shown is (K09). There are three kinds of channel (S21). Text for
reading uses `text` and `tree`. Exact bytes (exports, files, downloads) use nothing. An agent's own file
reads and command output use `exact`, which hides only the secrets of this instance, so that code which says
`token = read_token()` can be read and edited.

A placeholder, `[redacted:openai-key]`, names the family and carries no part of the secret. Redacting again
changes nothing, and `certified_end` never cuts through a placeholder or a secret.
"""

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from workstead.kernel import canonical, secret_names, secret_shapes, unfinished
from workstead.kernel.canonical import Json
from workstead.kernel.secret_shapes import Shape, Span

PLACEHOLDER = re.compile(r"\[redacted:[a-z0-9-]{1,32}\]")

Shapes = tuple[Shape, ...]

_EXACT_FAMILY = "instance-secret"
_NAMED_FAMILY = "secret"
# Shorter values stand in ordinary text by chance; hiding them would hide the text.
_EXACT_MIN_CHARS = 8
_SHORTEST_CHARS = 8
# A second pass finds what the first uncovered by putting a placeholder beside it; a third finds nothing more.
_PASSES = 3
_REMEMBERED_CHARS, _REMEMBERED_MOST = 48, 4096
_HINTS = tuple({hint for shape in secret_shapes.SHAPES for hint in shape.hints})
_SCHEMA_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_SCHEMA_MARKS = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
_SCHEMA_VALUES = frozenset({"const", "default", "example", "examples"})


@dataclass(frozen=True, kw_only=True)
class Redacted:
    """Text that may leave, and whether anything in it was hidden."""

    text: str
    altered: bool


@dataclass(frozen=True, kw_only=True)
class RedactedTree:
    """A JSON value that may leave, and whether anything in it was hidden."""

    value: Json
    altered: bool


class Redactor:
    """The projection of one instance: the known shapes, and the exact values of its own secrets."""

    def __init__(self, secrets: Iterable[str | bytes] = ()) -> None:
        self._forms: tuple[str, ...] = ()
        self._exact: re.Pattern[str] | None = None
        self._known: dict[str, Redacted] = {}
        self._know({form for secret in secrets for form in _forms(secret)})

    def learn(self, secret: str | bytes) -> None:
        """From now on hide one more exact value; one that was replaced stays hidden."""
        fresh = set(_forms(secret)) - set(self._forms)
        if any(len(form) >= _EXACT_MIN_CHARS for form in fresh):
            self._know(fresh | set(self._forms))

    def text(self, value: str) -> Redacted:
        """The text without exact secrets, known shapes and assigned secrets."""
        if len(value) > _REMEMBERED_CHARS:
            return self._text(value, among=secret_shapes.SHAPES)
        # Pages say the same short words again and again. What was decided before a secret was learned stays in the
        # table of then, also when it is written down later.
        known = self._known
        found = known.get(value)
        if found is None:
            found = self._text(value, among=secret_shapes.SHAPES)
            if len(known) < _REMEMBERED_MOST:
                known[value] = found
        return found

    def unfinished(self, value: str) -> Redacted:
        """What may be shown of a text that is still being written: no part of a secret whose rest may follow."""
        return self.text(value[: unfinished.settled_end(value, secrets=self._forms)])

    def exact(self, value: str) -> Redacted:
        """The text without this instance's secrets and credentials, for agents' reads and command output."""
        shown, hidden = self._without_exact(value)
        after = _replace(shown, secret_shapes.OWN.spans(shown), family=secret_shapes.OWN.family)
        return Redacted(text=after, altered=hidden or after != shown)

    def tree(self, value: Json) -> RedactedTree:
        """The JSON value with every text redacted and every secret-named field hidden.

        The structure stays: lists keep their length, objects their fields; null, true, false and "" stay too.
        """
        try:
            whole = canonical.text(value)
        except TypeError:
            # Half a surrogate pair, from file names in other encodings: no canonical text, but still shown.
            among: Shapes = secret_shapes.SHAPES
        else:
            among = tuple(_possible(whole, among=secret_shapes.SHAPES))
            if not among and not any(form in whole for form in self._forms):
                return RedactedTree(value=value, altered=False)
        shown = self._node(value, name=None, among=among)
        return RedactedTree(value=shown, altered=shown != value)

    def certified_end(self, value: str, limit_bytes: int) -> int:
        """How many characters fit in `limit_bytes` of UTF-8 without cutting a placeholder or a secret.

        0 when the first of them alone is longer; redact first, and what stands there is at most 48 bytes.
        """
        end = fitting(value, limit_bytes=limit_bytes)
        if end == len(value):
            return end
        spans = sorted(self._all_spans(value), reverse=True)
        for start, stop in spans:
            if start < end < stop:
                end = start
        return end

    def _know(self, forms: set[str]) -> None:
        longest_first = sorted((form for form in forms if len(form) >= _EXACT_MIN_CHARS), key=lambda f: (-len(f), f))
        self._forms = tuple(longest_first)
        self._exact = re.compile("|".join(re.escape(form) for form in longest_first)) if longest_first else None
        self._known = {}

    def _text(self, value: str, *, among: Shapes) -> Redacted:
        shown, hidden = self._without_exact(value)
        for _ in range(_PASSES):
            before = shown
            for shape in _possible(shown, among=among):
                shown = _replace(shown, shape.spans(shown), family=shape.family)
            if shown == before:
                break
            hidden = True
        return Redacted(text=shown, altered=hidden)

    def _without_exact(self, value: str) -> tuple[str, bool]:
        if self._exact is None or len(value) < _SHORTEST_CHARS:
            return value, False
        shown = _replace(value, (match.span() for match in self._exact.finditer(value)), family=_EXACT_FAMILY)
        return shown, shown != value

    def _all_spans(self, value: str) -> Iterator[Span]:
        yield from (match.span() for match in PLACEHOLDER.finditer(value))
        if self._exact is not None:
            yield from (match.span() for match in self._exact.finditer(value))
        for shape in _possible(value, among=secret_shapes.SHAPES):
            yield from shape.spans(value)

    def _node(self, value: Json, *, name: str | None, among: Shapes) -> Json:
        """One node of a tree; `name` is the secret name it stands under, `among` what the tree may hold."""
        if isinstance(value, str):
            return self._text(value, among=among).text if name is None else _hidden(value)
        if isinstance(value, list):
            return [self._node(child, name=name, among=among) for child in value]
        if isinstance(value, dict):
            return self._fields(value, name=name, among=among)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return _placeholder(_NAMED_FAMILY) if number and name and not secret_names.plural(name) else value

    def _fields(self, value: dict[str, Json], *, name: str | None, among: Shapes) -> Json:
        described = name is not None and _is_schema(value)
        shown: dict[str, Json] = {}
        for key, child in value.items():
            inherited = name if not described or key in _SCHEMA_VALUES else None
            under = key if secret_names.secret(key) else inherited
            key_shown = _unused(self._text(key, among=among).text, shown)
            shown[key_shown] = self._node(child, name=under, among=among)
        return shown


def contains_placeholder(value: str) -> bool:
    """Whether the text holds one of our placeholders; a write that does is refused (S21)."""
    return PLACEHOLDER.search(value) is not None


def holds_placeholder(value: Json) -> bool:
    """Whether a placeholder of ours stands in it somewhere; writing that back would destroy what it stands for."""
    if isinstance(value, str):
        return contains_placeholder(value)
    if isinstance(value, dict):
        return any(holds_placeholder(each) for each in value.values())
    return isinstance(value, list) and any(holds_placeholder(each) for each in value)


def fitting(value: str, *, limit_bytes: int) -> int:
    """How many characters of the text fit in `limit_bytes` of UTF-8."""
    raw = value[: max(limit_bytes, 0)].encode("utf-8", "surrogatepass")
    if len(raw) <= limit_bytes:
        return min(len(value), max(limit_bytes, 0))
    end = max(limit_bytes, 0)
    while end and raw[end] & 0xC0 == 0x80:
        end -= 1
    return len(raw[:end].decode("utf-8", "surrogatepass"))


def _possible(value: str, *, among: Shapes) -> Iterator[Shape]:
    if len(value) < _SHORTEST_CHARS:
        return
    folded = value.lower()
    if among is secret_shapes.SHAPES and True not in [hint in folded for hint in _HINTS]:
        # Nearly every text ends here; a list is several times faster than a generator for each shape.
        return
    for shape in among:
        if any(hint in folded for hint in shape.hints):
            yield shape


def _replace(value: str, spans: Iterable[Span], *, family: str) -> str:
    """The text with these spans hidden, except those that touch a placeholder without holding it."""
    parts: list[str] = []
    done = 0
    kept = [match.span() for match in PLACEHOLDER.finditer(value)] if "[redacted:" in value else []
    at = 0
    for start, end in spans:
        while at < len(kept) and kept[at][1] <= start:
            at += 1
        if at < len(kept) and kept[at][0] < end and not _holds((start, end), kept[at]):
            continue
        parts += (value[done:start], _placeholder(family))
        done = end
    return "".join((*parts, value[done:])) if parts else value


def _holds(span: Span, placeholder: Span) -> bool:
    return span[0] <= placeholder[0] and placeholder[1] <= span[1] and span != placeholder


def _placeholder(family: str) -> str:
    return f"[redacted:{family}]"


def _hidden(value: str) -> str:
    return value if not value or PLACEHOLDER.fullmatch(value) else _placeholder(_NAMED_FAMILY)


def _is_schema(value: dict[str, Json]) -> bool:
    """A field called `password` that describes a password, in a tool's schema, is no secret."""
    described = value.get("type")
    return not _SCHEMA_MARKS.isdisjoint(value) or (isinstance(described, str) and described in _SCHEMA_TYPES)


def _unused(key: str, taken: dict[str, Json]) -> str:
    """Two hidden keys would otherwise become one and lose a value."""
    number, free = 1, key
    while free in taken:
        number += 1
        free = f"{key}#{number}"
    return free


def _forms(secret: str | bytes) -> Iterator[str]:
    """The texts one secret may appear as: itself, escaped in JSON or a URL, in base64 or hexadecimal."""
    raw = secret.encode("utf-8") if isinstance(secret, str) else secret
    try:
        plain = raw.decode("utf-8")
    except UnicodeDecodeError:
        yield raw.hex()
    else:
        yield plain
        yield json.dumps(plain)[1:-1]
        yield json.dumps(plain, ensure_ascii=False)[1:-1]
        yield urllib.parse.quote(plain, safe="")
        yield urllib.parse.quote_plus(plain)
    if isinstance(secret, bytes):
        yield raw.hex()
    yield base64.b64encode(raw).decode().rstrip("=")
    yield base64.urlsafe_b64encode(raw).decode().rstrip("=")
