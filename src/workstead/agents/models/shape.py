"""The one shape of a model call: what is asked, what comes back, whatever the wire."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from workstead.kernel.canonical import Json
from workstead.work.workflow.graph import Candidate


class Role(StrEnum):
    """Who speaks in a message."""

    ASSISTANT = "assistant"
    TOOL = "tool"
    USER = "user"


class Purpose(StrEnum):
    """What a call is for."""

    STEP = "step"  # the next answer of an agent at its step
    SUMMARY = "summary"  # what takes the place of old rows when a conversation is shortened


class Finish(StrEnum):
    """Why the model stopped."""

    CALLS = "calls"
    LENGTH = "length"
    STOP = "stop"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call of an answer. arguments: the raw JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True)
class Private:
    """A part of an answer that only its producer reads again: reasoning, signed or encrypted.

    producer: who made it, as a digest; nobody else is sent it. before: how many calls of the answer stand before it.
    """

    producer: str
    before: int
    item: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message. calls, private: of an assistant's message. call_id: which call a tool's message answers."""

    role: Role
    text: str
    calls: tuple[Call, ...] = ()
    call_id: str | None = None
    private: tuple[Private, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ToolSchema:
    """A tool as the model sees it. parameters: a closed JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True)
class Situation:
    """Where a call stands in the work; practice chooses its turn by it and real wires ignore it.

    turns: how many answers this agent has given in this node task. children: title to card id and status of the
    card's children.
    """

    agent: str
    card_id: str
    card_title: str
    node: str
    entry: str
    turns: int
    children: Mapping[str, "Child"]


@dataclass(frozen=True, kw_only=True)
class Child:
    """A child card as practice needs it."""

    card_id: str
    status: str


class Listener(Protocol):
    """Who hears an answer while it is written. It never waits, and what it hears may still come to nothing."""

    def said(self, text: str) -> None:
        """A piece of the text."""
        ...

    def writes(self, tool: str) -> None:
        """A call of this tool is being written."""
        ...

    def again(self) -> None:
        """Nothing heard so far counts: the call begins anew."""
        ...


@dataclass(frozen=True, kw_only=True)
class Request:
    """One model call. instructions: the agent's standing text. messages: history, then what is prepared now.

    temperature: None leaves it to the provider. pinned: ask only this candidate, for a refused request's one retry.
    listener: hears the answer while it is written; no part of what is sent.
    """

    model: str
    instructions: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    max_tokens: int
    temperature: float | None
    situation: Situation
    pinned: Candidate | None = None
    purpose: Purpose = Purpose.STEP
    listener: Listener | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens as the provider counted them; None where it said nothing. cached_tokens: those of the input it kept."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What went over the wire: to whom, the exact bytes by digest and size, and how many attempts were made in all."""

    candidate: Candidate
    digest: str
    size_bytes: int
    attempts: int


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A complete answer: nothing is one before its end mark has been seen. sent: None where nothing was sent."""

    text: str
    calls: tuple[Call, ...] = ()
    private: tuple[Private, ...] = ()
    finish: Finish = Finish.STOP
    usage: Usage = field(default_factory=Usage)
    sent: Sent | None = None


class NoTurn(Exception):  # noqa: N818 - not an error of the program: the script has nothing to say
    """Practice has no turn for where the work stands; the card becomes blocked with this sentence."""


class Transport(Protocol):
    """How a provider is asked. Two stand behind it: practice, and the wires of real providers."""

    async def complete(self, request: Request) -> Answer:
        """The whole answer; raises NoTurn, or a ModelError (`agents.models.failures`)."""
        ...
