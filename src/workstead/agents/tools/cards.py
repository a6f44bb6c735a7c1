"""Card and record tools: each is one operation; a change and the call's result are one commit."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from workstead import errors
from workstead.agents.models.shape import ToolSchema
from workstead.agents.tools import arguments
from workstead.agents.tools.tool import RESULT_LIMIT_BYTES, Acted, CallSite, Tool, ToolResult
from workstead.agents.tools.workbench import Workbench
from workstead.kernel import canonical, paging
from workstead.kernel.canonical import Json
from workstead.kernel.operations import AnyOperation, Door, Effect
from workstead.kernel.transaction import Tx

READS = (
    "list_cards",
    "get_card",
    "get_tree",
    "list_card_versions",
    "get_card_version",
    "diff_card_versions",
    "read_record_version",
)
WRITES = ("create_card", "edit_card", "cancel_card", "reopen_card", "reorder_child")
NAMES = frozenset({*READS, *WRITES})

# The tool fills these in: the project is the agent's own, the request is the call's row.
_FILLED = frozenset({"project", "request_id"})


def build(name: str, bench: Workbench) -> Tool:
    """The tool that is the operation of this name; a start without that operation fails here."""
    operation = bench.operations.table[name]

    async def act(site: CallSite, given: Mapping[str, object]) -> Acted:
        return await call(bench, site, name=name, given=given)

    return Tool(
        schema=ToolSchema(
            name=name, description=operation.summary, parameters=arguments.schema(operation.input, without=_FILLED)
        ),
        act=act,
        operations=frozenset({name}),
        changes=operation.effect is not Effect.READ,
    )


async def call(bench: Workbench, site: CallSite, *, name: str, given: Mapping[str, object]) -> Acted:
    """Run an operation as the agent; a change is committed with the call's result. Raises what it refuses."""
    operation = bench.operations.table[name]
    strange = sorted(_FILLED & given.keys())
    if strange:
        raise _filled_in(strange[0])
    if operation.effect is Effect.READ:
        return Acted(result=await _read(bench, site, name=name, given=given))
    return await _change(bench, site, operation=operation, given=given)


async def ask(bench: Workbench, site: CallSite, *, name: str, given: Mapping[str, object]) -> Json:
    """The whole answer of a reading operation, nothing hidden yet; raises what it refuses."""
    operation = bench.operations.table[name]
    answer = await bench.operations.run(site.proof, name, {**given, "project": site.project_id}, door=Door.AGENT)
    return cast("Json", operation.adapter.dump_python(answer, mode="json"))


async def _read(bench: Workbench, site: CallSite, *, name: str, given: Mapping[str, object]) -> ToolResult:
    """A page as the agent may see it. What hides a secret may be longer than it, so a full page is asked for again."""
    result = ToolResult(success=True, data=bench.shown(await ask(bench, site, name=name, given=given)))
    if "response_bytes" in bench.operations.table[name].input.model_fields:
        # The operation has checked it, so anything else than a number was refused.
        asked = cast("int", given.get("response_bytes", paging.LIMIT_BYTES_MAX))
        surplus = _size(result) - asked
        if surplus > 0 and asked - surplus >= paging.LIMIT_BYTES_MIN:
            less = {**given, "response_bytes": asked - surplus}
            result = ToolResult(success=True, data=bench.shown(await ask(bench, site, name=name, given=less)))
    return _within_limit(result)


async def _change(bench: Workbench, site: CallSite, *, operation: AnyOperation, given: Mapping[str, object]) -> Acted:
    settled: list[ToolResult] = []

    def settle(tx: Tx, answer: Any) -> None:
        data = bench.shown(cast("Json", operation.adapter.dump_python(answer, mode="json")))
        result = _within_limit(ToolResult(success=True, data=data))
        site.settle(tx, result)
        settled.append(result)

    raw = {**given, "project": site.project_id, "request_id": site.call_id}
    await bench.operations.run(site.proof, operation.name, raw, door=Door.AGENT, also=settle)
    return Acted(result=settled[-1], committed=True)


def _size(result: ToolResult) -> int:
    return len(canonical.dump(result.body()))


def _within_limit(whole: ToolResult) -> ToolResult:
    """The result within the limit of every result; what is longer is said to be, never cut in the middle."""
    size_bytes = _size(whole)
    if size_bytes <= RESULT_LIMIT_BYTES:
        return whole
    note = f"It was done; the answer of {size_bytes} bytes is too long to show. Read what you need of it."
    return replace(whole, data={"note": note})


def _filled_in(name: str) -> errors.Refusal:
    issue = errors.Issue(path=name, message="this is filled in for you; leave it out")
    return errors.invalid("input_invalid", f"Leave out {name}; it is filled in for you.", issues=[issue])
