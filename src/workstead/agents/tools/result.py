"""`emit_result`: how an agent ends its node; its schema for one node, and the strict reading of its arguments."""

from collections.abc import Sequence
from dataclasses import dataclass

from workstead import errors
from workstead.agents.models.shape import ToolSchema
from workstead.agents.tools import arguments
from workstead.kernel.canonical import Json
from workstead.work.workflow.graph import EMIT_RESULT, MAX_SUMMARY_CHARS

_DESCRIPTION = (
    "End this step with its outcome. Call it alone and last, after every record the step asks for is written. "
    "The summary is what the next reader starts from."
)


@dataclass(frozen=True, kw_only=True)
class NodeResult:
    """What an agent says its step came to. summary: trimmed, never empty."""

    outcome: str
    summary: str


@dataclass(frozen=True, kw_only=True)
class Correction:
    """Why it was not taken, as a sentence the agent can act on."""

    sentence: str


def schema(outcomes: Sequence[str]) -> ToolSchema:
    """The tool as a node shows it: exactly its outcomes, in the order configured."""
    return ToolSchema(
        name=EMIT_RESULT,
        description=_DESCRIPTION,
        parameters={
            "type": "object",
            "properties": {
                "outcome": {
                    "type": "string",
                    "enum": list(outcomes),
                    "description": "What the step came to.",
                },
                "summary": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_SUMMARY_CHARS,
                    "description": "What was done and found, and what is left; plain text.",
                },
            },
            "required": ["outcome", "summary"],
            "additionalProperties": False,
        },
    )


def read(raw: str, *, outcomes: Sequence[str]) -> NodeResult | Correction:
    """The result a call's raw arguments state, or what to correct."""
    try:
        given = arguments.load(raw)
    except errors.Refusal as refusal:
        return Correction(sentence=str(refusal))
    strange = sorted(given.keys() - {"outcome", "summary"})
    if strange:
        return Correction(sentence=f"{EMIT_RESULT} takes outcome and summary only, not {', '.join(strange)[:200]}.")
    outcome = given.get("outcome")
    if not isinstance(outcome, str) or outcome not in outcomes:
        return Correction(sentence=f"outcome is one of {', '.join(outcomes)}.")
    return _summed(outcome, given.get("summary"))


def _summed(outcome: str, said: Json) -> NodeResult | Correction:
    summary = said.strip() if isinstance(said, str) else ""
    if not summary:
        return Correction(sentence="summary is a text that says what was done; white space is not enough.")
    if len(summary) > MAX_SUMMARY_CHARS:
        return Correction(
            sentence=f"summary has at most {MAX_SUMMARY_CHARS} characters and this is {len(summary)}; "
            "put the rest into a record."
        )
    return NodeResult(outcome=outcome, summary=summary)
