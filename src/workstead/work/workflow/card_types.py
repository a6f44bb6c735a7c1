"""Compiles card types: children, records, workflow, and what holds between types."""

from collections.abc import Mapping

from workstead.work.workflow import actions, grammar, graph, identity, nodes, soundness
from workstead.work.workflow.lifecycle import Entry
from workstead.work.workflow.participants import Agent
from workstead.work.workflow.prompts import Library
from workstead.work.workflow.reading import At

_MAX_STARTER_BYTES = 65_536


def read_card_types(at: At, *, agents: Mapping[str, Agent], library: Library) -> dict[str, graph.CardType]:
    """Every card type of the source, in its order."""
    named = at.named(grammar.CARD_TYPE)
    if identity.ROOT not in named:
        at.fail("The type `project` must be here; it is the type of the root card.")
    compiled = {}
    for name, each in named.items():
        card_type = _card_type(name, each, named=named, agents=agents, library=library)
        if card_type is not None:
            compiled[name] = card_type
    if len(compiled) == len(named):
        _check_descendants(compiled, named)
    return compiled


def _card_type(
    name: str, at: At, *, named: Mapping[str, At], agents: Mapping[str, Agent], library: Library
) -> graph.CardType | None:
    fields = at.fields(["permitted_child_types", "records", "workflow"])
    children = _children(fields["permitted_child_types"], named) if "permitted_child_types" in fields else ()
    records = _records(name, fields["records"], library) if "records" in fields else {}
    around = nodes.Surroundings(
        card_type=name, permitted_child_types=children, records=records, agents=agents, library=library
    )
    workflow = _workflow(fields["workflow"], around) if "workflow" in fields else None
    if workflow is None:
        return None
    return graph.CardType(name=name, permitted_child_types=children, records=records, workflow=workflow)


def _children(at: At, named: Mapping[str, At]) -> tuple[str, ...]:
    items = [(item, item.name(grammar.CARD_TYPE)) for item in at.items()]
    for item, child in items:
        if child == identity.ROOT:
            item.fail("There is one project card, the root; no type may have it as a child.")
        else:
            item.missing(child, "card type", named)
    return at.unique(items)


def _records(card_type: str, at: At, library: Library) -> dict[str, graph.RecordSpec]:
    records = {
        name: _record(name, each, card_type=card_type, library=library)
        for name, each in at.named(grammar.RECORD).items()
    }
    briefs = [record.name for record in records.values() if record.bootstrap]
    if len(briefs) != 1:
        found = ", ".join(f"`{name}`" for name in briefs) or "none"
        at.fail(f"Exactly one record has `bootstrap: true`, the one a new card starts with; found {found}.")
    return records


def _record(name: str, at: At, *, card_type: str, library: Library) -> graph.RecordSpec:
    fields = at.fields(["schema"], ["bootstrap", "initialization"])
    bootstrap = "bootstrap" in fields and fields["bootstrap"].boolean()
    starter = None
    if "initialization" in fields:
        if bootstrap:
            fields["initialization"].fail("A bootstrap record starts with the brief; remove its starter.")
        starter = _starter(card_type, fields["initialization"], library)
    return graph.RecordSpec(
        name=name,
        schema=fields["schema"].name(grammar.SCHEMA) if "schema" in fields else "",
        bootstrap=bootstrap,
        initialization=starter,
    )


def _starter(card_type: str, at: At, library: Library) -> str:
    fields = at.fields(["template"])
    if "template" not in fields:
        return ""
    template = fields["template"]
    text = template.text(max_bytes=_MAX_STARTER_BYTES)
    return library.record(text, card_type=card_type, path=template.where) if text else ""


def _workflow(at: At, around: nodes.Surroundings) -> graph.Workflow | None:
    fields = at.fields(["notification_recipient", "entries", "nodes"], ["after_activation_commit"])
    if len(fields.keys() & {"notification_recipient", "entries", "nodes"}) < 3:
        return None
    named = fields["nodes"].named(grammar.NODE)
    read = {name: nodes.read_node(name, each, around) for name, each in named.items()}
    compiled = {name: node for name, node in read.items() if node is not None}
    workflow = graph.Workflow(
        notification_recipient=_recipient(fields["notification_recipient"], around),
        entries=_entries(fields["entries"], around),
        nodes=compiled,
        after_activation_commit=actions.read_hook(fields.get("after_activation_commit")),
    )
    soundness.check(workflow, at, complete=len(compiled) == len(named))
    return workflow


def _recipient(at: At, around: nodes.Surroundings) -> str:
    name = at.name(grammar.AGENT)
    return "" if at.missing(name, "agent", around.agents) else name


def _entries(at: At, around: nodes.Surroundings) -> dict[Entry, graph.EntrySpec]:
    fields = at.fields([entry.value for entry in Entry])
    entries = {}
    for entry in Entry:
        if entry not in fields:
            continue
        parts = fields[entry].fields(["node"], ["prompt"])
        if entry is Entry.STOPPED and "prompt" not in parts:
            fields[entry].fail("STOPPED needs a prompt that says what an interruption means.")
        entries[entry] = graph.EntrySpec(
            node=parts["node"].name(grammar.NODE) if "node" in parts else "",
            prompt=around.durable_prompt(parts["prompt"]) if "prompt" in parts else None,
        )
    return entries


def _check_descendants(compiled: Mapping[str, graph.CardType], named: Mapping[str, At]) -> None:
    """Every record shown of descendants must exist in every type that can stand below."""
    for name, card_type in compiled.items():
        below = _reachable_types(card_type, compiled)
        for node in card_type.workflow.nodes.values():
            if not isinstance(node, graph.AgentNode) or node.descendant_context is None:
                continue
            at = named[name].find("workflow", "nodes", node.name, "descendant_context", "records")
            for record in node.descendant_context.records:
                lacking = [each for each in below if record not in compiled[each].records]
                if lacking:
                    types = ", ".join(f"`{each}`" for each in lacking)
                    at.fail(f"`{record}` must be declared by every type below; {types} lack it.")


def _reachable_types(card_type: graph.CardType, compiled: Mapping[str, graph.CardType]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    waiting = list(card_type.permitted_child_types)
    while waiting:
        name = waiting.pop()
        if name in compiled and name not in found:
            found[name] = None
            waiting.extend(compiled[name].permitted_child_types)
    return tuple(sorted(found))
