"""The client: the one way a request leaves; every limit kept, every failure named.

The HTTP library costs 16 MB and a sixth of a second: it is loaded at the first call, never on an instance that makes
none.
"""

import importlib
from typing import Protocol, cast

from workstead.outbound.calls import Outgoing, Receiver


class _Sender(Protocol):
    async def post(self, call: Outgoing, receiver: Receiver) -> None: ...

    async def aclose(self) -> None: ...


class Client:
    """The one client of a process; connections are kept and shared until it is closed."""

    def __init__(self) -> None:
        self._made: _Sender | None = None

    async def post(self, call: Outgoing, receiver: Receiver) -> None:
        """Send once and hand the answer on until the receiver has enough or the body ends.

        Raises OutboundError; then the answer is not complete and the call was not repeated.
        """
        if self._made is None:
            sending = importlib.import_module("workstead.outbound.sending")
            self._made = cast("_Sender", sending.Sender())
        await self._made.post(call, receiver)

    async def aclose(self) -> None:
        """End every kept connection."""
        made, self._made = self._made, None
        if made is not None:
            await made.aclose()
