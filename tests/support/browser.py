"""Builders: a real browser before a real server. What a page complains about fails the test that looked at it."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from support.server import Running

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDE, NARROW = (1440, 900), (390, 844)
WAIT_MS = 5_000
_INSTALL = (
    ("apt-get", "update"),
    ("apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"),
)
_INSTALL_S = 600
# A server that was killed, and what was meant to be refused, are no faults of a page.
_MEANT = (
    "net::ERR_CONNECTION_REFUSED",
    "net::ERR_CONNECTION_RESET",
    "net::ERR_INCOMPLETE_CHUNKED_ENCODING",
    "the server responded with a status of",
)


def program() -> str | None:
    """The browser of this machine, or None."""
    return next((found for name in NAMES if (found := shutil.which(name)) is not None), None)


def obtained() -> str:
    """The browser; installed where that can be done, otherwise the test is skipped, which CI does not allow."""
    found = program()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get") is not None:
        for command in _INSTALL:
            subprocess.run(command, capture_output=True, timeout=_INSTALL_S, check=False)
        found = program()
    if found is None:
        pytest.skip("there is no Chromium; install the package `chromium`")
    return found


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser without a window."""
    path = obtained()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass(kw_only=True)
class Visit:
    """One person's browser: a context of its own. complaints: what pages said on their consoles."""

    context: BrowserContext
    live: Running
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """A new tab on a page."""
        page = self.context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(self.live.origin + path)
        return page

    def _heard(self, said: ConsoleMessage) -> None:
        if said.type in {"error", "warning"} and not any(part in said.text for part in _MEANT):
            self.complaints.append(said.text)


@contextmanager
def visiting(browser: Browser, live: Running, *, signed_in: bool = True, **options: Any) -> Iterator[Visit]:
    """A visit, as somebody who is signed in unless said otherwise; a complaint of a page fails the test."""
    options.setdefault("viewport", {"width": WIDE[0], "height": WIDE[1]})
    context = browser.new_context(**options)
    if signed_in:
        if not live.cookie:
            live.sign_in()
        name, _, value = live.cookie.partition("=")
        context.add_cookies([{"name": name, "value": value, "url": live.origin}])
    visit = Visit(context=context, live=live)
    try:
        yield visit
        assert not visit.complaints, visit.complaints
    finally:
        context.close()


def axe() -> str:
    """The accessibility rules as a script to be evaluated."""
    package = importlib.util.find_spec("axe_playwright_python")
    assert package is not None
    assert package.origin is not None
    return (Path(package.origin).parent / "axe.min.js").read_text(encoding="utf-8")
