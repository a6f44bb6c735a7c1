"""What a model is writing, seen in a real browser: it comes, it goes with its rows, and it never outlives its call."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support import browser as browsers
from support import server, talking
from support.model_server import ModelServer, Reply, Says, Tool, serving
from support.server import Running
from support.talking import NAME

TALK = f"/projects/{NAME}/cards/project/conversations/planner"
SAID = "First I look at what there is, then I plan the work in small steps."
LOOK = Tool(name="read", arguments={"path": "."}, id="look")

# How often a word is seen, in each frame that the browser paints.
COUNTS = """(word) => {
  window.counts = [];
  const look = () => {
    const seen = document.querySelector("main").innerText.split(word).length - 1;
    if (window.counts.at(-1) !== seen) window.counts.push(seen);
    requestAnimationFrame(look);
  };
  look();
}"""

pytestmark = pytest.mark.covers("W13", "W28", "K11")


@contextmanager
def talk(base: Path, *replies: Reply, also: str = "m") -> Iterator[tuple[Running, ModelServer]]:
    """A server with a project whose planner asks a model that answers so. also: a second model that is asked then."""
    candidates = ", ".join(f'"{name}"' for name in dict.fromkeys(("m", also)))
    folder = base / NAME
    with serving(*replies) as models, server.running(base / "data") as live:
        main = talking.configure(folder, talking.chosen(models.url))
        main.write_bytes(main.read_bytes().replace(b'["m"]', f"[{candidates}]".encode()))
        talking.found(live, folder)
        live.sign_in()
        yield live, models


def start(live: Running, models: ModelServer) -> None:
    """Start the run, and see the model asked."""
    with live.control() as control:
        control.operation("start_run", {"project": NAME})
        ends_s = time.monotonic() + 10
        while not models.asked:
            assert time.monotonic() < ends_s
            control.operation("get_run", {"project": NAME})


def stop(live: Running) -> None:
    """Stop the run."""
    with live.control() as control:
        control.operation("stop_run", {"project": NAME})


def texts(page: Page) -> int:
    """How often the words stand in the page, in rows and in what is being written."""
    found: int = page.evaluate(
        "(said) => [...document.querySelectorAll('#rows .said, #writing:not([hidden])')]"
        ".filter((one) => one.textContent.includes(said)).length",
        SAID,
    )
    return found


def test_an_answer_is_seen_while_it_is_written_and_gives_way_to_its_row(chromium: Browser, tmp_path: Path) -> None:
    """Opened before its first word, in a second tab in its middle; at no moment do the words stand twice."""
    began, ends = threading.Event(), threading.Event()
    first = Says(text=SAID, calls=(LOOK,), held=0, until=began)
    middle = Says(text=SAID, calls=(LOOK,), held=6, until=ends)
    last = Says(text="That is all.", events=1, then="stall")
    with talk(tmp_path, first, middle, last) as (live, models), browsers.visiting(chromium, live) as visit:
        start(live, models)
        page = visit.open(TALK)
        # The call is made and no word has come yet: that is seen, too.
        expect(page.locator("#writing")).to_be_visible()
        expect(page.locator("#writing [data-text]")).to_have_text("")
        page.evaluate(
            "(said) => { window.twice = 0; new MutationObserver(() => {"
            " const all = [...document.querySelectorAll('#rows .said, #writing:not([hidden])')];"
            " const seen = all.filter((one) => one.textContent.includes(said)).length;"
            " window.most = Math.max(window.most ?? 0, seen);"
            "}).observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true}); }",
            SAID,
        )
        began.set()
        expect(page.locator("#rows")).to_contain_text(SAID)
        expect(page.locator("#writing [data-text]")).to_contain_text("First I look at what there is")
        other = visit.open(TALK)
        expect(other.locator("#writing [data-text]")).to_contain_text("First I look at what there is")
        ends.set()
        for each in (page, other):
            expect(each.locator("#rows .said[data-kind='text']").filter(has_text=SAID)).to_have_count(2)
        stop(live)
        for each in (page, other):
            expect(each.locator("#writing")).to_be_hidden()
            assert texts(each) == 2
        assert page.evaluate("window.most") <= 2


def test_what_was_written_when_a_run_is_stopped_is_not_taken_for_an_answer(chromium: Browser, tmp_path: Path) -> None:
    """A half sentence goes with its call; a reload shows no trace of it."""
    half = Says(text=SAID, events=5, then="stall")
    with talk(tmp_path, half) as (live, models), browsers.visiting(chromium, live) as visit:
        start(live, models)
        page = visit.open(TALK)
        expect(page.locator("#writing [data-text]")).to_contain_text("First")
        stop(live)
        expect(page.locator("#writing")).to_be_hidden()
        page.reload()
        expect(page.locator("#rows")).not_to_contain_text("First I look")
        calls = visit.open(f"/projects/{NAME}/exchanges")
        expect(calls.locator("#calls")).to_contain_text("interrupted")
        calls.get_by_role("link", name=re.compile("model:m")).click()
        expect(calls.locator("#call")).to_contain_text("What it held counts as used.")


def test_a_stream_that_is_cut_takes_its_words_back(chromium: Browser, tmp_path: Path) -> None:
    """What the cut attempt said is no part of the next one."""
    cut = Says(text="Words that were cut off in the middle of", events=6, then="cut")
    with talk(tmp_path, cut) as (live, models), browsers.visiting(chromium, live) as visit:
        start(live, models)
        page = visit.open(TALK)
        expect(page.locator("#writing")).to_be_visible()
        expect(page.locator("#writing [data-text]")).to_have_text("")  # it waits for its next attempt
        stop(live)
        expect(page.locator("#writing")).to_be_hidden()
        expect(page.locator("#rows")).not_to_contain_text("cut off")


def test_no_frame_has_an_answer_twice_or_not_at_all(chromium: Browser, tmp_path: Path) -> None:
    """The row takes the preview's place in one step, in each tab and in each browser; then the next answer begins."""
    ends, later = threading.Event(), threading.Event()
    answer = Says(text=f"Larkspur. {SAID}", calls=(LOOK,), held=6, until=ends)
    # The next answer begins at once and with words, which must wait for the rows of the one before.
    following = Says(text="Then roses are planted in two rows.", calls=(LOOK,), held=4, until=later)
    with (
        talk(tmp_path, answer, following) as (live, models),
        browsers.visiting(chromium, live) as visit,
        browsers.visiting(chromium, live) as other,
    ):
        start(live, models)
        pages = [visit.open(TALK), visit.open(TALK), other.open(TALK)]
        for page in pages:
            expect(page.locator("#writing [data-text]")).to_contain_text("Larkspur")
            page.evaluate(COUNTS, "Larkspur")
        ends.set()
        for page in pages:
            expect(page.locator("#rows")).to_contain_text("Larkspur")
            expect(page.locator("#writing [data-text]")).to_contain_text("Then roses")
            assert page.evaluate("window.counts") == [1]


def test_what_one_model_left_half_said_goes_before_another_speaks(chromium: Browser, tmp_path: Path) -> None:
    """The next candidate is asked at once: its first word comes after the other's last is gone."""
    cut, word = threading.Event(), threading.Event()
    half = Says(text="Foxglove is poisonous in all its parts.", events=6, then="cut", held=5, until=cut)
    whole = Says(text="Marigold is not.", calls=(LOOK,), held=1, until=word)
    last = Says(text="That is all.", events=1, then="stall")
    with (
        talk(tmp_path, half, whole, last, also="n") as (live, models),
        browsers.visiting(chromium, live) as visit,
    ):
        start(live, models)
        page = visit.open(TALK)
        text = page.locator("#writing [data-text]")
        expect(text).to_contain_text("Foxglove")
        cut.set()
        expect(text).to_have_text("")
        expect(page.locator("#writing")).to_be_visible()
        word.set()
        expect(page.locator("#rows")).to_contain_text("Marigold")
        assert [one.body["model"] for one in models.asked][:2] == ["m", "n"]
        assert "Foxglove" not in page.content()


def test_a_server_that_dies_leaves_no_half_answer_on_the_page(chromium: Browser, tmp_path: Path) -> None:
    """Nobody knows what a lost server would have written."""
    half = Says(text=SAID, events=5, then="stall")
    with talk(tmp_path, half) as (live, models), browsers.visiting(chromium, live) as visit:
        start(live, models)
        page = visit.open(TALK)
        expect(page.locator("#writing [data-text]")).to_contain_text("First")
        live.process.kill()
        live.process.wait(timeout=5)
        expect(page.locator("#link-note")).to_be_visible()
        expect(page.locator("#writing")).to_be_hidden()
