"""Failure words: what an exchange without an answer records, and what each of them means in a sentence for people."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from workstead.agents.budgets import SpentError
from workstead.agents.models import failures
from workstead.agents.models.failures import FailureClass, ModelError
from workstead.agents.models.shape import NoTurn


class Unsent(StrEnum):
    """Why a call has no answer although no attempt of it failed."""

    BUDGET = "budget_spent"
    INTERNAL = "internal"
    KEY = "key_missing"
    LATE = "deadline"
    SCRIPT = "script_ended"
    TOO_LARGE = "request_too_large"
    UNFIT = "route_unfit"


@dataclass(frozen=True, kw_only=True)
class Explained:
    """A failure in words. happened: what is known. then: what Workstead does with it. advice: what a person can do."""

    happened: str
    then: str
    advice: str


_NEXT = "The route's next candidate is asked; without one"
_AGAIN = "it was asked again after a while. When no candidate answers"
_LATER = "When it answers again, or the route names another model besides, reopen the card and Run."

EXPLAINED: Mapping[str, Explained] = {
    FailureClass.ADDRESS: Explained(
        happened="The provider's address cannot be reached from here, or is one that is never asked.",
        then=f"{_NEXT} the card fails; nothing was sent.",
        advice="Correct `base_url` in the configuration, then reopen the card and Run.",
    ),
    FailureClass.AUTH: Explained(
        happened="The provider does not take the key.",
        then=f"{_NEXT} the card is blocked, because no retry can heal that.",
        advice="Replace the key on the page Keys, then Run.",
    ),
    FailureClass.CONTENT: Explained(
        happened="The provider's content policy refused the request.",
        then="The same candidate is asked once more, with a note that it was refused; a second no blocks the card.",
        advice="Read what was asked in the conversation, say it differently in the card's brief, then Run.",
    ),
    FailureClass.CONTEXT: Explained(
        happened="The provider says that the conversation does not fit its model.",
        then="The conversation is shortened and asked again; where that does not help, the card is blocked.",
        advice="Name a model with a larger window or split the card, then Run.",
    ),
    FailureClass.CUT: Explained(
        happened="The answer ended before its end mark: the connection was cut.",
        then=f"Nothing of it was used; {_AGAIN}, the card fails.",
        advice=_LATER,
    ),
    FailureClass.MALFORMED: Explained(
        happened="What came back is no answer of the protocol.",
        then=f"Nothing of it was used; {_AGAIN}, the card fails.",
        advice="Check that `base_url` is the address of an API and not of a page. " + _LATER,
    ),
    FailureClass.OVERLOAD: Explained(
        happened="The provider is overloaded.",
        then="It is asked again after ever longer pauses, as long as the run lives, and other candidates before that.",
        advice="Wait, or name another model besides in the route.",
    ),
    FailureClass.PROMPT: Explained(
        happened="The provider flagged the request's text, without refusing it by its content policy.",
        then=f"{_NEXT} the card fails.",
        advice="Read what was asked in the conversation, say it differently in the card's brief, then Run.",
    ),
    FailureClass.PROTOCOL: Explained(
        happened="The provider answered with an error that has no known meaning or contradicts itself.",
        then=f"{_NEXT} the card fails.",
        advice=_LATER,
    ),
    FailureClass.RATE_LIMIT: Explained(
        happened="The provider takes no more requests for now.",
        then="The time that it names is waited for, up to two hours, and other candidates are asked before.",
        advice=_LATER,
    ),
    FailureClass.REJECTED: Explained(
        happened="The provider does not take the request as it is: its model or a parameter is wrong for it.",
        then=f"{_NEXT} the card fails.",
        advice="Correct the model or its route in the configuration, then reopen the card and Run.",
    ),
    FailureClass.TIMEOUT: Explained(
        happened="The provider fell silent, or took too long.",
        then=f"The connection was closed; {_AGAIN}, the card fails.",
        advice=_LATER,
    ),
    FailureClass.TRANSIENT: Explained(
        happened="The provider could not be reached, or failed on its side.",
        then=f"{_AGAIN[0].upper()}{_AGAIN[1:]}, the card fails.",
        advice=_LATER,
    ),
    Unsent.BUDGET: Explained(
        happened="A budget does not cover the next call.",
        then="Nothing was sent; the card is blocked.",
        advice="Raise the budget on the project's page Budgets, then Run.",
    ),
    Unsent.INTERNAL: Explained(
        happened="The call failed inside the server.",
        then="The card fails; the server's log has the details.",
        advice="Run again; if it comes back, send the log's lines to who looks after this server.",
    ),
    Unsent.KEY: Explained(
        happened="The key that the configuration names is not there.",
        then="Nothing was sent; the card is blocked.",
        advice="Store the key on the page Keys, then Run.",
    ),
    Unsent.LATE: Explained(
        happened="The call passed its last deadline.",
        then="The card fails.",
        advice=_LATER,
    ),
    Unsent.SCRIPT: Explained(
        happened="Practice has no turn in its script for what the agent has come to.",
        then="The card is blocked; no model was asked.",
        advice="Add the turn to `practice.yaml`, or let the route name a real model, then Run.",
    ),
    Unsent.TOO_LARGE: Explained(
        happened="The request fits no candidate of the route, however the conversation is shortened.",
        then="Nothing was sent; the card is blocked.",
        advice="Name a model with a larger window or split the card, then Run.",
    ),
    Unsent.UNFIT: Explained(
        happened="No candidate of the route could take even a small request.",
        then="Nothing was sent; the card is blocked.",
        advice="Correct the route's `max_tokens` or the model's `capabilities`, then Run.",
    ),
}

_UNSENT: tuple[tuple[type[BaseException], Unsent], ...] = (
    (SpentError, Unsent.BUDGET),
    (failures.KeyMissingError, Unsent.KEY),
    (failures.RouteUnfitError, Unsent.UNFIT),
    (failures.RequestTooLargeError, Unsent.TOO_LARGE),
    (NoTurn, Unsent.SCRIPT),
    (TimeoutError, Unsent.LATE),
)


def of(error: BaseException) -> str:
    """The word for an error, as an exchange keeps it."""
    if isinstance(error, ModelError) and error.found is not None:
        return error.found.value
    known = next((word.value for kind, word in _UNSENT if isinstance(error, kind)), None)
    if known is not None:
        return known
    classes = (each.value for each, made in failures.ERRORS.items() if isinstance(error, made))
    return next(classes, Unsent.INTERNAL.value)
