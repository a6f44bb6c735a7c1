"""What can be read is a printed list; nothing else can be named (D09)."""

import re

import pytest

from plugin import catalogue
from rules import tree
from workstead import errors
from workstead.guides import documents

pytestmark = pytest.mark.covers("D09")

VERBS = ("list_", "get_", "read_", "create_", "edit_", "start_", "stop_", "pause_", "resume_", "reopen_", "search_")


@pytest.mark.parametrize("document", documents.DOCUMENTS, ids=lambda each: each.name)
def test_every_document_is_markdown_with_a_heading(document: documents.Document) -> None:
    """An allow-list whose entries are missing would be found by an assistant first."""
    text = documents.text(document.name)
    assert text.startswith("# ")
    assert len(text) > 500


@pytest.mark.parametrize("name", ["", "../README", "getting-started.md", "/etc/passwd", "mcp", "x" * 10_000])
def test_nothing_else_can_be_named(name: str) -> None:
    """D09: allow-listed."""
    with pytest.raises(errors.Refusal) as refused:
        documents.text(name)
    assert refused.value.code == "guide_not_found"


def test_guides_name_tools_that_exist() -> None:
    """A guide that sends an assistant to a tool that is gone is worse than none."""
    texts = [documents.text(each.name) for each in documents.DOCUMENTS if not each.manual]
    named = {name for text in texts for name in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", text)}
    assert {name for name in named if name.startswith(VERBS)} <= {each.name for each in catalogue.entries()}


def test_the_manual_ships_with_the_package() -> None:
    """An installed package has no docs folder beside it."""
    built = (tree.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for each in documents.DOCUMENTS:
        if each.manual:
            file = {"assistants": "mcp"}.get(each.name, each.name)
            assert f'"docs/{file}.md" = "workstead/docs/{file}.md"' in built
