"""Money and limits: prices of models, what calls may cost, exact amounts in millionths of one currency. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MICROS = 1_000_000
"""How many parts one unit of the currency has here; prices are per so many tokens, too."""
MAX_MICROS = 10**9 * MICROS
WARNED_PERCENT = 80

_AMOUNT = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,6}))?")


@dataclass(frozen=True, kw_only=True)
class Price:
    """What a million tokens cost, in micro-units. cached: of input that the provider had kept; None: like input."""

    input_micros: int
    output_micros: int
    cached_micros: int | None = None

    def cost_micros(self, *, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> int:
        """The exact cost, rounded up to a whole micro-unit. input_tokens: the cached ones included."""
        cached = min(cached_tokens, input_tokens)
        cached_micros = self.input_micros if self.cached_micros is None else self.cached_micros
        parts = (
            (input_tokens - cached) * self.input_micros + cached * cached_micros + output_tokens * self.output_micros
        )
        return -(-parts // MICROS)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What may be spent; None where there is no limit."""

    tokens: int | None = None
    micros: int | None = None
    seconds: int | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing is limited."""
        return self.tokens is None and self.micros is None and self.seconds is None


NO_LIMITS = Limits()


@dataclass(frozen=True, kw_only=True)
class Budgets:
    """The budgets of a configuration. each_card: for every card but the project's own, with all below it."""

    currency: str = "USD"
    project: Limits = NO_LIMITS
    each_card: Limits = NO_LIMITS
    agents: Mapping[str, Limits] = field(default_factory=dict)


def parse_micros(text: str) -> int | None:
    """An amount as `12.5` in micro-units; None when it is none. At most six decimals, so that it is exact."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        return None
    whole, part = found.group(1), found.group(2) or ""
    return int(whole) * MICROS + int(part.ljust(6, "0"))


def amount(micros: int) -> str:
    """An amount for reading, with at least two decimals and all that are not zero."""
    whole, part = divmod(micros, MICROS)
    decimals = f"{part:06d}".rstrip("0").ljust(2, "0")
    return f"{whole}.{decimals}"
