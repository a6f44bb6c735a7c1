"""A card's pages on work that was really done: cockpit, records, history, differences, conversations."""

import re

import pytest

from support.server import Running

COVERS_MODULES = (
    "doors/web/card_views.py",
    "doors/web/pages/cards.py",
    "doors/web/pages/conversations.py",
    "doors/web/place.py",
    "doors/web/queries.py",
)
CARD = "/projects/ledger/cards/card-a"


@pytest.mark.covers("W28")
def test_the_cockpit_shows_what_is_asked_what_is_true_and_what_was_done(finished: Running) -> None:
    """It is seen, item 1: brief and status rendered, activations with nodes, executors, outcomes and summaries."""
    page = finished.get(CARD).text
    for shown in ("<h3>Keep due dates in the ledger</h3>", "<code>ledger/entries.py</code>", "What was done"):
        assert shown in page
    work = region(page, "work")
    assert "<strong>execute</strong>" in work
    assert f'href="{CARD}/conversations/executor"' in work
    assert "all tests pass" in work
    assert 'href="/projects/ledger/cards/card-b"' in region(page, "dependencies")


@pytest.mark.covers("W28")
def test_the_projects_own_card_shows_its_children_and_the_verdict(finished: Running) -> None:
    """It is seen, item 1: verdict and children with their status."""
    page = finished.get("/projects/ledger/cards/project").text
    assert (
        page.index('id="record-brief-md"') < page.index('id="record-status-md"') < page.index('id="record-review-md"')
    )
    children = region(page, "children")
    assert children.count('data-status="done"') == 3


@pytest.mark.covers("W04", "W28")
def test_a_records_versions_are_read_and_compared(finished: Running) -> None:
    """It is seen, item 1: records with versions, side by side."""
    address = "/projects/ledger/cards/project/records/review.md"
    page = finished.get(address).text
    assert f"{address}?version=1" in page
    assert finished.get(f"{address}?version=1").status == 200
    compared = finished.get(f"{address}/difference?from=1&to=2").text
    assert 'class="pair-before"' in compared
    assert re.search(r'<tr data-kind="(changed|added|removed)">', compared)
    assert "Nothing differs." in finished.get(f"{address}/difference?from=2").text


@pytest.mark.covers("W03", "W28")
def test_a_cards_versions_are_compared_field_by_field(finished: Running) -> None:
    """It is seen, item 1: history with differences."""
    page = finished.get(f"{CARD}/history").text
    found = re.search(r'href="([^"]+/history/difference[^"]+)"', page)
    assert found
    compared = finished.get(found[1].replace("&amp;", "&")).text
    assert "<h2>status</h2>" in compared
    assert re.search(r'class="pair-after">"?(done|running)"?<', compared)


@pytest.mark.covers("W13", "W28")
def test_a_conversation_reads_as_exchanges_and_failures_stand_open(finished: Running) -> None:
    """It is seen, item 1: conversation reader; the failing command is what a reader came for."""
    page = finished.get(f"{CARD}/conversations/executor").text
    failed = re.search(
        r'<article class="said" id="row-(\d+)" data-kind="call" data-state="failed">.*?</article>', page, re.S
    )
    assert failed
    assert "exit code 1" in failed[0]
    assert " open>" in failed[0]
    assert "not JSON serializable" in failed[0]
    assert "activation_id" not in page


@pytest.mark.covers("W13")
def test_one_row_has_an_address_and_earlier_rows_are_a_link_away(finished: Running) -> None:
    """It is seen, item 1: pages, and links to one row."""
    address = f"{CARD}/conversations/executor"
    assert 'href="#row-3"' in finished.get(address).text
    alone = finished.get(f"{address}?row=3").text
    assert 'id="row-3"' in alone
    assert 'id="row-4"' not in alone
    later = finished.get(f"{address}?after=10").text
    assert 'rel="prev"' in later
    assert 'id="row-3"' not in later


@pytest.mark.parametrize("query", ["?row=x", "?after=-1", "?after=99999999999"])
def test_an_address_that_was_made_up_is_refused(finished: Running, query: str) -> None:
    """Addresses are input."""
    assert finished.get(f"{CARD}/conversations/executor{query}").status == 400


@pytest.mark.parametrize("path", ["records/none.md", "conversations/nobody", "history/difference?from=1&to=99"])
def test_what_is_not_there_is_not_found(finished: Running, path: str) -> None:
    """Missing is missing, whoever asks."""
    assert finished.get(f"{CARD}/{path}").status == 404


@pytest.mark.parametrize("path", ["", "/history", "/conversations/executor", "/records/status.md"])
def test_a_cards_pages_hold_no_inline_script_or_style(finished: Running, path: str) -> None:
    """House style, line 67."""
    page = finished.get(CARD + path).text
    assert not re.search(
        r"<script(?![^>]*\ssrc=)|<style|\sstyle=\"|\son[a-z]+=\"|href=\"javascript:", page, re.IGNORECASE
    )


def region(page: str, name: str) -> str:
    """One live region of a page."""
    found = re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)
    assert found, f"the page has no region {name}"
    return found[0]
