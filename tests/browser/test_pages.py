"""Every page in a real browser: accessible, not too wide, quiet, in light and dark, on a laptop and a phone (W28)."""

import itertools
import re
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page

from support import browser as browsers
from support.browser import NARROW, WIDE, Visit
from support.server import Running
from workstead.doors.web.routes import ROUTES

KNOWN = {
    "slug": "ledger",
    "card_id": "card-b",
    "name": "status.md",
    "agent": "executor",
    "type": "code",
    "stream": "stdout",
    "path": "ledger/entries.py",
}
# Pages that only an address with something in it shows.
QUERIES = {"difference": "?from=1&to=current"}
SERIOUS = {"serious", "critical"}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

pytestmark = pytest.mark.covers("W28")

# An address that answers with a picture's bytes and no page.
PICTURES = {"/projects/{slug}/pictures/{path:path}"}
PATHS = sorted({path for method, path, _ in ROUTES if method == "GET"} - PICTURES)


@pytest.fixture(scope="module")
def rules() -> str:
    """The accessibility rules."""
    return browsers.axe()


@pytest.fixture(scope="module")
def visit(chromium: Browser, finished: Running) -> Iterator[Visit]:
    """A person's browser."""
    with browsers.visiting(chromium, finished) as found:
        yield found


def address(live: Running, path: str) -> str:
    """A page's address with what is really there."""
    with live.control() as control:
        process = control.operation("list_processes", {"project": "ledger", "card_id": "card-b"})["processes"][0]["id"]
        exchange = control.operation("list_exchanges", {"project": "ledger"})["exchanges"][0]["exchange_id"]
    known = {**KNOWN, "process_id": process, "exchange_id": exchange}
    made = re.sub(r"\{([a-z_]+)(?::[a-z]+)?\}", lambda found: known[found[1]], path)
    return made + QUERIES.get(made.rpartition("/")[2], "")


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_accessible_and_fits(visit: Visit, rules: str, path: str) -> None:
    """No serious finding of axe-core, nothing wider than the screen, nothing on the console."""
    page = visit.open(address(visit.live, path))
    try:
        page.evaluate(rules)
        for (width, height), scheme in itertools.product((WIDE, NARROW), SCHEMES):
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert not findings(page), f"{width} wide, {scheme}"
            wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wider <= 0, f"{wider} px wider than a screen of {width}"
        assert page.title().endswith("Workstead")
    finally:
        page.close()


def findings(page: Page) -> list[str]:
    """What axe-core finds serious on a page as it is."""
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for one in found["violations"]
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]
