"""Calls: what is sent, how long and how much it may take, and who takes the answer; no library is needed for that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol


class Progress(Enum):
    """What a receiver says about the bytes it was given."""

    ENOUGH = "enough"  # the answer is complete; nothing more is read
    IDLE = "idle"  # signs of life only
    MEANINGFUL = "meaningful"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How long and how much. inactivity_s: without any byte; silence_s: without anything meaningful."""

    connect_s: float = 20.0
    inactivity_s: float = 120.0
    silence_s: float = 300.0
    deadline_s: float = 900.0
    answer_bytes: int = 64 << 20


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """One call. local: whether a literal local address may be called. body: the exact bytes that are sent."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    local: bool = False
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, kw_only=True)
class Head:
    """How an answer begins. headers: names in small letters."""

    status: int
    headers: Mapping[str, str]


class Receiver(Protocol):
    """Takes an answer as it arrives."""

    def begin(self, head: Head) -> None:
        """The answer begins."""
        ...

    def take(self, chunk: bytes) -> Progress:
        """More of its body."""
        ...
