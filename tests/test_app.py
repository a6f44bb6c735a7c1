"""The server as a process: what stops a start, how it ends, and that it comes back after kill -9."""

import json
import signal
import socket
import tomllib
from pathlib import Path

import pytest

from support import invariants, server
from workstead import instance
from workstead.cli import Exit

COVERS_MODULES = ("doors/listening.py", "instance.py", "machines.py")


@pytest.mark.covers("K22")
def test_a_port_in_use_is_one_sentence_and_an_exit_code(tmp_path: Path) -> None:
    """The sentence names the setting to change."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = server.cli(tmp_path / "data", "up", WORKSTEAD_PORT=str(port))
    assert done.returncode == Exit.REFUSED
    sentence = f"Port {port} of 127.0.0.1 is in use; stop what uses it or choose another with WORKSTEAD_PORT."
    assert done.stderr == f"workstead: {sentence}\n"


@pytest.mark.covers("K22")
@pytest.mark.parametrize("mode", [0o750, 0o705, 0o777])
def test_a_data_folder_that_others_can_enter_is_refused(tmp_path: Path, mode: int) -> None:
    """First-hour decisions, data folder: mode 0700."""
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(mode)
    done = server.cli(data, "up")
    assert done.returncode == Exit.REFUSED
    assert f"chmod 700 {data}" in done.stderr
    assert list(data.iterdir()) == []


@pytest.mark.covers("K22")
def test_a_fresh_data_folder_is_private_in_every_part(tmp_path: Path) -> None:
    """Only the account that runs the server can read any of it."""
    with server.running(tmp_path / "deep" / "data") as found:
        modes = {path.name: path.stat().st_mode & 0o777 for path in (found.data, *found.data.iterdir())}
    assert modes.pop("data") == 0o700
    assert set(modes.values()) == {0o600}
    assert {"lock", "control", "workstead.sqlite3"} <= set(modes)


@pytest.mark.covers("K22")
def test_a_second_server_is_refused_naming_the_first(tmp_path: Path) -> None:
    """One server for a data folder, whatever port it would take."""
    with server.running(tmp_path / "data") as found:
        script = "from workstead import app; app.main()"
        done = server.python(found.data, script)
        assert done.returncode == Exit.REFUSED
        assert f"(process {found.process.pid})" in done.stderr


@pytest.mark.covers("K22")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_told_server_ends_with_zero_and_leaves_no_trace_of_living(tmp_path: Path, how: signal.Signals) -> None:
    """Shutdown: stop accepting, end services, close the store, let go of the lock."""
    with server.running(tmp_path / "data") as found:
        assert found.stop(how) == 0
    assert instance.holder(found.data) is None
    assert not (found.data / instance.CONTROL).exists()
    assert server.cli(found.data, "status").returncode == Exit.NO_SERVER


@pytest.mark.covers("K22", "W18")
def test_a_killed_server_starts_again_with_everything_it_acknowledged(tmp_path: Path) -> None:
    """Kill -9: the lock is free, the socket is replaced, the rows are there, sign-ins still hold."""
    folder = tmp_path / "garden"
    folder.mkdir()
    with server.running(tmp_path / "data") as found:
        with found.control() as control:
            given = {"folder": str(folder), "name": "garden", "title": "The garden", "objective": "Grow."}
            made = control.procedure("initialise", given)
        assert found.stop(signal.SIGKILL) == -signal.SIGKILL
        assert server.cli(found.data, "status").returncode == Exit.NO_SERVER
    with server.running(tmp_path / "data") as again:
        listed = json.loads(server.cli(again.data, "status", "--json").stdout)["projects"]
        again.sign_in()
        assert again.get("/projects/garden").status == 200
    assert [one["id"] for one in listed] == [made["project"]]
    assert invariants.check(tmp_path / "data" / instance.DATABASE) == []


@pytest.mark.covers("K01")
def test_a_start_with_a_folder_names_its_page_or_how_to_make_one(tmp_path: Path) -> None:
    """`up FOLDER`."""
    folder = tmp_path / "my garden"
    folder.mkdir()
    with server.running(tmp_path / "data", arguments=(str(folder),)) as found:
        assert found.process.stdout is not None
        assert found.process.stdout.readline() == f"No project yet: workstead init '{folder}' --objective TEXT\n"
        made = server.cli(found.data, "init", str(folder), "--objective", "Grow.")
        assert made.returncode == Exit.DONE, made.stderr
        found.stop()
    with server.running(tmp_path / "data", arguments=(str(folder),)) as found:
        assert found.process.stdout is not None
        assert found.process.stdout.readline() == f"Project: {found.origin}/projects/my-garden\n"


@pytest.mark.covers("K18")
def test_log_lines_are_json_where_that_is_set_and_hold_no_secret(tmp_path: Path) -> None:
    """K18: structured logs; the sign-in link is for the terminal only."""
    with server.running(tmp_path / "data", WORKSTEAD_LOG_FORMAT="json") as found:
        found.stop()
    lines = (tmp_path / "data.log").read_text(encoding="utf-8").splitlines()
    assert "serving" in [json.loads(line)["event"] for line in lines]
    assert "ws_link_" not in "".join(lines)


def test_the_version_is_the_packages() -> None:
    """One number in two places would drift."""
    text = (server.SOURCE.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["project"]["version"] == instance.VERSION
