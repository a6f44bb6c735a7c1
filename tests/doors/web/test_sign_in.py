"""Signing in: a link is spent by a button, once, and never by looking at it."""

from pathlib import Path

import pytest

from support import server
from support.server import Running

COVERS_MODULES = ("doors/web/pages/sign_in.py",)

pytestmark = pytest.mark.covers("K01")


def test_looking_at_a_link_does_not_spend_it(live: Running) -> None:
    """First-hour decisions, data folder: spent by POST and not by GET; mail scanners and previews look."""
    secret = live.fresh_link()
    for _ in range(3):
        page = live.get(f"/sign-in?link={secret}")
        assert page.status == 200
        assert f'value="{secret}"' in page.text
    assert live.post("/sign-in", {"link": secret}).status == 303


def test_a_spent_link_is_refused(live: Running) -> None:
    """One use."""
    secret = live.fresh_link()
    assert live.post("/sign-in", {"link": secret}).status == 303
    again = live.post("/sign-in", {"link": secret})
    assert again.status == 403
    assert "set-cookie" not in again.headers
    assert "workstead link" in again.text


def test_the_link_the_server_prints_opens_the_pages(tmp_path: Path) -> None:
    """K01: a fresh local install needs no account; the first start prints a link, which is good for ten minutes."""
    with server.running(tmp_path / "data") as fresh:
        answer = fresh.post("/sign-in", {"link": server.secret_of(fresh.link)})
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert fresh.get("/", Cookie=cookie.partition(";")[0]).status == 200


def test_signing_out_ends_the_cookie_itself(live: Running) -> None:
    """Not only the browser forgets it: the server does."""
    live.sign_in()
    cookie = live.cookie
    assert live.post("/sign-out", {}).status == 303
    live.cookie = ""
    assert live.get("/", Cookie=cookie).status == 401


def test_a_cookie_is_no_link_and_a_link_is_no_cookie(live: Running) -> None:
    """Each kind of credential is useless for the other."""
    live.sign_in()
    cookie = live.cookie.partition("=")[2]
    live.cookie = ""
    assert live.post("/sign-in", {"link": cookie}).status == 403
    assert live.get("/", Cookie=f"ws_in_{live.port}={live.fresh_link()}").status == 401
