"""Markdown as safe markup: no HTML of the author's, no picture from anywhere, links that say where they lead."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup

_SCHEMES = frozenset({"http", "https", "mailto"})
_TAGS = frozenset(
    {"a", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "strong"}
    | {"table", "tbody", "td", "th", "thead", "tr", "ul"}
)
_ATTRIBUTES = {"a": {"href"}, "ol": {"start"}}
# A page has its own first two headings; a text's begin below them.
_LOWER_BY = 2


def render(text: str) -> Markup:
    """The text as markup that may stand in a page."""
    clean = nh3.clean(
        _PARSER.render(text),
        tags=set(_TAGS),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        attribute_filter=_attribute,
        url_schemes=set(_SCHEMES),
        link_rel="noopener noreferrer",
    )
    return Markup(clean)  # noqa: S704 - cleaned on the line above


def _attribute(tag: str, name: str, value: str) -> str | None:
    """An address inside a text means nothing relative to a page of ours."""
    if name == "href":
        return value if urlsplit(value).scheme in _SCHEMES else None
    return value if name in {"rel", "start"} else None


def _lower_headings(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1:]) + _LOWER_BY)}"


def _name_hosts(state: StateCore) -> None:
    """Behind a link whose words do not show it, the host it leads to."""
    for token in state.tokens:
        if token.children:
            token.children = list(_with_hosts(token.children))


def _with_hosts(children: Sequence[Token]) -> Sequence[Token]:
    found: list[Token] = []
    host, said = "", ""
    for child in children:
        found.append(child)
        if child.type == "link_open":
            host, said = _host(str(child.attrGet("href") or "")), ""
        elif child.type == "link_close" and host and host not in said:
            found.append(Token("text", "", 0, content=f" ({host})"))
        else:
            said += child.content
    return found


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _name_pictures(state: StateCore) -> None:
    """A picture is named, not fetched: an address alone can already tell somebody who reads what."""
    for token in state.tokens:
        for child in token.children or ():
            if child.type == "image":
                child.type, child.tag = "text", ""
                child.content = f"[picture: {child.content or 'without a name'}]"


def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.core.ruler.push("lower_headings", _lower_headings)
    made.core.ruler.push("name_pictures", _name_pictures)
    made.core.ruler.push("name_hosts", _name_hosts)
    return made


_PARSER = _parser()
