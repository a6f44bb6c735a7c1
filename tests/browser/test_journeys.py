"""A person's ways through the pages in a real browser, with practice agents at a pace one can watch (W09, W28)."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support import browser as browsers
from support import server
from support.finished import EXAMPLE
from support.server import Running

PACE_MS = 250
LONG_MS = 60_000
AT_WORK = re.compile("running")

pytestmark = pytest.mark.covers("W28", "K11")


@contextmanager
def workplace(base: Path, *, pace_ms: int = PACE_MS, port: int = 0) -> Iterator[Running]:
    """A server with the project `ledger`, not run yet; a second time on the same folder it is the same."""
    folder = base / "ledger"
    if not folder.exists():
        shutil.copytree(EXAMPLE, folder)
    with server.running(base / "data", WORKSTEAD_PRACTICE_PACE_MS=str(pace_ms), WORKSTEAD_PORT=str(port)) as live:
        told = (EXAMPLE / "OBJECTIVE.md").read_text(encoding="utf-8")
        made = server.cli(live.data, "init", str(folder), "--title", "Due dates", "--objective", told)
        assert made.returncode == 0, made.stderr
        yield live


def tab_to(page: Page, selector: str) -> None:
    """Go to an element with the Tab key alone, and see where one is on the way."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement?.matches(selector) ?? false", selector):
            outline = page.evaluate(
                "() => { const style = getComputedStyle(document.activeElement);"
                " return style.outlineStyle !== 'none' || style.boxShadow !== 'none'; }"
            )
            assert outline, f"{selector} has the focus and does not show it"
            return
    raise AssertionError(f"the Tab key does not lead to {selector}")


@pytest.mark.covers("K01", "W09")
def test_the_keyboard_alone_leads_from_the_link_to_stop(chromium: Browser, tmp_path: Path) -> None:
    """doors.md: every page works with the keyboard; what is fetched again leaves the focus where it was."""
    with workplace(tmp_path) as live, browsers.visiting(chromium, live, signed_in=False) as visit:
        page = visit.open(live.link.removeprefix(live.origin))
        expect(page.get_by_role("button")).to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_url(f"{live.origin}/")
        tab_to(page, 'a[href="/projects/ledger"]')
        page.keyboard.press("Enter")
        page.wait_for_url(f"{live.origin}/projects/ledger")
        tab_to(page, "#run-start")
        page.keyboard.press("Enter")
        expect(page.locator("#run .chip")).to_have_text(AT_WORK, timeout=LONG_MS)
        page.locator("#card-card-a").wait_for(timeout=LONG_MS)
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "search"
        page.keyboard.press("Escape")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.id") == "card-card-a"
        page.locator('#cards [data-status="running"]').nth(1).wait_for(timeout=LONG_MS)
        assert page.evaluate("document.activeElement.id") == "card-card-a", "the tree was fetched under the focus"
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"/cards/card-a$"))
        page.go_back()
        page.wait_for_url(f"{live.origin}/projects/ledger")
        tab_to(page, "#run-stop")
        page.keyboard.press("Enter")
        expect(page.locator("#run .chip").first).to_have_text("stopped", timeout=LONG_MS)


@pytest.mark.covers("W09", "W10", "K15")
def test_a_run_is_started_watched_stopped_resumed_killed_and_recovered_in_one_tab(
    chromium: Browser, tmp_path: Path
) -> None:
    """Live without a reload: the page itself never goes away, even when the server does."""
    with workplace(tmp_path) as live, browsers.visiting(chromium, live) as visit:
        page = visit.open("/projects/ledger")
        page.evaluate("window.untouched = true")
        page.locator("#run-start").click()
        page.evaluate("window.untouched = true")
        expect(page.locator("#run .chip").first).to_have_text(AT_WORK, timeout=LONG_MS)
        expect(page.locator("#card-card-a .chip")).to_have_text("running", timeout=LONG_MS)
        page.locator("#run-pause").click()
        expect(page.locator("#run .chip").first).to_have_text("paused", timeout=LONG_MS)
        page.locator("#run-resume").click()
        expect(page.locator("#run .chip").first).to_have_text(AT_WORK, timeout=LONG_MS)
        page.locator("#run-stop").click()
        expect(page.locator("#run .chip").first).to_have_text("stopped", timeout=LONG_MS)
        page.locator("#run-start").click()
        page.evaluate("window.untouched = true")
        expect(page.locator("#run .chip").first).to_have_text(AT_WORK, timeout=LONG_MS)
        expect(page.locator("#card-card-a .chip")).to_have_text(re.compile("done|running"), timeout=LONG_MS)
        live.process.kill()
        live.process.wait(timeout=5)
        expect(page.locator("#link-note")).to_be_visible(timeout=LONG_MS)
        with workplace(tmp_path, pace_ms=0, port=live.port):
            expect(page.locator("#run .chip").first).to_have_text("interrupted", timeout=LONG_MS)
            expect(page.locator("#link-note")).to_be_hidden(timeout=LONG_MS)
            assert page.evaluate("window.untouched") is True, "the page was loaded again"
            page.locator("#run-start").click()
            expect(page.locator("#run .chip").first).to_have_text("done", timeout=LONG_MS)


@pytest.mark.covers("W07", "W13", "W17")
def test_every_card_is_opened_and_a_failing_commands_output_is_read(chromium: Browser, finished: Running) -> None:
    """From the tree to the card, its commands, and what one of them printed."""
    with browsers.visiting(chromium, finished) as visit:
        page = visit.open("/projects/ledger")
        for link in [one.get_attribute("href") for one in page.locator("#cards a.card").all()]:
            page.goto(f"{finished.origin}{link}")
            expect(page.locator("h1")).not_to_be_empty()
        page.goto(f"{finished.origin}/projects/ledger/cards/card-b")
        page.locator("#talk").get_by_role("link", name="commands").click()
        failed = page.locator(".command", has=page.locator('.chip[data-status="failed"]')).first
        failed.get_by_role("link", name=re.compile("stderr")).click()
        expect(page.locator("main")).to_contain_text("FAILED")


@pytest.mark.covers("K11")
def test_eight_tabs_at_once_are_live(chromium: Browser, tmp_path: Path) -> None:
    """A browser allows six connections to a host; a hidden tab holds none and catches up when it is shown."""
    with workplace(tmp_path) as live, browsers.visiting(chromium, live) as visit:
        tabs = [visit.open("/projects/ledger") for _ in range(8)]
        with live.control() as control:
            for number, tab in enumerate(tabs):
                tab.bring_to_front()
                new = {"parent": "project", "type": "code", "title": f"Card {number}", "bootstrap_content": "Do it."}
                made = control.operation("create_card", {"project": "ledger", **new})["card_id"]
                tab.locator(f"#card-{made}").wait_for(timeout=10_000)
        tabs[0].bring_to_front()
        expect(tabs[0].locator("#cards a.card")).to_have_count(9, timeout=10_000)


@pytest.mark.covers("K05", "W29")
def test_a_double_click_is_one_receipt_and_what_is_being_written_stays(chromium: Browser, tmp_path: Path) -> None:
    """A form carries the key of one intended change; a live update never takes the words of whoever writes."""
    with workplace(tmp_path) as live, browsers.visiting(chromium, live) as visit:
        page = visit.open("/projects/ledger/cards/project")
        page.locator("#comment").fill("Only once.")
        page.locator("#composer button").dblclick()
        page.wait_for_url(re.compile("#t-comment-"))
        with live.control() as control:
            of = {"project": "ledger", "card_id": "project", "show": "people"}
            assert len(control.operation("list_timeline", of)["entries"]) == 1
            page.locator("#comment").fill("Half a thou")
            control.operation("comment_on_card", {"project": "ledger", "card_id": "project", "text": "From elsewhere."})
        expect(page.locator("#moments")).to_contain_text("From elsewhere.")
        expect(page.locator("#comment")).to_have_value("Half a thou")


def test_the_same_pages_work_without_scripts(chromium: Browser, tmp_path: Path) -> None:
    """Plain forms first: run, look again, stop."""
    with workplace(tmp_path) as live, browsers.visiting(chromium, live, java_script_enabled=False) as visit:
        page = visit.open("/projects/ledger")
        with page.expect_navigation():
            page.locator("#run-start").click()
        for _ in range(100):
            page.reload()
            if page.locator("#run-stop").count() and page.locator("#card-card-a").count():
                break
        with page.expect_navigation():
            page.locator("#run-stop").click()
        for _ in range(100):
            page.reload()
            if "stopped" in (page.locator("#run .chip").first.text_content() or ""):
                break
        expect(page.locator("#run .chip").first).to_have_text("stopped")
        page.locator("#card-card-a").click()
        expect(page.locator("#moments .moment").first).to_be_visible()
