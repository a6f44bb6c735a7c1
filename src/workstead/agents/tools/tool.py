"""What a tool is to the turn loop: a name, a schema, and an act that returns one settled result."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from workstead import errors
from workstead.agents.models.shape import ToolSchema
from workstead.kernel.access import AgentProof
from workstead.kernel.canonical import Json
from workstead.kernel.transaction import Tx

RESULT_LIMIT_BYTES = 32_768


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """The settled result of one call: `{success: true, data}` or `{success: false, error, data?}`."""

    success: bool
    data: Json = None
    error: str | None = None

    def body(self) -> dict[str, Json]:
        """The stored and sent form."""
        if self.success:
            return {"success": True, "data": self.data}
        failed: dict[str, Json] = {"success": False, "error": self.error or "failed"}
        return failed if self.data is None else failed | {"data": self.data}


@dataclass(frozen=True, kw_only=True)
class CallSite:
    """Where a call stands. grant: the agent's right to act. call_id: the row id of the call; the key of its receipt.

    settle: writes the call's result row in the transaction it is given; a tool that is an operation hands it to
    `operations.run`, so that change and result are one commit. When a tool has used it, `settled` says so.
    """

    proof: AgentProof
    project_id: str
    card_id: str
    activation_id: str
    call_id: str
    settle: Callable[[Tx, ToolResult], None]


# Raises a refusal for what it will not do; the turn loop answers it as a failed result.
Act = Callable[[CallSite, Mapping[str, object]], Awaitable["Acted"]]


@dataclass(frozen=True, kw_only=True)
class Acted:
    """What an act came to. committed: the result row was written together with the change."""

    result: ToolResult
    committed: bool = False


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool of an agent.

    operations: every operation it may call; the agent's grant must list them. deadline_s: how long an act may take
    before it is interrupted. changes: whether it may change anything, which a recovery must know.
    """

    schema: ToolSchema
    act: Act
    operations: frozenset[str] = frozenset()
    deadline_s: float = 900.0
    changes: bool = False

    @property
    def name(self) -> str:
        """The name the model calls."""
        return self.schema.name


def refused(refusal: errors.Refusal) -> ToolResult:
    """A refusal as an agent reads it: the sentence, the code and which of three it is."""
    data: dict[str, Json] = {"code": refusal.code, "advice": refusal.advice.value}
    if refusal.issues:
        data["issues"] = [{"path": issue.path, "message": issue.message} for issue in refusal.issues]
    if refusal.details:
        data["details"] = {key: str(value) for key, value in refusal.details.items()}
    return ToolResult(success=False, error=refusal.message, data=data)
