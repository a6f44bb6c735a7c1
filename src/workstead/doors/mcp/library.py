"""The library: what this door can be asked to read and to start from; tables that a reader can print."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from workstead.kernel.media import Shown

Run = Callable[[str, Mapping[str, object]], Awaitable[Any]]
"""Runs an operation for whoever asks, with their authority; raises what it refuses."""

Suggest = Callable[[Run, Mapping[str, str]], Awaitable[Sequence[str]]]
"""What a place can be filled with, given the other places; all of it, the door narrows it to what was typed."""

_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A text or bytes that are the same for everybody. source: the address it had where it comes from."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[[], str | bytes]
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Template:
    """Resources by an address with places; each is read with the authority of whoever asks."""

    uri_template: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[[Run, Mapping[str, str]], Awaitable[str | bytes]]
    suggest: Mapping[str, Suggest] = field(default_factory=dict)

    def places(self, uri: str) -> Mapping[str, str] | None:
        """What stands in the places of an address; None when it is none of these."""
        parts = _PLACE.split(self.uri_template)
        pattern = "".join(
            f"(?P<{part}>[^/?#]{{1,400}})" if at % 2 else re.escape(part) for at, part in enumerate(parts)
        )
        found = re.fullmatch(pattern, uri)
        return {name: unquote(value) for name, value in found.groupdict().items()} if found is not None else None


@dataclass(frozen=True, kw_only=True)
class Argument:
    """What a person adds to a prompt."""

    name: str
    description: str
    required: bool = True
    suggest: Suggest | None = None


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A text to start from. say: with what the person added, as one message for each piece."""

    name: str
    title: str
    description: str
    arguments: tuple[Argument, ...]
    say: Callable[[Mapping[str, str]], tuple[Shown, ...]]
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Library:
    """Everything there is. listed: the resources that only this caller sees, found when they ask."""

    resources: tuple[Resource, ...] = ()
    templates: tuple[Template, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    listed: Callable[[Run], Awaitable[Sequence[Mapping[str, str]]]] | None = None
