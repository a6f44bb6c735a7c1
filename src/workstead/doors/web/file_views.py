"""What the pages of a project's files are given: a folder's entries, or one file as it may be shown."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

from workstead.doors.web import process_views, views
from workstead.doors.web.place import Place
from workstead.doors.web.rendering import View

WORK = "work:///"


@dataclass(frozen=True, kw_only=True)
class Crumb:
    """A folder above what is shown."""

    name: str
    href: str


@dataclass(frozen=True, kw_only=True)
class EntryLine:
    """One name. href: None for what cannot be opened. said: why not, or its size."""

    name: str
    kind: str
    href: str | None
    said: str
    at: str


@dataclass(frozen=True, kw_only=True)
class FolderView(View):
    """A folder. later: the address of the next page of entries. elsewhere: the other part of the folder."""

    TEMPLATE: ClassVar[str] = "folder.html"

    place: Place
    crumbs: tuple[Crumb, ...]
    here: str
    entries: tuple[EntryLine, ...]
    total: int
    later: str | None
    elsewhere: Crumb


@dataclass(frozen=True, kw_only=True)
class FileView(View):
    """A file. lines: numbers and texts, for what is shown as it stands; text: Markdown to be rendered.

    picture: the address of its bytes. shows: other ways to look at it. said: why nothing of it is shown.
    """

    TEMPLATE: ClassVar[str] = "file.html"

    place: Place
    crumbs: tuple[Crumb, ...]
    here: str
    address: str
    facts: tuple[tuple[str, str], ...]
    lines: tuple[tuple[int, str], ...]
    text: str | None
    picture: str | None
    shows: tuple[tuple[str, str], ...]
    show: str
    said: str | None
    earlier: str | None
    later: str | None


def href(root: str, address: str) -> str:
    """The page of a file's address."""
    if address.startswith(WORK):
        return f"{root}/files/{quote(address.removeprefix(WORK))}?in=work"
    return f"{root}/files/{quote(address)}".rstrip("/")


def crumbs(root: str, address: str) -> tuple[tuple[Crumb, ...], str]:
    """The folders above an address, and its own name; empty for the folder itself."""
    base, top = (WORK, "captured output") if address.startswith(WORK) else ("", "files")
    parts = [part for part in address.removeprefix(base).split("/") if part]
    above = [Crumb(name=top, href=href(root, base))]
    above += [
        Crumb(name=part, href=href(root, base + "/".join(parts[: place + 1]))) for place, part in enumerate(parts[:-1])
    ]
    return (tuple(above), parts[-1]) if parts else ((), top)


def entry(one: Mapping[str, Any], root: str) -> EntryLine:
    """An entry as its operation answers it."""
    opens = one["kind"] in {"file", "folder"} and not one["private"]
    return EntryLine(
        name=one["name"],
        kind=one["kind"],
        href=href(root, one["address"]) if opens else None,
        said=_said(one),
        at=views.moment(one["modified_at"]),
    )


def facts(one: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What can be said of any file."""
    found = (("size", process_views.size(one["size_bytes"])), ("changed", views.moment(one["modified_at"])))
    return (*found, ("SHA-256", one["sha256"])) if one["sha256"] else found


def numbered(text: str, first: int) -> tuple[tuple[int, str], ...]:
    """The lines of a text with their numbers; an empty end is no line."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return tuple((first + place, line.rstrip("\r")) for place, line in enumerate(lines))


def formatted(text: str) -> str | None:
    """JSON with a line for each value, None for what is none. Numbers stay as they were written."""
    try:
        found = json.loads(text, parse_float=_Written, parse_int=_Written, parse_constant=_refuse)
        return _laid_out(found, indent="")
    except (ValueError, RecursionError):
        return None


class _Written(str):
    """A number as it was written."""

    __slots__ = ()


def _refuse(name: str) -> object:
    raise ValueError(name)


def _laid_out(value: object, *, indent: str) -> str:
    inner = indent + "  "
    if isinstance(value, _Written):
        return str(value)
    if isinstance(value, Mapping) and value:
        lines = [f"{inner}{json.dumps(k, ensure_ascii=False)}: {_laid_out(v, indent=inner)}" for k, v in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        return "[\n" + ",\n".join(inner + _laid_out(each, indent=inner) for each in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)


def _said(one: Mapping[str, Any]) -> str:
    if one["private"]:
        return "private, not shown"
    if one["kind"] == "link":
        return "a link, not followed"
    if one["kind"] == "other":
        return "neither file nor folder"
    return process_views.size(one["size_bytes"]) if one["size_bytes"] is not None else ""
