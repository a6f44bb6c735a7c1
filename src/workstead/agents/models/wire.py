"""A wire: how one protocol asks and how its stream reads; three modules make one each."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from workstead.agents.models.events import ModelEvent
from workstead.agents.models.shape import Call, Message, Private, Request
from workstead.agents.models.sse import Event
from workstead.kernel.canonical import Json

StreamReader = Callable[[Event], Iterable[ModelEvent]]
"""Reads the events of one stream in order. Raises MalformedAnswerError."""


@dataclass(frozen=True, kw_only=True)
class Wire:
    """One protocol.

    path: after the provider's base address. version: put before it unless the address ends so already. headers: from
    the key, None where there is none. body: what is sent to one model; the address, because some fields differ by who
    is asked. reader: makes a fresh reader for one answer. reasoning: more fields of the body, for a model that reasons.
    by_model: whether only the same model reads its reasoning again.
    """

    path: str
    headers: Callable[[str | None], Mapping[str, str]]
    body: Callable[[Request, str, str], Mapping[str, Json]]
    reader: Callable[[], StreamReader]
    version: str = ""
    reasoning: Mapping[str, Json] = field(default_factory=dict)
    by_model: bool = False

    def url(self, base_url: str) -> str:
        """Where a provider is asked."""
        base = base_url.rstrip("/")
        return f"{base.removesuffix(self.version)}{self.version}{self.path}"


def interleaved(message: Message) -> Iterator[Call | Private | str]:
    """The parts of a message in their order: reasoning, its text where it has any, calls."""
    left = sorted(message.private, key=lambda one: one.before)
    yield from (one for one in left if not one.before)
    if message.text.strip():
        yield message.text
    for index, call in enumerate(message.calls):
        yield from (one for one in left if one.before == index and index)
        yield call


def bearer(key: str | None) -> Mapping[str, str]:
    """The header of both OpenAI wires."""
    return {"authorization": f"Bearer {key}"} if key is not None else {}
