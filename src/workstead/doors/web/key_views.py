"""What the page of keys is given; no view has a field for a value."""

from dataclasses import dataclass
from typing import ClassVar

from workstead.doors.web.rendering import View


@dataclass(frozen=True, kw_only=True)
class UseLine:
    """Where a key is used."""

    project: str
    provider: str
    base_url: str
    routes: str


@dataclass(frozen=True, kw_only=True)
class KeyLine:
    """One key that is stored, or that a configuration names. set_at, set_by: None where it is not stored here."""

    name: str
    source: str
    set_at: str | None
    set_by: str | None
    uses: tuple[UseLine, ...]


@dataclass(frozen=True, kw_only=True)
class KeysView(View):
    """The keys of the instance. key: of the next change."""

    TEMPLATE: ClassVar[str] = "keys.html"

    keys: tuple[KeyLine, ...]
    key: str
