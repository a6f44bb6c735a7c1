"""Tools: the operations table as this door shows it; schemas are made once, lists once per set of names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import orjson

from workstead.accounts.authority import Standing
from workstead.agents.tools import arguments
from workstead.doors.mcp.revisions import OLDEST, Revision
from workstead.kernel.acts import AnyAct
from workstead.kernel.canonical import Json
from workstead.kernel.operations import AnyOperation, Door, Effect

Entry = AnyOperation | AnyAct

_LISTS_KEPT = 64
_NOT_IN_OLDEST = frozenset({"outputSchema", "title"})


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool. shown: as the newest revisions list it."""

    entry: Entry
    shown: Mapping[str, Json]


class Toolbox:
    """Every tool there is, by name."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        offered = (entry for entry in entries if Door.MCP in entry.doors)
        self.tools = {each.name: tool(each) for each in sorted(offered, key=lambda each: each.name)}
        self._rendered = lru_cache(maxsize=_LISTS_KEPT)(self._render)

    def listed(self, standing: Standing, revision: Revision) -> orjson.Fragment:
        """The tools the assistant may call somewhere now, one page, as prepared JSON."""
        names = tuple(
            name
            for name, each in self.tools.items()
            if standing.may(each.entry.permissions, operation=name) and any(standing.sets)
        )
        return orjson.Fragment(self._rendered(names, oldest=revision == OLDEST))

    def _render(self, names: tuple[str, ...], *, oldest: bool) -> bytes:
        hidden = _NOT_IN_OLDEST if oldest else frozenset()
        chosen = (self.tools[name].shown for name in names)
        return orjson.dumps([{key: value for key, value in each.items() if key not in hidden} for each in chosen])


def tool(entry: Entry) -> Tool:
    """One operation or act as a tool, with hints that a client may show and never has to believe."""
    read = entry.effect is Effect.READ
    shown: dict[str, Json] = {
        "name": entry.name,
        "title": entry.name.replace("_", " ").capitalize(),
        "description": entry.summary,
        "inputSchema": arguments.schema(entry.input),
        "outputSchema": _output(entry),
        "annotations": {
            "readOnlyHint": read,
            "destructiveHint": entry.effect is Effect.DESTRUCTIVE,
            "idempotentHint": read,
            "openWorldHint": entry.effect is Effect.OUTWARD,
        },
    }
    return Tool(entry=entry, shown=shown)


def _output(entry: Entry) -> Json:
    """The answer's schema as a plain object at its root: clients drop tools whose root is a reference or a choice."""
    whole = cast("dict[str, Json]", entry.adapter.json_schema(mode="serialization"))
    definitions = cast("dict[str, dict[str, Json]]", whole.pop("$defs", {}))
    choices = cast("list[dict[str, Json]]", whole.get("anyOf") or whole.get("oneOf") or [whole])
    found = [_resolved(each, definitions) for each in choices]
    required = set.intersection(*(set(cast("list[str]", each.get("required", []))) for each in found))
    made: dict[str, Json] = {"type": "object", "properties": _merged(found), "required": [*sorted(required)]}
    return made | ({"$defs": cast("Json", definitions)} if definitions else {})


def _merged(schemas: list[dict[str, Json]]) -> dict[str, Json]:
    """The fields of several objects; one that they describe differently may be any of theirs."""
    seen: dict[str, list[Json]] = {}
    for each in schemas:
        for name, described in cast("dict[str, Json]", each.get("properties", {})).items():
            ways = seen.setdefault(name, [])
            if described not in ways:
                ways.append(described)
    return {name: ways[0] if len(ways) == 1 else {"anyOf": ways} for name, ways in seen.items()}


def _resolved(schema: dict[str, Json], definitions: Mapping[str, dict[str, Json]]) -> dict[str, Json]:
    reference = schema.get("$ref")
    return definitions[reference.rpartition("/")[2]] if isinstance(reference, str) else schema
