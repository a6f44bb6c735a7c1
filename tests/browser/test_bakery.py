"""The second example: agents change the design of a page, and a real browser sees that it changed as was asked."""

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from support import browser as browsers
from support import server

EXAMPLE = Path(__file__).parents[2] / "examples" / "bakery"
PHONE, WIDE = 360, 1440
TAPPED = ".top a, .button"

pytestmark = pytest.mark.covers("X01")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder after the demo has worked in a copy of the example."""
    base = tmp_path_factory.mktemp("bakery")
    command = [sys.executable, "-m", "workstead.demo", "--headless", "--example", "bakery"]
    ran = subprocess.run(
        [*command, "--folder", str(base / "bakery")],
        env=server.environment(base / "data"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return base / "bakery"


def opened(chromium: Browser, folder: Path, *, width: int, dark: bool) -> Page:
    """The page of a folder on a device of this width."""
    viewport: ViewportSize = {"width": width, "height": 800}
    context = chromium.new_context(viewport=viewport, color_scheme="dark" if dark else "light")
    page = context.new_page()
    page.goto((folder / "index.html").as_uri())
    return page


def too_wide(page: Page) -> int:
    """How many pixels it scrolls sideways."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def paper(page: Page) -> str:
    """The colour behind the text."""
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def columns(page: Page) -> bool:
    """Whether the hours stand beside the offer."""
    return bool(
        page.evaluate(
            "document.querySelector('.side').getBoundingClientRect().left >"
            " document.querySelector('.offer').getBoundingClientRect().right - 1"
        )
    )


def test_the_page_was_too_wide_for_a_phone_and_fits_now(chromium: Browser, done: Path) -> None:
    """Two columns stay two columns where there is room."""
    assert too_wide(opened(chromium, EXAMPLE, width=PHONE, dark=False)) > 0
    after = opened(chromium, done, width=PHONE, dark=False)
    assert too_wide(after) == 0
    assert not columns(after)
    assert columns(opened(chromium, done, width=WIDE, dark=False))


def test_dark_devices_get_a_dark_page_and_the_others_the_page_they_had(chromium: Browser, done: Path) -> None:
    """Before, it was light for everybody."""
    light = paper(opened(chromium, EXAMPLE, width=WIDE, dark=False))
    assert paper(opened(chromium, EXAMPLE, width=WIDE, dark=True)) == light
    assert paper(opened(chromium, done, width=WIDE, dark=False)) == light
    dark = paper(opened(chromium, done, width=WIDE, dark=True))
    assert max(int(part) for part in dark.removeprefix("rgb(").removesuffix(")").split(",")) < 48


@pytest.mark.parametrize("dark", [False, True])
def test_everything_can_be_read_and_tapped(chromium: Browser, done: Path, *, dark: bool) -> None:
    """axe-core measures the contrast that is really painted."""
    page = opened(chromium, done, width=PHONE, dark=dark)
    page.evaluate(browsers.axe())
    found = page.evaluate("axe.run(document, {runOnly: ['color-contrast']})")
    assert found["violations"] == []
    heights = page.evaluate(
        "(selector) => [...document.querySelectorAll(selector)].map((one) => one.getBoundingClientRect().height)",
        TAPPED,
    )
    assert heights
    assert min(heights) >= 44
