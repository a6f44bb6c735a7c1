"""What a model is writing, in a real browser: shown from its beginning, replaced by its row, gone where none follows (W13)."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support import browser as browsers
from support import server
from support.browser import Visit
from support.model_server import ModelServer, Reply, Says, Tool, serving
from support.server import Running
from workstead import demo_models
from workstead.demo_models import Chosen
from workstead.work import template
from workstead.work.workflow.graph import ProviderKind

LONG_MS = 60_000
TALK = "/projects/talk/cards/project/conversations/planner"
LOOK = (Tool(name="glob", arguments={"pattern": "*"}),)
FIRST = Says(text="I look around first.", calls=LOOK)
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

pytestmark = pytest.mark.covers("W13", "K11")


@contextmanager
def talking(base: Path, *replies: Reply) -> Iterator[tuple[Running, ModelServer]]:
    """A server whose planner is answered by two models of one provider, with a run that has begun."""
    with serving(*replies) as models, server.running(base / "data") as live:
        chosen = Chosen(
            kind=ProviderKind.OPENAI_CHAT.value,
            model="m1",
            base_url=models.url,
            key=None,
            tokens=10**9,
            minutes=1000,
            amount=None,
            prices=None,
        )
        folder = base / "talk"
        for path, content in template.materialise().items():
            at = folder / ".workstead" / path
            at.parent.mkdir(parents=True, exist_ok=True)
            if path == "workstead.yaml":
                at.write_bytes(demo_models.configured(content, chosen).replace(b'["m1"]', b'["m1", "m2"]'))
            else:
                at.write_bytes(content)
        with live.control() as control:
            made = control.operation(
                "create_project", {"folder": str(folder), "name": "talk", "title": "Talk", "objective": "Talk."}
            )
            control.operation("trust_configuration", {"project": made["id"], "digest": made["digest"]})
            control.operation("start_run", {"project": "talk"})
        yield live, models


def opened(visit: Visit) -> Page:
    """The conversation in a new tab, with its first row."""
    page = visit.open("/projects/talk")
    page.locator("#card-project, #cards").first.wait_for(timeout=LONG_MS)
    page.goto(visit.live.origin + TALK)
    expect(page.locator("#rows")).to_contain_text("I look around first.", timeout=LONG_MS)
    return page


def arrived(page: Page, models: ModelServer, count: int) -> None:
    """Wait until so many requests have come."""
    for _ in range(500):
        if len(models.asked) >= count:
            return
        page.wait_for_timeout(10)
    raise AssertionError(f"{len(models.asked)} requests came, not {count}")


def test_an_answer_is_shown_from_its_beginning_to_every_tab_and_its_row_takes_its_place(
    chromium: Browser, tmp_path: Path
) -> None:
    """Before the first word, in the middle, in a second tab and in a second browser; no frame has it twice or not."""
    word, half, later = threading.Event(), threading.Event(), threading.Event()
    text = "Larkspur grows here. " + "It wants sun and water. " * 4
    answer = Says(text=text, calls=LOOK, gates={1: word, 6: half})
    with (
        talking(tmp_path, FIRST, answer, Says(text="Later.", calls=LOOK, gates={1: later})) as (live, models),
        browsers.visiting(chromium, live) as visit,
        browsers.visiting(chromium, live) as other,
    ):
        arrived(visit.open("/projects/talk"), models, 2)
        before = opened(visit)
        expect(before.locator("#writing")).to_be_visible(timeout=LONG_MS)
        expect(before.locator("#writing [data-text]")).to_have_text("")
        word.set()
        expect(before.locator("#writing [data-text]")).to_contain_text("Larkspur")
        pages = [before, opened(visit), opened(other)]
        for page in pages:
            expect(page.locator("#writing [data-text]")).to_contain_text("Larkspur")
            page.evaluate(COUNTS, "Larkspur")
        half.set()
        for page in pages:
            expect(page.locator("#rows")).to_contain_text("Larkspur", timeout=LONG_MS)
            # The next answer has begun without a word.
            expect(page.locator("#writing [data-text]")).to_have_text("")
            expect(page.locator("#writing")).to_be_visible()
            assert page.evaluate("window.counts") == [1]


def test_what_a_cut_stream_had_written_goes_before_another_model_writes(chromium: Browser, tmp_path: Path) -> None:
    """A page shows no half answer of one model while, or after, another is asked."""
    cut, word, whole, later = (threading.Event() for _ in range(4))
    half = Says(text="Foxglove is poisonous. " * 4, events=5, gates={5: cut}, then="cut")
    answer = Says(text="Marigold is not. " * 4, calls=LOOK, gates={1: word, 5: whole})
    with (
        talking(tmp_path, FIRST, half, answer, Says(text="Later.", calls=LOOK, gates={1: later})) as (live, models),
        browsers.visiting(chromium, live) as visit,
    ):
        page = opened(visit)
        text = page.locator("#writing [data-text]")
        expect(text).to_contain_text("Foxglove", timeout=LONG_MS)
        cut.set()
        expect(text).to_have_text("", timeout=LONG_MS)
        expect(page.locator("#writing")).to_be_visible()
        arrived(page, models, 3)
        assert [one.body["model"] for one in models.asked] == ["m1", "m1", "m2"]
        word.set()
        expect(text).to_contain_text("Marigold")
        page.evaluate(COUNTS, "Marigold")
        whole.set()
        expect(page.locator("#rows")).to_contain_text("Marigold", timeout=LONG_MS)
        expect(text).to_have_text("")
        assert 0 not in page.evaluate("window.counts")
        assert "Foxglove" not in page.content()


def test_what_a_cut_stream_had_written_goes_while_the_retry_is_waited_for(chromium: Browser, tmp_path: Path) -> None:
    """Both models failed: the next attempt is 15 s away, and nobody writes until then."""
    cut = threading.Event()
    first = Says(text="Foxglove is poisonous. " * 4, events=5, then="cut")
    second = Says(text="Oleander is, too. " * 4, events=5, gates={5: cut}, then="cut")
    with (
        talking(tmp_path, FIRST, first, second, FIRST) as (live, models),
        browsers.visiting(chromium, live) as visit,
    ):
        page = opened(visit)
        text = page.locator("#writing [data-text]")
        expect(text).to_contain_text("Oleander", timeout=LONG_MS)
        cut.set()
        expect(text).to_have_text("")
        assert len(models.asked) == 3
        assert "Oleander" not in page.content()


def test_stop_in_the_middle_of_an_answer_leaves_nothing_of_it(chromium: Browser, tmp_path: Path) -> None:
    """What was not finished was never said."""
    never = threading.Event()
    half = Says(text="Hemlock was next. " * 4, calls=LOOK, gates={5: never})
    with talking(tmp_path, FIRST, half) as (live, _), browsers.visiting(chromium, live) as visit:
        pages = [opened(visit), opened(visit)]
        for page in pages:
            expect(page.locator("#writing [data-text]")).to_contain_text("Hemlock", timeout=LONG_MS)
        with live.control() as control:
            control.operation("stop_run", {"project": "talk"})
        for page in pages:
            expect(page.locator("#writing")).to_be_hidden()
            page.reload()
            expect(page.locator("#rows")).to_contain_text("I look around first.")
            expect(page.locator("#writing")).to_be_hidden()
            assert "Hemlock" not in page.locator("#rows").inner_text()


def test_a_server_that_dies_leaves_no_half_answer_on_the_page(chromium: Browser, tmp_path: Path) -> None:
    """Nobody knows what a lost server would have written."""
    never = threading.Event()
    half = Says(text="Nightshade was next. " * 4, calls=LOOK, gates={5: never})
    with talking(tmp_path, FIRST, half) as (live, _), browsers.visiting(chromium, live) as visit:
        page = opened(visit)
        expect(page.locator("#writing [data-text]")).to_contain_text("Nightshade", timeout=LONG_MS)
        live.process.kill()
        live.process.wait(timeout=5)
        expect(page.locator("#link-note")).to_be_visible(timeout=LONG_MS)
        expect(page.locator("#writing")).to_be_hidden()
