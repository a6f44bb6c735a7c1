"""Classes of failures: exact words in exact places, in a fixed order of precedence."""

from datetime import UTC, datetime

import pytest

from workstead.agents.models.failures import ERRORS, Evidence, FailureClass, classify, retry_after_s
from workstead.kernel.canonical import Json

pytestmark = pytest.mark.covers("W15")
NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
CONTEXT: dict[str, Json] = {"code": "context_length_exceeded", "type": "invalid_request_error"}
PROMPT: dict[str, Json] = {
    "code": "invalid_prompt",
    "message": "Your prompt was flagged as potentially violating our usage policy.",
}
F = FailureClass


@pytest.mark.parametrize(
    ("status", "error", "found"),
    [
        (401, {}, F.AUTH),
        (401, {"type": "overloaded"}, F.AUTH),
        (400, {"status": 401}, F.AUTH),
        (400, {"code": "invalid_api_key"}, F.AUTH),
        (403, {}, F.AUTH),
        (403, {"code": "content_filter"}, F.CONTENT),
        (403, {"type": "overloaded"}, F.AUTH),
        (429, {}, F.RATE_LIMIT),
        (429, {"type": "overloaded"}, F.RATE_LIMIT),
        (500, {"code": "rate_limit_exceeded"}, F.RATE_LIMIT),
        (400, {"code": "usage_limit_reached"}, F.RATE_LIMIT),
        (400, {"code": 429}, F.RATE_LIMIT),
        (500, {}, F.TRANSIENT),
        (503, {}, F.TRANSIENT),
        (529, {}, F.TRANSIENT),
        (500, CONTEXT, F.TRANSIENT),
        (400, {"type": "server_error"}, F.TRANSIENT),
        (400, CONTEXT, F.CONTEXT),
        (413, CONTEXT, F.REJECTED),
        (400, {**CONTEXT, "code": "Context_Length_Exceeded"}, F.CONTEXT),
        (400, {"code": "context_length_exceeded", "type": "content_filter"}, F.PROTOCOL),
        (400, {"type": "exceed_context_size_error"}, F.CONTEXT),
        (400, {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}, F.CONTEXT),
        (400, {"type": "invalid_request_error", "message": "Your prompt is too long, shorten it"}, F.REJECTED),
        (400, {"error": CONTEXT}, F.REJECTED),
        (400, {"message": "context_length_exceeded"}, F.REJECTED),
        (400, {"code": "cyber_policy"}, F.CONTENT),
        (400, {"message": "against our content policy"}, F.REJECTED),
        (400, PROMPT, F.REJECTED),
        (503, {"type": "overloaded"}, F.OVERLOAD),
        (529, {"type": "overloaded_error"}, F.OVERLOAD),
        (400, {"code": "server_is_overloaded"}, F.OVERLOAD),
        (400, {"code": "server_is_overloaded_now"}, F.REJECTED),
        (503, {"message": "overloaded"}, F.TRANSIENT),
        (503, {"code": "overloaded", "type": "context_length_exceeded"}, F.OVERLOAD),
        (404, {}, F.REJECTED),
        (404, {"code": True, "type": 5}, F.REJECTED),
    ],
)
def test_a_refused_call_has_one_class(status: int, error: dict[str, Json], found: FailureClass) -> None:
    """facts/work.md 9.3, spec "Provider failure classification"."""
    assert classify(Evidence(status=status, error=error)) is found


@pytest.mark.parametrize(
    ("error", "found"),
    [
        ({}, F.PROTOCOL),
        (CONTEXT, F.CONTEXT),
        (PROMPT, F.PROMPT),
        ({**PROMPT, "message": "no"}, F.PROTOCOL),
        ({"code": "rate_limit_exceeded"}, F.RATE_LIMIT),
        ({"code": "server_error"}, F.TRANSIENT),
        ({"type": "overloaded_error"}, F.OVERLOAD),
        ({"code": "overloaded", **{k: v for k, v in PROMPT.items() if k == "message"}}, F.OVERLOAD),
    ],
)
def test_an_error_after_the_answer_had_begun_has_one_too(error: dict[str, Json], found: FailureClass) -> None:
    """An HTTP status of 200 proves nothing."""
    assert classify(Evidence(status=200, error=error, opened=True)) is found


def test_a_time_to_wait_alone_means_a_limit_and_beats_nothing_that_is_known() -> None:
    """spec: explicit evidence precedes timing-only hints."""
    assert classify(Evidence(status=400, error={}, retry_after_s=5)) is F.RATE_LIMIT
    assert classify(Evidence(status=503, error={}, retry_after_s=5)) is F.TRANSIENT
    assert classify(Evidence(status=403, error={}, retry_after_s=5)) is F.AUTH


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("7", 7),
        (" 1.5 ", 1.5),
        ("0", 0),
        ("Tue, 01 Dec 2026 12:01:30 GMT", 90),
        ("Tue, 01 Dec 2026 13:01:30 +0100", 90),
        ("Tue, 01 Dec 2026 11:00:00 GMT", 0),
        ("-1", None),
        ("1e3", None),
        ("inf", None),
        ("soon", None),
        ("9" * 20, None),
        ("", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_or_nothing(given: str, seconds: float | None) -> None:
    """Both forms of the header; nonsense is no time."""
    assert retry_after_s({"retry-after": given}, now=NOW) == seconds
    assert retry_after_s({}, now=NOW) is None


def test_every_class_has_an_error_of_its_own_name() -> None:
    """The exchange records the name."""
    assert set(ERRORS) == set(FailureClass)
