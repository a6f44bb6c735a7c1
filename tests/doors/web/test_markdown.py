"""Texts of agents become markup that can do nothing."""

from html.parser import HTMLParser

import pytest

from workstead.doors.web import markdown


@pytest.mark.covers("W28")
def test_a_text_becomes_headings_lists_tables_and_code() -> None:
    """Doors, pages: Markdown is rendered; a page keeps its first two headings for itself."""
    shown = markdown.render("# Plan\n\n- one\n- two\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n`code`\n")
    for markup in ("<h3>Plan</h3>", "<li>one</li>", "<td>1</td>", "<code>code</code>"):
        assert markup in shown


@pytest.mark.covers("W28")
@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '<div style="position:fixed">over everything</div>',
        "[x](javascript:alert(1))",
        "[x](data:text/html,hello)",
        "<iframe src=//evil.example></iframe>",
        "[x](https://a.example 'a\" onclick=\"b')",
    ],
)
def test_nothing_a_text_says_becomes_live_markup(text: str) -> None:
    """Doors, pages: sanitised; what a writer wrote as HTML is text."""
    made = Made()
    made.feed(markdown.render(text))
    assert not {tag for tag, _ in made.found} & {"script", "img", "div", "iframe", "style"}
    names = {name for _, attributes in made.found for name, _ in attributes}
    assert names <= {"href", "rel"}
    addresses = [value or "" for _, attributes in made.found for name, value in attributes if name == "href"]
    assert all(address.startswith("https://") for address in addresses)


@pytest.mark.covers("W28")
def test_a_picture_is_named_and_never_fetched() -> None:
    """Doors, pages: no remote image; its address alone tells somebody who reads what."""
    shown = markdown.render("![a chart](https://evil.example/p.png)")
    assert "[picture: a chart]" in shown
    assert "evil.example" not in shown


@pytest.mark.covers("W28")
def test_a_link_says_where_it_leads_and_tells_the_place_nothing() -> None:
    """Doors, pages: links show their host and carry `noopener noreferrer`."""
    shown = markdown.render("[your bank](https://evil.example/x)")
    assert 'rel="noopener noreferrer"' in shown
    assert "(evil.example)" in shown
    assert "(a.example)" not in markdown.render("<https://a.example/x>")


@pytest.mark.parametrize("address", ["/sign-out", "../../run", "record:///status.md", "//evil.example/x"])
def test_an_address_that_is_not_the_webs_is_no_link(address: str) -> None:
    """Relative to a page of ours, a text's address would mean something it did not."""
    assert "href" not in markdown.render(f"[there]({address})")


class Made(HTMLParser):
    """The tags that a browser would make."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what begins."""
        self.found.append((tag, attrs))
