"""A wire: how one protocol asks and how its stream reads; three modules make one each."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from workstead.agents.models.events import ModelEvent
from workstead.agents.models.shape import Request
from workstead.agents.models.sse import Event
from workstead.kernel.canonical import Json

StreamReader = Callable[[Event], Iterable[ModelEvent]]
"""Reads the events of one stream in order. Raises MalformedAnswerError."""


@dataclass(frozen=True, kw_only=True)
class Wire:
    """One protocol.

    path: after the provider's base address. version: put before it unless the address ends so already. headers: from
    the key, None where there is none. body: what is sent to one model; the address, because some fields differ by who
    is asked. reader: makes a fresh reader for one answer.
    """

    path: str
    headers: Callable[[str | None], Mapping[str, str]]
    body: Callable[[Request, str, str], Mapping[str, Json]]
    reader: Callable[[], StreamReader]
    version: str = ""

    def url(self, base_url: str) -> str:
        """Where a provider is asked."""
        base = base_url.rstrip("/")
        return f"{base.removesuffix(self.version)}{self.version}{self.path}"


def bearer(key: str | None) -> Mapping[str, str]:
    """The header of both OpenAI wires."""
    return {"authorization": f"Bearer {key}"} if key is not None else {}
