"""House style, line 67: pages work under a policy that forbids inline script and style."""

import re

import pytest

from rules import tree

INLINE = re.compile(
    r"""
    <style\b | \sstyle\s*= | \son[a-z]+\s*=\s*["'{] | javascript:
    | <script\b (?![^>]*\ssrc=) (?![^>]*type="importmap")
    """,
    re.IGNORECASE | re.VERBOSE,
)


def test_templates_hold_no_inline_script_or_style() -> None:
    """House style, line 67; an import map can only stand in the page, so it alone is let through."""
    found = [
        f"{tree.name(path)}: {match[0].strip()}"
        for path in tree.files(tree.SOURCE, ".html", ".svg", ".jinja")
        if (match := INLINE.search(path.read_text(encoding="utf-8")))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "<script>go()</script>",
        '<script type="module">go()</script>',
        "<STYLE>",
        '<p style="x">',
        "<p\n style='x'>",
        '<a onclick="x()">',
        '<a href="javascript:x()">',
    ],
)
def test_the_rule_sees_every_way_to_write_inline(text: str) -> None:
    """A rule that finds nothing may be a rule that looks at nothing."""
    assert INLINE.search(text)


@pytest.mark.parametrize(
    "text",
    [
        '<script type="module" src="/static/x.js"></script>',
        '<script type="importmap" nonce="n">{}</script>',
        '<link rel="stylesheet" href="x.css">',
        '<p class="style" data-on="x">only style = this</p>'.replace("style =", "style:"),
    ],
)
def test_the_rule_lets_files_through(text: str) -> None:
    """Scripts and styles come from files."""
    assert not INLINE.search(text)
