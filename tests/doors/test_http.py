"""What stands before every page: Host, Origin, limits, headers."""

import http.client

import pytest

from support.server import Running
from workstead import errors
from workstead.doors import http as door

pytestmark = pytest.mark.covers("K06")

PINNED = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.parametrize("path", ["/", "/sign-in", "/nowhere", "/health", "/static/0/app.css"])
def test_every_answer_carries_the_pinned_headers(live: Running, path: str) -> None:
    """House style, line 67: a test pins the security policy; refusals carry it too."""
    headers = live.get(path).headers
    assert {name: headers.get(name) for name in PINNED} == PINNED


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1", "127.0.0.1:1", "localhost.example.com", "[::1]:80", ""])
def test_another_host_name_is_not_answered(live: Running, host: str) -> None:
    """A name that resolves to this machine does not make a page of ours (DNS rebinding)."""
    assert live.get("/sign-in", Host=host).status == 421


def test_both_loopback_names_are_answered(live: Running) -> None:
    """Exact names and the exact port."""
    for name in ("127.0.0.1", "localhost", "LOCALHOST"):
        assert live.get("/sign-in", Host=f"{name}:{live.port}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "null"},
        {"Origin": "http://example.com"},
        {"Origin": "https://127.0.0.1"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {},
    ],
)
def test_a_change_from_elsewhere_is_refused_and_spends_nothing(live: Running, headers: dict[str, str]) -> None:
    """Doors: every state-changing request checks `Origin` or `Sec-Fetch-Site`; `Origin: null` is refused."""
    secret = live.fresh_link()
    form = f"link={secret}".encode()
    sent = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    assert live.request("POST", "/sign-in", body=form, headers=sent).status == 403
    assert live.post("/sign-in", {"link": secret}).status == 303


def test_our_origin_with_a_foreign_fetch_site_is_refused(live: Running) -> None:
    """The two must agree."""
    assert live.post("/sign-in", {"link": "x"}, Sec_Fetch_Site="cross-site").status == 403


def test_a_body_past_the_limit_is_refused_announced_or_not(live: Running) -> None:
    """A chunked body announces no length; it is counted as it comes."""
    large = {"link": "x" * (door.BODY_LIMIT_BYTES + 1)}
    assert live.post("/sign-in", large).status == 413
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=5)
    headers = {"Origin": live.origin, "Content-Type": "application/x-www-form-urlencoded"}
    chunks = iter([b"link=" + b"x" * door.BODY_LIMIT_BYTES, b"x"])
    connection.request("POST", "/sign-in", body=chunks, headers=headers, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_every_kind_of_refusal_has_a_status() -> None:
    """Line 25: each door has one table."""
    assert set(door.STATUS) == set(errors.Kind)
