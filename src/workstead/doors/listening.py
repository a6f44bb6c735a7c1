"""Listening: the socket of the pages and of the MCP door, and the HTTP server on it, with our own signals only."""

import contextlib
import errno
import socket
from collections.abc import Iterator

import anyio
import uvicorn
from starlette.types import ASGIApp

from workstead import errors
from workstead.doors.patience import Patient, make_room

_GRACE_S = 3


class PageServer(uvicorn.Server):
    """uvicorn without its own signal handlers, which would fight ours."""

    def __init__(self, front: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                front,
                http=Patient,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        self.up = anyio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        make_room()
        await super().startup(sockets=sockets)
        self.up.set()


def listen(host: str, port: int) -> socket.socket:
    """A bound socket. Raises `port_in_use` and `address_unusable` with a sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as failed:
        listening.close()
        if failed.errno != errno.EADDRINUSE:
            message = f"The address {host}:{port} cannot be used: {failed.strerror}."
            raise errors.unavailable("address_unusable", message) from None
        message = f"Port {port} of {host} is in use; stop what uses it or choose another with WORKSTEAD_PORT."
        raise errors.conflict("port_in_use", message) from None
    listening.settimeout(0)
    return listening
