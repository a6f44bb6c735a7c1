"""The gallery: every component in every state, from the templates of the real pages; for the operator."""

import re

import pytest

from support.server import Running
from workstead.work.workflow.lifecycle import Status

COVERS_MODULES = ("doors/web/pages/gallery.py", "doors/web/gallery_views.py")

pytestmark = pytest.mark.covers("W28")


def test_the_gallery_shows_each_status_in_both_schemes_with_ids_of_their_own(browser: Running) -> None:
    """One page to look at before a change of styles is shipped."""
    page = browser.get("/gallery").text
    for scheme in ("light", "dark"):
        assert f'data-scheme="{scheme}"' in page
    for status in Status:
        assert page.count(f'class="chip" data-status="{status.value}"') >= 2
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert sorted({one for one in ids if ids.count(one) > 1}) == []
    for shown in ('data-state="waiting"', 'data-state="failed"', 'class="pairs"', 'class="refusal"', "<svg", "still"):
        assert shown in page


def test_nobody_finds_the_gallery_without_being_signed_in(live: Running) -> None:
    """It holds nothing real, and is still nobody else's."""
    live.cookie = ""
    assert live.get("/gallery").status == 401
