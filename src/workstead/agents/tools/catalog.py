"""The catalogue of tools: one printed table from a tool's name to how it is built for a node task."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from workstead import errors
from workstead.agents.models.shape import ToolSchema
from workstead.agents.tools import activate, cards, files, processes, result, searches
from workstead.agents.tools.tool import Tool
from workstead.agents.tools.workbench import Workbench
from workstead.work.workflow.graph import AgentSpec

Builder = Callable[[Workbench], Tool]

BUILDERS: Mapping[str, Builder] = {
    "activate_card": activate.build,
    "apply_patch": partial(files.build, "apply_patch"),
    "cancel_card": partial(cards.build, "cancel_card"),
    "create_card": partial(cards.build, "create_card"),
    "diff_card_versions": partial(cards.build, "diff_card_versions"),
    "edit": partial(files.build, "edit"),
    "edit_card": partial(cards.build, "edit_card"),
    "get_card": partial(cards.build, "get_card"),
    "get_card_version": partial(cards.build, "get_card_version"),
    "get_tree": partial(cards.build, "get_tree"),
    "glob": partial(searches.build, "glob"),
    "grep": partial(searches.build, "grep"),
    "kill_process": partial(processes.build, "kill_process"),
    "list_card_versions": partial(cards.build, "list_card_versions"),
    "list_cards": partial(cards.build, "list_cards"),
    "read": partial(files.build, "read"),
    "read_record_version": partial(cards.build, "read_record_version"),
    "reopen_card": partial(cards.build, "reopen_card"),
    "reorder_child": partial(cards.build, "reorder_child"),
    "run_command": partial(processes.build, "run_command"),
    "wait_process": partial(processes.build, "wait_process"),
    "write": partial(files.build, "write"),
}

# What a tool calls besides the operation it is named after; the grant is made before there is a workbench.
_ALSO_CALLS: Mapping[str, frozenset[str]] = {
    "edit": frozenset({files.EDIT_RECORD}),
    "read": frozenset({files.READ_RECORD, files.READ_RECORD_VERSION}),
    "write": frozenset({files.WRITE_RECORD}),
}


def build(bench: Workbench) -> Mapping[str, Tool]:
    """The agent's tools, in its order. Raises `invalid` for a name that is none."""
    strange = [name for name in bench.spec.tools if name not in BUILDERS]
    if strange:
        raise errors.invalid("tool_unknown", f"{bench.spec.name} lists {', '.join(strange)}, which is no tool.")
    return {name: BUILDERS[name](bench) for name in bench.spec.tools}


def schemas(bench: Workbench, outcomes: Sequence[str]) -> tuple[ToolSchema, ...]:
    """The tools as the model sees them at a node with these outcomes: the agent's own, then `emit_result`."""
    return (*(one.schema for one in build(bench).values()), result.schema(outcomes))


def operations(spec: AgentSpec) -> frozenset[str]:
    """The operations that the agent's grant must list so that its tools work."""
    named = {name for name in spec.tools if name in cards.NAMES}
    return frozenset(named).union(*(_ALSO_CALLS.get(name, frozenset()) for name in spec.tools))
