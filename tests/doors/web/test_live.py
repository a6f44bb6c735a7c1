"""Live hints: what changed and never what it became; the stream ends with the right to it."""

import http.client
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support import finished, server
from support.server import Running
from workstead.doors.web import rendering

pytestmark = pytest.mark.covers("K11")


def test_a_hint_arrives_after_a_change_and_holds_topic_and_revision_only(browser: Running) -> None:
    """K11: exact scoped hints after the commit; content is fetched by the page itself."""
    with stream(browser, "projects/garden") as lines, browser.control() as control:
        made = control.operation("create_card", new_card("A secret title"))
        hints = hints_until(lines, f"cards/{made['card_id']}")
    assert all("secret title" not in line for line in hints)
    assert hints[-1] == f'data: {{"revision":{made["revision"]},"topic":"cards/{made["card_id"]}"}}'


@pytest.mark.covers("K06")
def test_the_stream_says_gone_and_ends_when_the_sign_in_ends(browser: Running) -> None:
    """Authority is asked again for each page of rows."""
    with stream(browser, "projects/garden") as lines:
        browser.post("/sign-out", {})
        rest = list(lines)
    assert "event: gone" in rest


def test_the_list_of_projects_hears_of_a_new_one(browser: Running, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The topic of `/`."""
    folder = tmp_path_factory.mktemp("meadow")
    with stream(browser, "projects") as lines, browser.control() as control:
        given = {"folder": str(folder), "name": "meadow", "title": "Meadow", "objective": "Mow."}
        made = control.procedure("initialise", given)
        assert hints_until(lines, f"projects/{made['project']}")


def test_an_unknown_topic_is_refused(browser: Running) -> None:
    """Nothing is streamed that nobody named."""
    assert browser.get("/live?topic=everything").status == 400
    assert browser.get("/live?topic=projects/nowhere").status == 404


@pytest.mark.covers("K22")
def test_a_server_that_stops_ends_its_streams_at_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """An open page must not hold up a stop."""
    with server.running(tmp_path_factory.mktemp("stop") / "data") as found:
        found.sign_in()
        with stream(found, "projects") as lines:
            assert found.stop() == 0
            assert "event: gone" not in list(lines)


@pytest.mark.covers("W13")
def test_what_a_model_writes_reaches_an_open_conversation_word_by_word(tmp_path: Path) -> None:
    """W13: streamed text to whoever watches; the durable row, tied to the same exchange, takes its place."""
    folder = tmp_path / "ledger"
    shutil.copytree(finished.EXAMPLE, folder)
    with server.running(tmp_path / "data", WORKSTEAD_PRACTICE_PACE_MS="600") as found:
        made = server.cli(found.data, "init", str(folder), "--title", "Due dates", "--objective", "Add due dates.")
        assert made.returncode == 0, made.stderr
        found.sign_in()
        with stream(found, "projects/ledger&writing=project/planner") as lines, found.control() as control:
            control.operation("start_run", {"project": "ledger", "request_id": "one"})
            seen = list(_partials(lines))
            hints_until(lines, "conversations/project/planner")
        texts = [one["text"] for one in seen if one["state"] == "writing" and one["text"]]
        assert len(texts) > 1
        assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
        page = found.get("/projects/ledger/cards/project/conversations/planner").text
        assert 'data-writing="project/planner"' in page
        assert texts[-1].strip()[:20] in page


def _partials(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """What is written, until the first answer is done."""
    for line in lines:
        if line == "event: partial":
            said = json.loads(next(lines).removeprefix("data: "))
            yield said
            if said["state"] == "done":
                return


def test_every_region_has_an_id_and_follows_topics_that_exist() -> None:
    """A region that follows a topic nobody announces would never be fetched again."""
    known = re.compile(
        r"run|budget|configuration|cards/[^/]+(/records/[^/]+|/processes/[^/]+)?|(effects/)?conversations/[^/]+/[^/]+"
    )
    regions = 0
    for path in sorted(rendering.FOLDER.glob("*.html")):
        for tag in re.findall(r"<[a-z]+ [^<]*?data-region[^>]*>", path.read_text(encoding="utf-8")):
            regions += 1
            assert re.search(r'\sid="[a-z-]+"', tag), f"{path.name}: {tag}"
            topics = re.search(r'data-topics="([^"]*)"', tag)
            for topic in re.sub(r"{{.*?}}", "x", topics[1]).split() if topics else ():
                assert known.fullmatch(topic), f"{path.name}: {topic}"
    assert regions > 15


@contextmanager
def stream(browser: Running, topic: str) -> Iterator[Iterator[str]]:
    """The lines of an open stream, its first block read."""
    connection = http.client.HTTPConnection("127.0.0.1", browser.port, timeout=5)
    connection.request("GET", f"/live?topic={topic}", headers={"Cookie": browser.cookie})
    answer = connection.getresponse()
    assert answer.status == 200
    assert answer.getheader("content-type") == "text/event-stream; charset=utf-8"
    lines = (line.decode().rstrip("\n") for line in iter(answer.readline, b""))
    assert next(lines).startswith("retry:")
    assert next(lines) == ""
    try:
        yield lines
    finally:
        answer.close()
        connection.close()


def hints_until(lines: Iterator[str], topic: str) -> list[str]:
    """Every line up to the hint about the topic."""
    seen: list[str] = []
    for line in lines:
        seen.append(line)
        if f'"topic":"{topic}"' in line:
            return seen
    raise AssertionError(f"no hint about {topic} in {seen}")


def new_card(title: str) -> dict[str, object]:
    """A card below the project's own."""
    return {"project": "garden", "parent": "project", "type": "code", "title": title, "bootstrap_content": "Do it."}
