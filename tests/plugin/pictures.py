"""The pictures of the documents, taken from the product at work: `./dev pictures`."""

import contextlib
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, expect

from rules import tree
from support import browser as browsers
from support import server
from support.finished import EXAMPLE
from support.server import Running

FOLDER = tree.DOCS / "pictures"
SIZE = {"width": 1280, "height": 800}
PACE_MS = 700

_CARD = "/projects/ledger/cards/card-b"
# Name -> the page it shows and what is brought to the top of it, once the work is done.
DONE: dict[str, tuple[str, str]] = {
    "card": (_CARD, "main"),
    "timeline": (_CARD, "#timeline"),
    "conversation": (f"{_CARD}/conversations/executor", "#rows"),
    "difference": ("/projects/ledger/cards/project/records/review.md/difference?from=1&to=2", "main"),
    "workflow": ("/projects/ledger/workflows/project", "main"),
    "commands": (f"{_CARD}/processes", "main"),
}

Scheme = Literal["light", "dark"]


def main() -> None:
    """Run the example at a pace that can be watched, and take every picture in light and dark."""
    # The folder stands in the pictures, so that it has the same name each time.
    base = Path(tempfile.gettempdir()) / "pictures"
    base.mkdir()
    with contextlib.ExitStack() as ending:
        ending.callback(shutil.rmtree, base)
        browser = ending.enter_context(browsers.launched())
        shutil.copytree(EXAMPLE, base / "ledger")
        with server.running(base / "data", WORKSTEAD_PRACTICE_PACE_MS=str(PACE_MS)) as live:
            told = (EXAMPLE / "OBJECTIVE.md").read_text(encoding="utf-8")
            server.cli(live.data, "init", str(base / "ledger"), "--title", "Due dates", "--objective", told)
            with browsers.visiting(browser, live, viewport=SIZE, reduced_motion="reduce") as visit:
                page = visit.open("/projects/ledger")
                page.locator("#run-start").click()
                expect(page.locator("#card-card-b .chip")).to_have_text(re.compile("running"), timeout=120_000)
                _take(page, "tree")
                expect(page.locator("#run .chip").first).to_have_text(re.compile("done"), timeout=240_000)
                _all(page, live)
    sys.stdout.write(f"The pictures are in {tree.name(FOLDER)}.\n")


def _all(page: Page, live: Running) -> None:
    for name, (path, top) in DONE.items():
        page.goto(live.origin + path)
        page.locator(top).first.evaluate("(one) => { if (one.matches('section')) one.scrollIntoView(); }")
        _take(page, name)


def _take(page: Page, name: str) -> None:
    schemes: tuple[Scheme, ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=FOLDER / f"{name}-{scheme}.png")


if __name__ == "__main__":
    main()
