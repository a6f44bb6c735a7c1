"""The demo with a real model: which one, its key by name, a budget, and the configuration that says so."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from workstead import errors
from workstead.work.workflow import money

DEFAULT_TOKENS = 1_500_000
DEFAULT_MINUTES = 60
MAX_TOKENS = 8192


@dataclass(frozen=True, kw_only=True)
class _Known:
    """A provider by its short name. key: the variable that holds its key."""

    kind: str
    base_url: str
    key: str


_PROVIDERS: Mapping[str, _Known] = {
    "anthropic": _Known(kind="anthropic", base_url="https://api.anthropic.com", key="ANTHROPIC_API_KEY"),
    "openai": _Known(kind="openai-responses", base_url="https://api.openai.com/v1", key="OPENAI_API_KEY"),
    "openai-chat": _Known(kind="openai-chat", base_url="https://api.openai.com/v1", key="OPENAI_API_KEY"),
}


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A model and what it may spend. key: the variable that is read for each call; None: no key is sent.

    prices: what a million tokens of input and of output cost, as they were given; None: nobody said.
    """

    kind: str
    model: str
    base_url: str
    key: str | None
    tokens: int
    minutes: int
    amount: str | None
    prices: tuple[str, str] | None

    def lines(self) -> tuple[str, ...]:
        """What a person should know before anything is sent."""
        limits = [f"{self.tokens:,} tokens", f"{self.minutes} minutes"]
        if self.amount is not None:
            limits.insert(0, money.amount(money.parse_micros(self.amount) or 0))
        key = f"with the key in {self.key}" if self.key is not None else "without a key"
        said = [f"Model: {self.model}, asked at {self.base_url} {key}", f"Budget: {', '.join(limits)} at most"]
        if self.prices is None:
            said.append("Its price is not known here, so the budget counts tokens; --price INPUT/OUTPUT tells it.")
        return tuple(said)


def choose(
    model: str,
    *,
    base_url: str | None,
    tokens: int,
    minutes: int,
    amount: str | None,
    price: str | None,
    environ: Mapping[str, str] = os.environ,
) -> Chosen:
    """The model that `PROVIDER:MODEL` names. Raises invalid for what is malformed, unavailable `demo_key_missing`."""
    name, _, called = model.partition(":")
    known = _PROVIDERS.get(name)
    if known is None or not called:
        message = f"Name a model as PROVIDER:MODEL; a provider is one of {', '.join(_PROVIDERS)}."
        raise errors.invalid("demo_model_unknown", message)
    key = known.key if environ.get(known.key) else None
    if key is None and base_url is None:
        message = f"{known.key} is not set; set it to your key, or name a server of your own with --base-url."
        raise errors.unavailable("demo_key_missing", message)
    prices = _prices(price)
    if amount is not None and money.parse_micros(amount) is None:
        raise errors.invalid("demo_budget_malformed", "--money is an amount such as 2.50.")
    if amount is not None and prices is None:
        message = "--money needs --price INPUT/OUTPUT: without a price nobody can tell what a call costs."
        raise errors.invalid("demo_price_missing", message)
    return Chosen(
        kind=known.kind,
        model=called,
        base_url=base_url or known.base_url,
        key=key,
        tokens=tokens,
        minutes=minutes,
        amount=amount,
        prices=prices,
    )


def configured(source: bytes, chosen: Chosen) -> bytes:
    """A configuration whose agents are all answered by the chosen model, within its budget."""
    text = source.decode()
    quoted = _quoted(chosen.model)
    routes = re.compile(r"\{candidates: \[practice\][^}]*\}")
    text, routed = routes.subn(lambda _: f"{{candidates: [{quoted}], max_tokens: {MAX_TOKENS}}}", text)
    providers = re.compile(r"^providers:\n(?:  .*\n)+", re.MULTILINE)
    text, replaced = providers.subn(lambda _: _provider(chosen), text)
    if not routed or replaced != 1:
        raise LookupError("the template has no practice provider to replace")
    return text.encode()


def _provider(chosen: Chosen) -> str:
    model = _quoted(chosen.model)
    lines = [
        "providers:",
        "  model:",
        f"    kind: {chosen.kind}",
        f"    base_url: {_quoted(chosen.base_url)}",
        f"    models: [{model}]",
    ]
    if chosen.key is not None:
        lines.append(f"    key: env:{chosen.key}")
    if chosen.prices is not None:
        lines.append(f"    prices: {{{model}: {{input: {chosen.prices[0]}, output: {chosen.prices[1]}}}}}")
    limits = [f"tokens: {chosen.tokens}", f"minutes: {chosen.minutes}"]
    if chosen.amount is not None:
        limits.append(f"money: {chosen.amount}")
    return "\n".join([*lines, "", "budgets:", f"  project: {{{', '.join(limits)}}}", ""])


def _prices(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    given, _, taken = text.partition("/")
    if money.parse_micros(given) is None or money.parse_micros(taken) is None:
        message = "--price is what a million tokens cost, INPUT/OUTPUT, as in 3/15."
        raise errors.invalid("demo_price_malformed", message)
    return given.strip(), taken.strip()


def _quoted(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._:/@%~?=&+-]+", text):
        raise errors.invalid("demo_model_unknown", "A model and an address have no spaces or quotes.")
    return f'"{text}"'
