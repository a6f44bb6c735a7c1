"""Sizing: the exact bytes decide, before any is sent."""

import pytest

from workstead.agents.models.sizing import Fit, estimate_tokens, judge
from workstead.work.workflow.graph import Capabilities

pytestmark = pytest.mark.covers("W14")


@pytest.mark.parametrize(("size_bytes", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (400_000, 100_000)])
def test_a_token_is_taken_for_four_bytes_rounded_up(size_bytes: int, tokens: int) -> None:
    """facts/work.md 9.4."""
    assert estimate_tokens(size_bytes) == tokens


@pytest.mark.parametrize(
    ("size_bytes", "max_tokens", "window", "most", "fit"),
    [
        (2800, 100, 1000, 100, Fit.ADMITTED),  # 700 tokens: exactly 0.8 of 1000 less 100
        (2801, 100, 1000, 100, Fit.TOO_LARGE),
        (1, 101, 1000, 100, Fit.INELIGIBLE),
        (1, 800, 1000, None, Fit.INELIGIBLE),
        (1, 799, 1000, None, Fit.ADMITTED),
        (10**9, 100, None, 100, Fit.ADMITTED),
        (10**9, 10**6, None, None, Fit.ADMITTED),
    ],
)
def test_a_request_is_admitted_up_to_exactly_what_is_usable(
    size_bytes: int, max_tokens: int, window: int | None, most: int | None, fit: Fit
) -> None:
    """facts/work.md 9.4: I = floor(U*C) - O; what is not declared is not checked."""
    capabilities = Capabilities(context_window_tokens=window, max_output_tokens=most)
    verdict = judge(size_bytes, max_tokens=max_tokens, capabilities=capabilities)
    assert verdict.fit is fit
    assert bool(verdict.why) is (fit is not Fit.ADMITTED)
