"""Media: what a person or a model looks at or listens to beside an answer's data."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Medium:
    """A picture or a sound, whole. alt: what it shows, for whoever cannot see or hear it."""

    kind: Literal["image", "audio"]
    mime_type: str
    data: bytes
    alt: str = ""


@dataclass(frozen=True, kw_only=True)
class Attached:
    """A document that comes with an answer. data: text, or bytes."""

    uri: str
    mime_type: str
    data: str | bytes


Shown = Medium | Attached | str
"""One piece of content: text is shown as it is."""
