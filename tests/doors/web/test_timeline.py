"""The timeline of a card on its page: what happened, what was said, and the composer (W29)."""

import re

import pytest

from support.server import Running

COVERS_MODULES = (
    "doors/web/timelines.py",
    "doors/web/timeline_views.py",
    "doors/web/pages/comments.py",
    "runs/timeline.py",
    "work/comments.py",
)

pytestmark = pytest.mark.covers("W29")


def key(page: str) -> str:
    """The key of the composer's form."""
    found = re.search(r'id="composer">\s*<input type="hidden" name="key" value="([0-9a-f]{32})"', page)
    assert found is not None
    return found[1]


def moments(page: str) -> list[str]:
    """The kinds of the entries in order."""
    return re.findall(r'<li class="moment" id="t-[^"]+" data-kind="([a-z]+)"', page)


def test_a_finished_card_tells_what_happened(finished: Running) -> None:
    """Changes, the work's outcomes, its commands and the verdict, newest first, each with a link to the whole."""
    page = finished.get("/projects/ledger/cards/card-b").text
    kinds = moments(page)
    assert {"change", "command", "ended", "outcome", "record", "started"} <= set(kinds)
    assert kinds[-1] == "change", "it begins with its creation"
    assert re.search(r'href="/projects/ledger/cards/card-b/records/[a-z-]+\.md\?version=1"', page)
    assert 'href="/projects/ledger/cards/card-b/conversations/executor"' in page
    only = moments(finished.get("/projects/ledger/cards/card-b?show=commands").text)
    assert set(only) == {"command"}
    assert moments(finished.get("/projects/ledger/cards/card-b?show=people").text) == []
    assert finished.get("/projects/ledger/cards/card-b?show=nonsense").status == 400


@pytest.mark.covers("K05", "K09")
def test_a_comment_is_written_once_and_shown_safely(browser: Running) -> None:
    """A double click is one receipt; Markdown is sanitised, a secret hidden."""
    address = "/projects/garden/cards/project"
    given = {"key": key(browser.get(address).text), "text": "**Mind** the <script>x</script> ghp_" + "a1" * 20}
    said = browser.post(f"{address}/comments", given)
    assert said.status == 303
    anchor = said.headers["location"].partition("#")[2]
    assert browser.post(f"{address}/comments", given).headers["location"] == said.headers["location"]
    page = browser.get(f"{address}?show=people").text
    assert moments(page) == ["comment"]
    assert f'id="{anchor}"' in page
    assert "<strong>Mind</strong>" in page
    assert "<script>x" not in page
    assert "[redacted:github-token]" in page


def test_what_was_refused_stays_in_the_composer(browser: Running) -> None:
    """Nothing a person wrote is lost."""
    address = "/projects/garden/cards/project"
    given = {"key": key(browser.get(address).text), "text": "   \n "}
    refused = browser.post(f"{address}/comments", given)
    assert refused.status == 400
    assert 'role="alert"' in refused.text
    too_long = browser.post(f"{address}/comments", {"key": "k" * 32, "text": "long " * 4000})
    assert too_long.status == 400
    assert "long long long" in too_long.text


def test_a_comment_wakes_nobody(browser: Running) -> None:
    """W29: it never answers, ends or starts anything by itself."""
    with browser.control() as control:
        before = control.operation("get_card", {"project": "garden", "card_id": "project"})
        control.operation("comment_on_card", {"project": "garden", "card_id": "project", "text": "Hello."})
        after = control.operation("get_card", {"project": "garden", "card_id": "project"})
        assert (before["status"], before["revision"]) == (after["status"], after["revision"])
        assert control.operation("list_activations", {"project": "garden", "card_id": "project"})["activations"] == []


@pytest.mark.covers("K10")
def test_the_pages_of_a_timeline_are_the_whole_of_it(finished: Running) -> None:
    """Copied back unchanged, `next` leads through every entry once, in order."""
    of = {"project": "ledger", "card_id": "card-a"}
    with finished.control() as control:
        whole: list[tuple[str, str]] = []
        position = None
        while True:
            page = control.operation("list_timeline", {**of, "limit": 7, "position": position})
            whole += [(one["at"], one["id"]) for one in page["entries"]]
            assert len(page["entries"]) <= 7
            position = page["next"]
            if position is None:
                break
        versions = control.operation("list_card_versions", of)["total"]
        commands = control.operation("list_processes", of)["total"]
    assert whole == sorted(whole, reverse=True)
    assert len(whole) == len(set(whole))
    assert sum(identity.startswith("card@") for _, identity in whole) == versions
    assert sum(identity.startswith("command:") for _, identity in whole) == commands
