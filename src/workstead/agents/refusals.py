"""Refusals: what stands in a conversation when a provider's content policy refuses, once and again (W16)."""

from dataclasses import dataclass
from typing import cast

from workstead.agents import conversations
from workstead.agents.conversations import Conversation, NewRow, Row, RowKind
from workstead.agents.models.shape import Role
from workstead.kernel.canonical import Json
from workstead.kernel.transaction import Tx
from workstead.work.workflow.graph import Candidate

BLOCKED = (
    "Provider content policy blocked this card after one safety-respecting reframing attempt. "
    "Change what the card asks for, then Run."
)

_FORMAT = 1
_RETRY = (
    "Workstead authorizes only assistance that the provider can give within its applicable safety requirements. This "
    "automated message is not an operator attestation about the request's purpose, locality, or benignity. If "
    "compliant assistance is possible, continue within those requirements; otherwise refuse."
)


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A card that was blocked. first, second: the exchanges of both refusals. row: of the marker."""

    row: int
    at: str
    activation_id: str
    candidate: Candidate
    first: str
    second: str


def blocked(agent: str, row: int) -> str:
    """Why the card is blocked, and where the marker stands."""
    return f"{BLOCKED} Row {row} of the conversation of {agent} records it."


def retry_row(input_id: str) -> NewRow:
    """The one notice with which a refused request is made once more. input_id: of what was refused."""
    return NewRow(kind=RowKind.REFUSAL_RETRY, role=Role.USER, content={"text": _RETRY, "input_id": input_id})


def marker_row(tx: Tx, one: Conversation, *, candidate: Candidate, first: str, second: str) -> NewRow:
    """The marker of the second refusal. A model is told only its text; the rest is for people."""
    now = conversations.read(tx, one.id)
    number = now.rows + 1 if now is not None else 1
    text = (
        "The provider's content policy refused a step of this conversation twice, and the card was blocked. Plan the "
        f"work anew, within what a provider may help with; do not ask for the same again. Row {number} records it."
    )
    content: dict[str, Json] = {
        "format": _FORMAT,
        "text": text,
        "provider": candidate.provider,
        "model": candidate.model,
        "first": first,
        "second": second,
    }
    return NewRow(kind=RowKind.REFUSAL, role=Role.USER, content=content)


def of_row(row: Row) -> Refusal:
    """Read a marker."""
    content = cast("dict[str, str]", row.content)
    return Refusal(
        row=row.number,
        at=row.at,
        activation_id=row.activation_id,
        candidate=Candidate(provider=content["provider"], model=content["model"]),
        first=content["first"],
        second=content["second"],
    )
