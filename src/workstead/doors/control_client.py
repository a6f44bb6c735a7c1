"""The command line's end of the control socket; standard library only, so that commands start at once.

It speaks only to the verified live server: the lock file names a process that lives, the socket's other end is that
process, and its greeting repeats the lock's boot id.
"""

import json
import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self, cast

from workstead import errors, instance
from workstead.doors import stretches

LINE_LIMIT_BYTES = 64 * 1024 * 1024

_CONNECT_TIMEOUT_S = 5.0
_ANSWER_TIMEOUT_S = 120.0
_PEER = struct.Struct("iII")


class Server:
    """One conversation with the live server; use it as a context manager."""

    def __init__(self, connected: socket.socket, hello: Mapping[str, Any]) -> None:
        self._connected = connected
        self._lines = connected.makefile("rb")
        self.hello = hello

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the conversation."""
        self._lines.close()
        self._connected.close()

    def operation(self, name: str, given: Mapping[str, object]) -> Any:
        """Run an operation and return its answer; raises the server's refusal."""
        return self.ask({"operation": name, "input": given})

    def all(self, name: str, given: Mapping[str, object], *, of: str) -> list[dict[str, Any]]:
        """Every item of a paged read, page after page; an item larger than a page is whole again."""
        items: list[dict[str, Any]] = []
        position: str | None = None
        while True:
            page = self.operation(name, {**given, "position": position})
            items += page[of]
            position = page["next"]
            if position is None:
                return stretches.joined(items)

    def procedure(self, name: str, given: Mapping[str, object]) -> Any:
        """Run one of the server's longer procedures; raises the server's refusal."""
        return self.ask({"procedure": name, "input": given})

    def ask(self, request: Mapping[str, object]) -> Any:
        """Send one request and return its answer; raises the server's refusal."""
        self._send(request)
        reply = self._line()
        if not reply.get("ok"):
            raise _refusal(reply)
        return reply["answer"]

    def follow(self, project: str, *, cursor: int | None = None) -> Iterator[tuple[list[dict[str, Any]], int]]:
        """Pages of what happens in a project, as rows and the cursor after them; an empty page is a sign of life."""
        self._send({"follow": project} if cursor is None else {"follow": project, "cursor": cursor})
        while True:
            page = self._line()
            if "rows" not in page:
                raise _refusal(page)
            yield page["rows"], page["cursor"]

    def _send(self, request: Mapping[str, object]) -> None:
        try:
            self._connected.sendall(json.dumps(request, ensure_ascii=False).encode() + b"\n")
        except OSError:
            raise _gone() from None

    def _line(self) -> dict[str, Any]:
        try:
            line = self._lines.readline(LINE_LIMIT_BYTES)
        except OSError:
            raise _gone() from None
        if not line.endswith(b"\n"):
            raise _gone()
        return cast("dict[str, Any]", json.loads(line))


def connect(folder: Path) -> Server:
    """Reach the live server of a data folder; raises `unavailable` (`no_server`) when none lives."""
    holder = instance.holder(folder)
    if holder is None or not holder.alive:
        raise no_server(folder)
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.settimeout(_CONNECT_TIMEOUT_S)
    try:
        with instance.control_address(folder) as address:
            connected.connect(address)
        pid, _, _ = _PEER.unpack(connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
        server = Server(connected, {})
        hello = server.ask({"hello": True})
    except (OSError, errors.Refusal):
        connected.close()
        raise no_server(folder) from None
    if pid != holder.pid or hello.get("boot_id") != holder.boot_id:
        server.close()
        raise no_server(folder)
    connected.settimeout(_ANSWER_TIMEOUT_S)
    server.hello = hello
    return server


def no_server(folder: Path) -> errors.Refusal:
    """Nobody serves this data folder."""
    return errors.unavailable("no_server", f"No server runs for {folder}; start one with `workstead up`.")


def _gone() -> errors.Refusal:
    return errors.unavailable("server_gone", "The server went away before it answered; look with `workstead status`.")


def _refusal(reply: Mapping[str, Any]) -> errors.Refusal:
    kinds = {kind.value: kind for kind in errors.Kind}
    return errors.Refusal(
        kind=kinds.get(reply.get("kind", ""), errors.Kind.UNAVAILABLE),
        code=str(reply.get("code", "answer_unreadable")),
        message=str(reply.get("message", "The server's answer could not be understood.")),
        details=reply.get("details", {}),
        issues=tuple(errors.Issue(path=each["path"], message=each["message"]) for each in reply.get("issues", ())),
    )
