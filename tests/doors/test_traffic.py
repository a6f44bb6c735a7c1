"""What goes through the doors is counted, monitoring may read it, and failures are remembered without their content."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import door, server
from support.server import Running

COVERS_MODULES = ("doors/measures.py", "doors/web/pages/diagnostics.py", "runs/failed_requests.py")
LINE = re.compile(r'^[a-z_]+(\{([a-z_]+="([^"\\\n]|\\.)*",?)*\})? [0-9.e+-]+$')


@pytest.fixture
def calm(tmp_path: Path) -> Iterator[Running]:
    """A server of its own, where nobody else asks."""
    with server.running(tmp_path / "data", WORKSTEAD_FAILED_REQUESTS="3") as live:
        live.sign_in()
        yield live


def value(live: Running, name: str) -> float:
    """One number; 0 when nothing was counted under it."""
    said = live.request("GET", "/metrics", headers={}).text
    found = [line.rpartition(" ")[2] for line in said.splitlines() if line.startswith(f"{name} ")]
    return float(found[0]) if found else 0.0


@pytest.mark.covers("K18")
def test_every_line_is_one_that_monitoring_can_read_and_numbers_move(calm: Running) -> None:
    """Requests of each door, refusals by code, writes."""
    token = door.token_of(calm, "reader", "projects:read")
    before = {name: value(calm, name) for name in NAMES}
    assert calm.get("/nowhere").status == 404
    assert door.ask(calm, token, "ping").status == 200
    assert calm.get("/api/me").status == 200
    assert door.call(calm, token, "list_projects")["isError"] is False
    answer = calm.request("GET", "/metrics", headers={})
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    for line in answer.text.splitlines():
        assert line.startswith("# ") or LINE.match(line), line
    after = {name: value(calm, name) for name in NAMES}
    assert {name: after[name] - before[name] for name in NAMES} == NAMES
    assert value(calm, "process_resident_memory_bytes") > 1 << 20
    assert value(calm, 'workstead_requests_open{door="metrics"}') == 1
    assert value(calm, "workstead_write_seconds_count") >= 1


NAMES = {
    'workstead_requests_total{door="pages",status="404"}': 1,
    'workstead_requests_total{door="mcp",status="200"}': 2,
    'workstead_requests_total{door="api",status="200"}': 1,
    'workstead_operations_total{operation="list_projects",code="ok"}': 1,
}


@pytest.mark.covers("K18")
@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
def test_a_proxy_does_not_carry_metrics_out(calm: Running, header: str) -> None:
    """Whoever is passed on comes from elsewhere; a foreign name of the server is refused as everywhere."""
    assert calm.request("GET", "/metrics", headers={header: "203.0.113.9"}).status == 403
    assert calm.request("GET", "/metrics", headers={"Host": "elsewhere.example"}).status == 421
    assert calm.request("POST", "/metrics", headers={"Content-Length": "0"}).status == 405
    assert calm.request("GET", "/metrics/x", headers={}).status == 404


@pytest.mark.covers("K18", "K09")
def test_the_last_failures_are_remembered_without_what_was_in_them(calm: Running) -> None:
    """The oldest goes for the newest; a query, a body and a token are not among what is kept."""
    secret = "ws_api_" + "s" * 43
    for number in range(4):
        calm.get(f"/nowhere/{number}?token={secret}")
    calm.request("GET", f"/api/projects/{secret}", headers={"Authorization": f"Bearer {secret}"})
    with calm.control() as control:
        found = control.operation("list_failed_requests", {})
    assert found["kept"] == 3
    assert [one["status"] for one in found["requests"]] == [401, 404, 404]
    assert [one["door"] for one in found["requests"]] == ["api", "pages", "pages"]
    assert found["requests"][1]["path"] == "/nowhere/3"
    assert len(found["requests"][0]["request_id"]) == 32
    page = calm.get("/diagnostics").text
    assert "GET /nowhere/3" in page
    assert secret not in page + str(found)
    assert calm.request("GET", "/diagnostics", headers={"Cookie": "none=1"}).status == 401


@pytest.mark.covers("K18")
def test_nothing_is_remembered_where_the_operator_says_so(tmp_path: Path) -> None:
    """The ring is optional."""
    with server.running(tmp_path / "data", WORKSTEAD_FAILED_REQUESTS="0") as live:
        live.sign_in()
        live.get("/nowhere")
        assert "None are remembered" in live.get("/diagnostics").text
        assert live.get("/health/ready").text == "ready\n"
