"""Failures of model calls: the closed set of their classes, and which class a provider's evidence means. Pure.

Only exact words in their exact places count. Prose, nested objects and near misses never do: a wrong guess here would
retry what must not be retried, or give up what would have passed.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

from workstead.agents.models.shape import Sent
from workstead.kernel.canonical import Json


class FailureClass(StrEnum):
    """What a failed attempt means for what comes next."""

    ADDRESS = "address"  # the provider's address is not reached from here
    AUTH = "auth"
    CONTENT = "content_policy"
    CONTEXT = "context_exhausted"
    CUT = "cut"  # no complete answer: the connection or the stream ended before the end mark
    MALFORMED = "malformed"  # what came is no answer
    OVERLOAD = "overload"
    PROMPT = "prompt_policy"
    PROTOCOL = "protocol"  # evidence that contradicts itself, or an error without a known meaning
    RATE_LIMIT = "rate_limit"
    REJECTED = "rejected"  # the request will never be taken as it is
    TIMEOUT = "timeout"
    TRANSIENT = "transient"


class ModelError(Exception):
    """A model call that has no answer.

    message: a sentence for people, without any text of the provider. sent: what the last attempt was, if any was made.
    found: the class of its failure, which several errors share.
    """

    def __init__(self, message: str, *, sent: Sent | None = None, found: FailureClass | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.sent = sent
        self.found = found


class AddressError(ModelError):
    """The provider's address is refused or not found."""


class ContentPolicyError(ModelError):
    """The provider's content policy refused the request."""


class ContextExhaustedError(ModelError):
    """The provider says that the request does not fit its model."""


class IncompleteAnswerError(ModelError):
    """Answers ended before their end mark."""


class KeyMissingError(ModelError):
    """The key that the configuration names is not there."""


class KeyRefusedError(ModelError):
    """The provider does not take the key."""


class MalformedAnswersError(ModelError):
    """What came back is no answer."""


class ProviderDownError(ModelError):
    """The provider cannot be reached, or fails."""


class ProviderProtocolError(ModelError):
    """The provider's error contradicts itself, or has no known meaning."""


class RateLimitedError(ModelError):
    """The provider takes no more requests for now."""


class RequestRejectedError(ModelError):
    """The provider does not take the request as it is."""


class RequestTooLargeError(ModelError):
    """The request fits no candidate; nothing was sent."""


class RouteUnfitError(RequestTooLargeError):
    """No candidate could take even a smaller request."""


class SlowProviderError(ModelError):
    """The provider fell silent, or took too long."""


ERRORS: Mapping[FailureClass, type[ModelError]] = {
    FailureClass.ADDRESS: AddressError,
    FailureClass.AUTH: KeyRefusedError,
    FailureClass.CONTENT: ContentPolicyError,
    FailureClass.CONTEXT: ContextExhaustedError,
    FailureClass.CUT: IncompleteAnswerError,
    FailureClass.MALFORMED: MalformedAnswersError,
    FailureClass.OVERLOAD: ProviderDownError,
    FailureClass.PROMPT: ProviderProtocolError,
    FailureClass.PROTOCOL: ProviderProtocolError,
    FailureClass.RATE_LIMIT: RateLimitedError,
    FailureClass.REJECTED: RequestRejectedError,
    FailureClass.TIMEOUT: SlowProviderError,
    FailureClass.TRANSIENT: ProviderDownError,
}

TOO_LONG = (ContextExhaustedError, RequestTooLargeError)
"""What a shorter conversation may heal."""

WAITS_FOR_A_PERSON = (ContentPolicyError, KeyMissingError, KeyRefusedError, *TOO_LONG)
"""What no retry and no other card can heal: the card is blocked instead of failed."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What is known of a failed attempt. status: of the HTTP answer. error: the provider's own error object.

    opened: it came as the end of an answer that had begun (status 200). retry_after_s: from the headers, when valid.
    """

    status: int
    error: Mapping[str, Json]
    opened: bool = False
    retry_after_s: float | None = None


_AUTH = frozenset({"authentication_error", "invalid_api_key", "invalid_authentication", "permission_error"})
_RATE = frozenset({"rate_limit_error", "rate_limit_exceeded", "usage_limit_reached"})
_TRANSIENT = frozenset({"api_error", "internal_server_error", "server_error", "service_unavailable", "timeout_error"})
_OVERLOAD = frozenset({"overloaded", "overloaded_error", "server_is_overloaded"})
_CONTEXT = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_CONTENT = frozenset({"content_filter", "content_policy_violation", "cyber_policy"})
# The one provider that has no word for it has one sentence for it.
_CONTEXT_SENTENCE = re.compile(r"prompt is too long: [0-9]+ tokens > [0-9]+ maximum")
_PROMPT_PHRASE = "prompt was flagged as potentially violating our usage policy"


def classify(evidence: Evidence) -> FailureClass:
    """The class, by the fixed order of precedence."""
    words = _words(evidence.error)
    statuses = {evidence.status, _embedded(evidence.error)}
    unauthenticated = 401 in statuses
    limited = 429 in statuses or bool(words & _RATE)
    transient = any(status is not None and 500 <= status <= 599 for status in statuses) or bool(words & _TRANSIENT)
    forbidden = 403 in statuses or bool(words & _AUTH)
    overloaded = bool(words & _OVERLOAD)
    context = _is_context(evidence, words)
    content = bool(words & _CONTENT)
    order = (
        (unauthenticated or (overloaded and forbidden), FailureClass.AUTH),
        (limited, FailureClass.RATE_LIMIT),
        (transient and not overloaded, FailureClass.TRANSIENT),
        (context and content, FailureClass.PROTOCOL),
        (context, FailureClass.CONTEXT),
        (content, FailureClass.CONTENT),
        (forbidden, FailureClass.AUTH),
        (_is_prompt_policy(evidence, words), FailureClass.PROMPT),
        (overloaded, FailureClass.OVERLOAD),
        (evidence.retry_after_s is not None, FailureClass.RATE_LIMIT),
    )
    unmatched = FailureClass.PROTOCOL if evidence.opened else FailureClass.REJECTED
    return next((found for holds, found in order if holds), unmatched)


def retry_after_s(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """How long the provider asks to wait: seconds, or a date; None where it says neither, or nonsense."""
    given = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", given):
        seconds = float(given)
        return seconds if math.isfinite(seconds) else None
    try:
        at = parsedate_to_datetime(given)
    except (ValueError, IndexError):
        return None
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def _words(error: Mapping[str, Json]) -> frozenset[str]:
    """The direct code and type, in small letters."""
    found = (error.get("code"), error.get("type"))
    return frozenset(word.lower() for word in found if isinstance(word, str))


def _embedded(error: Mapping[str, Json]) -> int | None:
    for key in ("status", "status_code", "code"):
        found = error.get(key)
        if isinstance(found, int) and not isinstance(found, bool) and 100 <= found <= 599:
            return found
    return None


def _is_context(evidence: Evidence, words: frozenset[str]) -> bool:
    if evidence.status != 400 and not evidence.opened:
        return False
    message = evidence.error.get("message")
    said = isinstance(message, str) and _CONTEXT_SENTENCE.fullmatch(message) is not None
    return bool(words & _CONTEXT) or (said and "invalid_request_error" in words)


def _is_prompt_policy(evidence: Evidence, words: frozenset[str]) -> bool:
    message = evidence.error.get("message")
    said = isinstance(message, str) and _PROMPT_PHRASE in message.lower()
    return evidence.opened and "invalid_prompt" in words and said
