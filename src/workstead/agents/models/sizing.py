"""Sizing: whether a serialised request fits a model, decided on its exact bytes before any is sent. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from math import floor

from workstead.agents.models.shape import Request
from workstead.kernel import canonical
from workstead.work.workflow.graph import Capabilities

BYTES_PER_TOKEN = 4
USABLE = 0.80
"""Unless the configuration says otherwise: the part of a context window that is used, since tokens are estimated."""


class Fit(StrEnum):
    """What sizing says about one candidate."""

    ADMITTED = "admitted"
    INELIGIBLE = "ineligible"  # no smaller request would help
    TOO_LARGE = "too_large"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """fit, and a sentence where it is not admitted."""

    fit: Fit
    why: str = ""


def estimate_tokens(size_bytes: int) -> int:
    """How many tokens so many bytes of a serialised request are taken for."""
    return -(-size_bytes // BYTES_PER_TOKEN)


def text_bytes(request: Request) -> int:
    """About how large a request is, without writing it for any wire."""
    texts = _bytes(request.instructions) + sum(
        _bytes(message.text)
        + sum(_bytes(call.arguments) for call in message.calls)
        + sum(len(canonical.dump(dict(one.item))) for one in message.private)
        for message in request.messages
    )
    return texts + sum(len(canonical.dump(dict(each.parameters))) for each in request.tools)


def usable_tokens(window_tokens: int, *, max_tokens: int, used: float = USABLE) -> int:
    """How many tokens of input a window takes beside so many of output; nothing or less where output fills it."""
    return floor(used * window_tokens) - max_tokens


def judge(size_bytes: int, *, max_tokens: int, capabilities: Capabilities, used: float = USABLE) -> Verdict:
    """Whether a request of this size, asking for so many tokens of output, is sent.

    A limit about which the configuration is silent is not checked; then only the provider knows.
    """
    most = capabilities.max_output_tokens
    if most is not None and max_tokens > most:
        why = f"the route asks for {max_tokens} tokens of output and the model gives at most {most}"
        return Verdict(fit=Fit.INELIGIBLE, why=why)
    window = capabilities.context_window_tokens
    if window is None:
        return Verdict(fit=Fit.ADMITTED)
    usable = usable_tokens(window, max_tokens=max_tokens, used=used)
    if usable <= 0:
        why = f"{max_tokens} tokens of output leave no room for input in a window of {window}"
        return Verdict(fit=Fit.INELIGIBLE, why=why)
    tokens = estimate_tokens(size_bytes)
    if tokens > usable:
        return Verdict(fit=Fit.TOO_LARGE, why=f"the request has about {tokens} tokens and the model takes {usable}")
    return Verdict(fit=Fit.ADMITTED)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
