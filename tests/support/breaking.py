"""A relay before a PostgreSQL server that breaks a connection at a commit, before or after the server has it."""

import contextlib
import selectors
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from support.postgresql import Server

When = Literal["before", "after"]

_READ_BYTES = 1 << 16
_PATIENCE_S = 5


class Relay:
    """Passes everything on. break_at: what happens to the next commits, one each."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._target = str(server.folder / f".s.PGSQL.{server.port}")
        self._folder, self._port = folder, server.port
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / f".s.PGSQL.{server.port}"))
        self._listening.listen(16)
        self.break_at: list[When] = []
        self.broken: list[When] = []
        self.refusing = False

    def address(self, address: str) -> str:
        """The same database through the relay."""
        return f"{address.partition('?')[0]}?host={self._folder}&port={self._port}&sslmode=disable"

    def serve(self) -> None:
        """Accept until the listening socket is closed."""
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self.refusing:
                client.close()
                continue
            threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def close(self) -> None:
        """Accept no more."""
        # Closing alone does not end a blocked accept.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _pass(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        with client, server, selectors.DefaultSelector() as waiting:
            server.connect(self._target)
            server.settimeout(_PATIENCE_S)
            waiting.register(client, selectors.EVENT_READ)
            waiting.register(server, selectors.EVENT_READ)
            while True:
                for key, _ in waiting.select(timeout=_PATIENCE_S):
                    source, target = (client, server) if key.fileobj is client else (server, client)
                    with contextlib.suppress(OSError):
                        data = source.recv(_READ_BYTES)
                        if source is client and b"COMMIT" in data and self.break_at:
                            self._break(server, data)
                            return
                        if data:
                            target.sendall(data)
                            continue
                    return

    def _break(self, server: socket.socket, data: bytes) -> None:
        when = self.break_at.pop(0)
        if when == "after":
            server.sendall(data)
            server.recv(_READ_BYTES)
        self.broken.append(when)


@contextlib.contextmanager
def relay(server: Server) -> Iterator[Relay]:
    """A running relay."""
    folder = Path(tempfile.mkdtemp(prefix="workstead-relay-"))
    made = Relay(server, folder)
    thread = threading.Thread(target=made.serve)
    thread.start()
    try:
        yield made
    finally:
        made.close()
        thread.join(_PATIENCE_S)
        shutil.rmtree(folder, ignore_errors=True)
