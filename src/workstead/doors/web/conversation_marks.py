"""Marks in a conversation: rows that no model said and no tool answered, in words and with links for a person."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

KINDS = frozenset({"activation", "refusal", "segment", "shown"})

_STRATEGIES = {
    "ahead": "it had grown to its limit",
    "size": "the request fitted no model",
    "provider": "the provider said that it does not fit",
}
_HOWS = {
    "summary": "are summarised",
    "omission": "are left out, without a summary",
    "nothing": "held nothing that a model is told",
}


@dataclass(frozen=True, kw_only=True)
class Link:
    """Where more of it stands."""

    label: str
    href: str


@dataclass(frozen=True, kw_only=True)
class Mark:
    """text: one line. more: what can be unfolded under `about`."""

    text: str
    more: str = ""
    about: str = ""
    links: tuple[Link, ...] = ()


def mark(kind: str, known: Mapping[str, Any], *, root: str, address: str) -> Mark:
    """A row of one of `KINDS`. root: the address of its project. address: of its conversation."""
    match kind:
        case "activation":
            return _activation(known)
        case "segment":
            return _segment(known, address)
        case "shown":
            return _shown(known, root)
        case _:
            return Mark(text=str(known.get("text", "")), more=_refusal(known), about="Who refused")


def _activation(known: Mapping[str, Any]) -> Mark:
    lines = [f"Enters {known.get('node', '')} from {str(known.get('entry', '')).lower()}."]
    if known.get("direction"):
        lines.append(str(known["direction"]))
    if known.get("configuration"):
        lines.append(f"Configuration {str(known['configuration'])[:12]}.")
    told = [str(known[name]) for name in ("role_text", "node_text") if known.get(name)]
    tools = ", ".join(f"`{name}`" for name in known.get("tools", ()))
    return Mark(
        text=" ".join(lines),
        more="\n\n".join([*told, *([f"Tools: {tools}."] if tools else [])]),
        about="What it was told",
    )


def _segment(known: Mapping[str, Any], address: str) -> Mark:
    through = known.get("covered_through", 0)
    how, why = _HOWS.get(str(known.get("how")), ""), _STRATEGIES.get(str(known.get("strategy")), "")
    before, after = known.get("before_tokens", 0), known.get("after_tokens", 0)
    sizes = f"about {before:,} tokens became {after:,}"
    kept = [f"Stays word for word, from row {one['row']}:\n\n{one['text']}" for one in known.get("kept", ())]
    return Mark(
        text=f"From here on rows 1 to {through} {how}, because {why}; {sizes}.",
        more="\n\n".join([str(known.get("summary", "")), *kept]),
        about="What stands for them",
        links=(Link(label=f"Row {through + 1}, the first still sent", href=f"{address}?after={through}"),),
    )


def _shown(known: Mapping[str, Any], root: str) -> Mark:
    links = []
    for one in known.get("records", ()):
        part = {"ends": ", only its two ends", "nothing": ", which is empty"}.get(one["exposure"], "")
        version = f"version {one['version']}" if one["version"] else "not accepted"
        pinned = f"?version={one['version']}" if one["version"] else ""
        href = f"{root}/cards/{quote(one['card_id'], safe='')}/records/{quote(one['record'], safe='')}{pinned}"
        links.append(Link(label=f"{one['record']} of {one['card_id']}, {version}{part}", href=href))
    return Mark(text="Was shown from here on:", links=tuple(links))


def _refusal(known: Mapping[str, Any]) -> str:
    names = ("provider", "model", "first", "second")
    return "\n".join(f"- {name}: `{known[name]}`" for name in names if known.get(name))
