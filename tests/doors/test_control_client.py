"""The command line's end: it speaks to the verified live server or says exactly that none lives."""

import dataclasses
import json
import os
import socket
from pathlib import Path

import pytest

from support.server import Running
from workstead import errors, instance
from workstead.doors import control_client

pytestmark = pytest.mark.covers("K22")


def test_an_empty_data_folder_has_no_server(tmp_path: Path) -> None:
    """Exact answers when none lives."""
    with pytest.raises(errors.Refusal) as refused:
        control_client.connect(tmp_path)
    assert refused.value.code == "no_server"


def test_a_lock_that_names_a_process_that_is_gone_is_no_server(live: Running, tmp_path: Path) -> None:
    """A number that another process has now is not that process: its start differs."""
    holder = instance.holder(live.data)
    assert holder is not None
    dead = dataclasses.replace(holder, start_ticks=holder.start_ticks + 1)
    (tmp_path / instance.LOCK).write_text(json.dumps(dataclasses.asdict(dead)), encoding="utf-8")
    with pytest.raises(errors.Refusal) as refused:
        control_client.connect(tmp_path)
    assert refused.value.code == "no_server"


def test_a_socket_of_another_process_than_the_lock_names_is_not_spoken_to(live: Running, tmp_path: Path) -> None:
    """Only the process that holds the lock is the server."""
    holder = instance.holder(live.data)
    assert holder is not None
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    told = dataclasses.replace(holder, pid=os.getpid(), start_ticks=instance.start_ticks(os.getpid()) or 0)
    (folder / instance.LOCK).write_text(json.dumps(dataclasses.asdict(told)), encoding="utf-8")
    (folder / instance.CONTROL).symlink_to(live.data / instance.CONTROL)
    with pytest.raises(errors.Refusal) as refused:
        control_client.connect(folder)
    assert refused.value.code == "no_server"


def test_a_server_that_goes_away_in_mid_answer_is_told_apart_from_none() -> None:
    """The command may have been carried out: look before asking again."""
    ours, theirs = socket.socketpair()
    server = control_client.Server(ours, {})
    theirs.sendall(b'{"ok":true,"ans')
    theirs.close()
    with server, pytest.raises(errors.Refusal) as refused:
        server.ask({"hello": True})
    assert refused.value.code == "server_gone"
