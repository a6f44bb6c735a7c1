"""Endings: how a task ends when a model call brought no answer."""

from workstead.agents import task
from workstead.agents.models.failures import WAITS_FOR_A_PERSON, ModelError
from workstead.agents.models.shape import Answer, NoTurn
from workstead.kernel.effects import Ended, Outcome

# An overloaded provider is asked again without end and Stop ends that; every single attempt has its own short limits.
MODEL_DEADLINE_S = 7 * 86_400.0


def of(outcome: Outcome[Answer]) -> task.Blocked | task.Failed:
    """The end that the outcome of a call without an answer leads to."""
    if isinstance(outcome.error, NoTurn):
        return task.Blocked(reason=str(outcome.error))
    if isinstance(outcome.error, WAITS_FOR_A_PERSON):
        return task.Blocked(reason=outcome.error.message)
    if isinstance(outcome.error, ModelError):
        return task.Failed(reason=outcome.error.message)
    if outcome.ended is Ended.INTERRUPTED:
        return task.Failed(reason=f"The model did not answer within {MODEL_DEADLINE_S:.0f} s.")
    return task.Failed(reason=f"The model call failed ({type(outcome.error).__name__}).")
