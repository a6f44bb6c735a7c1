"""Endings: how a task ends when a model call brought no answer."""

from collections.abc import Mapping

from workstead.agents import task
from workstead.agents.models import failures
from workstead.agents.models.failures import WAITS_FOR_A_PERSON, ModelError
from workstead.agents.models.shape import Answer, NoTurn
from workstead.kernel.effects import Ended, Outcome

# An overloaded provider is asked again without end and Stop ends that; every single attempt has its own short limits.
MODEL_DEADLINE_S = 7 * 86_400.0


_LATER = "Once it answers again, or the route names another model besides, reopen the card and Run."
_ADVICE: Mapping[type[ModelError], str] = {
    failures.AddressError: "Correct `base_url` in the configuration, then reopen the card and Run.",
    failures.ContextExhaustedError: "Name a model with a larger window or split the card, then Run.",
    failures.IncompleteAnswerError: _LATER,
    failures.KeyRefusedError: "Replace the key that the configuration names, then Run.",
    failures.MalformedAnswersError: _LATER,
    failures.ProviderDownError: _LATER,
    failures.ProviderProtocolError: _LATER,
    failures.RateLimitedError: _LATER,
    failures.RequestRejectedError: "Correct the model or its route in the configuration, then reopen the card and Run.",
    failures.RequestTooLargeError: "Name a model with a larger window or split the card, then Run.",
    failures.RouteUnfitError: "Correct the route's `max_tokens` or the model's `capabilities`, then Run.",
    failures.SlowProviderError: _LATER,
}


def of(outcome: Outcome[Answer]) -> task.Blocked | task.Failed:
    """The end that the outcome of a call without an answer leads to."""
    if isinstance(outcome.error, NoTurn):
        return task.Blocked(reason=str(outcome.error))
    if isinstance(outcome.error, WAITS_FOR_A_PERSON):
        return task.Blocked(reason=_advised(outcome.error))
    if isinstance(outcome.error, ModelError):
        return task.Failed(reason=_advised(outcome.error))
    if outcome.ended is Ended.INTERRUPTED:
        return task.Failed(reason=f"The model did not answer within {MODEL_DEADLINE_S:.0f} s.")
    return task.Failed(reason=f"The model call failed ({type(outcome.error).__name__}).")


def _advised(error: ModelError) -> str:
    """What happened and what a person can do about it; a missing key's sentence says that itself."""
    return " ".join(filter(None, (error.message, _ADVICE.get(type(error)))))
