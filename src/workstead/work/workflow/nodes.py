"""Compiles the nodes and edges of one card type's graph; whether the whole is sound, `soundness` says."""

from collections.abc import Mapping
from dataclasses import dataclass

from workstead.work.workflow import actions, catalog, grammar, graph
from workstead.work.workflow.participants import Agent, read_prompt_use
from workstead.work.workflow.prompts import SHARED, Kind, Library
from workstead.work.workflow.reading import At

_MISSING_PROMPT = graph.Prompt(reference="", path="", text="")
_MAX_OUTCOMES = 32


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the nodes of a card type may refer to."""

    card_type: str
    permitted_child_types: tuple[str, ...]
    records: Mapping[str, graph.RecordSpec]
    agents: Mapping[str, Agent]
    library: Library

    def process_prompt(self, at: At | None) -> graph.Prompt:
        """The prompt of a node."""
        reference, compactable = read_prompt_use(at)
        return self._prompt(at, reference, compactable=compactable, key=None)

    def durable_prompt(self, at: At | None) -> graph.Prompt:
        """A prompt that is written into the conversation, and so may carry a compaction key."""
        if at is None:
            return _MISSING_PROMPT
        fields = at.fields(["reference"], ["compactable", "compaction_key"])
        reference = fields["reference"].name(grammar.PROMPT) if "reference" in fields else ""
        compactable = fields["compactable"].boolean() if "compactable" in fields else True
        key = fields["compaction_key"].any_text() if "compaction_key" in fields else None
        if key == "":
            fields["compaction_key"].fail("A compaction key is never empty; remove it or name it.")
        if compactable and key is not None:
            fields["compaction_key"].fail("A compaction key goes with `compactable: false` only.")
        return self._prompt(at, reference, compactable=compactable, key=key)

    def agent_prompt(self, agent: Agent, at: At) -> graph.Prompt:
        """The standing prompt of a card agent for this type."""
        reference = agent.prompt_reference
        found = self.library.agent(reference, card_type=self.card_type) if reference else None
        if found is None:
            if reference:
                at.fail(_missing_prompt(Kind.AGENT, reference))
            return _MISSING_PROMPT
        compactable = agent.prompt_compactable
        return graph.Prompt(reference=reference, path=found[0], text=found[1], compactable=compactable)

    def _prompt(self, at: At | None, reference: str, *, compactable: bool, key: str | None) -> graph.Prompt:
        found = self.library.process(reference, card_type=self.card_type) if reference else None
        if at is None or found is None:
            if at is not None and reference:
                at.fail(_missing_prompt(Kind.PROCESS, reference))
            return _MISSING_PROMPT
        return graph.Prompt(reference=reference, path=found[0], text=found[1], compactable=compactable, key=key)


def read_node(name: str, at: At, around: Surroundings) -> graph.AgentNode | graph.ActionNode | None:
    """One node; None when not even its kind can be read."""
    entries = at.entries()
    execution = entries.get("execution")
    if execution is None or not execution.holds_mapping():
        at.fail("A node needs `execution: {kind: agent, agent: NAME}` or `execution: {kind: action, ...}`.")
        return None
    kind = execution.entries().get("kind")
    what = kind.text() if kind is not None else ""
    if what == "agent":
        return _agent_node(name, at, execution=execution, around=around)
    if what == "action":
        return _action_node(name, at, execution=execution, around=around)
    (kind or execution).fail("The kind of a node is `agent` or `action`.")
    return None


def _agent_node(name: str, at: At, *, execution: At, around: Surroundings) -> graph.AgentNode | None:
    agent = _node_agent(execution, around)
    optional = ["records", "initialize_records", "descendant_context"]
    fields = at.fields(["execution", "prompt", "correction_prompt", "edges"], optional)
    requirements = {}
    if "records" in fields:
        requirements = _requirements(fields["records"], agent, around)
    edges = {}
    if "edges" in fields:
        named = _outcomes(fields["edges"])
        edges = {outcome: _edge(outcome, each, around) for outcome, each in named.items()}
    prompt = around.process_prompt(fields.get("prompt"))
    correction = around.durable_prompt(fields.get("correction_prompt"))
    initialize = _initialized(fields.get("initialize_records"), around)
    context = _descendant_context(fields.get("descendant_context"), around)
    if agent is None:
        return None
    permitted, spec = around.permitted_child_types, agent.spec
    creates = spec.can_create_children and catalog.CREATE_CARD in spec.tools
    return graph.AgentNode(
        name=name,
        agent=spec.name,
        agent_prompt=around.agent_prompt(agent, agent.at),
        prompt=prompt,
        correction_prompt=correction,
        requirements=requirements,
        initialize_records=initialize,
        descendant_context=context,
        edges=edges,
        creatable_types=permitted if creates else (),
        activatable_types=permitted if catalog.ACTIVATE_CARD in spec.tools else (),
    )


def _node_agent(execution: At, around: Surroundings) -> Agent | None:
    fields = execution.fields(["kind", "agent"])
    if "agent" not in fields:
        return None
    name = fields["agent"].name(grammar.AGENT)
    if fields["agent"].missing(name, "agent", around.agents):
        return None
    agent = around.agents[name]
    if agent.spec.session is not graph.Session.CARD:
        fields["agent"].fail(f"The agent `{name}` is global; a node needs one with `session: card`.")
    return agent


def _requirements(at: At, agent: Agent | None, around: Surroundings) -> dict[str, graph.Requirement]:
    found = {}
    for record, each in at.named(grammar.RECORD).items():
        each.missing(record, "record of this type", around.records)
        fields = each.fields(["mode", "gate"])
        mode = fields["mode"].choice(graph.Mode, default=graph.Mode.CONTINUE) if "mode" in fields else None
        gate = fields["gate"].choice(graph.Gate, default=graph.Gate.EXISTS) if "gate" in fields else None
        need = graph.Requirement(mode=mode or graph.Mode.CONTINUE, gate=gate or graph.Gate.EXISTS)
        if agent is not None and need != graph.Requirement(mode=graph.Mode.CONTINUE, gate=graph.Gate.EXISTS):
            _check_writer(each, record, agent.spec)
        found[record] = need
    return found


def _check_writer(at: At, record: str, agent: graph.AgentSpec) -> None:
    if catalog.WRITE not in agent.tools:
        at.fail(f"The agent `{agent.name}` must list the tool `write` to write `{record}` here.")
    if not agent.may_write(record):
        at.fail(f"No pattern in `record_writes` of the agent `{agent.name}` covers `{record}`.")


def _initialized(at: At | None, around: Surroundings) -> tuple[str, ...]:
    if at is None:
        return ()
    items = [(item, item.name(grammar.RECORD)) for item in at.items()]
    for item, record in items:
        if item.missing(record, "record of this type", around.records):
            continue
        if around.records[record].initialization is None:
            item.fail(f"`{record}` has no `initialization`, so nothing can start it.")
    return at.unique(items)


def _descendant_context(at: At | None, around: Surroundings) -> graph.DescendantContext | None:
    if at is None:
        return None
    fields = at.fields(["records", "require_unchanged_until_accept"])
    records = fields["records"].names(grammar.RECORD) if "records" in fields else ()
    if "records" in fields and not records:
        fields["records"].fail("Name at least one record, or leave `descendant_context` out.")
    if not around.permitted_child_types:
        at.fail("This type has no children, so it has no descendants to show; leave this out.")
    unchanged = fields.get("require_unchanged_until_accept")
    return graph.DescendantContext(
        records=records,
        require_unchanged_until_accept=unchanged is not None and unchanged.boolean(),
    )


def _outcomes(at: At) -> dict[str, At]:
    named = at.named(grammar.OUTCOME)
    if not named:
        at.fail("A node needs at least one outcome.")
    if len(named) > _MAX_OUTCOMES:
        at.fail(f"A node may have {_MAX_OUTCOMES} outcomes at most.")
    return named


def _edge(outcome: str, at: At, around: Surroundings) -> graph.Edge:
    return _edge_of(outcome, at.fields(["target"], ["prompt", "pending_notifications"]), around)


def _edge_of(outcome: str, fields: Mapping[str, At], around: Surroundings) -> graph.Edge:
    target = _target(fields["target"]) if "target" in fields else graph.NodeTarget(node="")
    prompt = around.durable_prompt(fields["prompt"]) if "prompt" in fields else None
    if prompt is not None and isinstance(target, graph.TerminalTarget):
        fields["prompt"].fail("An edge that ends the activation hands over to nobody; remove its prompt.")
    pending = None
    if "pending_notifications" in fields:
        parts = fields["pending_notifications"].fields(["node", "prompt"])
        node = parts["node"].name(grammar.NODE) if "node" in parts else ""
        pending = graph.PendingNotifications(node=node, prompt=around.durable_prompt(parts.get("prompt")))
    return graph.Edge(outcome=outcome, target=target, prompt=prompt, pending_notifications=pending)


def _target(at: At) -> graph.NodeTarget | graph.TerminalTarget:
    entries = at.entries()
    if ("node" in entries) == ("terminal" in entries):
        at.fail("A target is `{node: NAME}` or `{terminal: DONE|BLOCKED|FAILED, ...}`.")
        return graph.NodeTarget(node="")
    if "node" in entries:
        fields = at.fields(["node"])
        return graph.NodeTarget(node=fields["node"].name(grammar.NODE))
    fields = at.fields(["terminal"], ["promote", "export_records"])
    return graph.TerminalTarget(
        status=fields["terminal"].choice(graph.Terminal, default=graph.Terminal.FAILED),
        promote_node=_promotion(fields.get("promote")),
        export_records=fields["export_records"].names(grammar.RECORD) if "export_records" in fields else (),
    )


def _promotion(at: At | None) -> str | None:
    if at is None:
        return None
    if at.holds_mapping():
        fields = at.fields(["latest_node"])
        return fields["latest_node"].name(grammar.NODE) if "latest_node" in fields else None
    if at.text() != "current":
        at.fail("Promote `current` or `{latest_node: NAME}`.")
    return None


def _action_node(name: str, at: At, *, execution: At, around: Surroundings) -> graph.ActionNode:
    parts = execution.fields(["kind", "action", "version"])
    fields = at.fields(["execution", "input", "edges"], ["output_record"])
    run = actions.read_shell(parts.get("action"), parts.get("version"), fields.get("input"))
    output = None
    if "output_record" in fields:
        output = fields["output_record"].name(grammar.RECORD)
        missing = fields["output_record"].missing(output, "record of this type", around.records)
        if not missing and around.records[output].bootstrap:
            fields["output_record"].fail(f"`{output}` is the brief; output goes into another record.")
    edges = {}
    if "edges" in fields:
        named = fields["edges"].entries()
        if set(named) != set(actions.OUTCOMES):
            wanted = ", ".join(f"`{outcome}`" for outcome in actions.OUTCOMES)
            fields["edges"].fail(f"The edges of `{actions.SHELL_RUN}` are exactly {wanted}.")
        edges = {outcome: _action_edge(outcome, each, around) for outcome, each in named.items()}
    return graph.ActionNode(name=name, action="shell.run", version=1, input=run, output_record=output, edges=edges)


def _action_edge(outcome: str, at: At, around: Surroundings) -> graph.ActionEdge:
    if "cases" not in at.entries():
        return graph.ActionEdge(outcome=outcome, cases=(), otherwise=_edge(outcome, at, around))
    fields = at.fields(["cases", "otherwise"])
    items = fields["cases"].items()
    if not 1 <= len(items) <= actions.MAX_CASES:
        fields["cases"].fail(f"An outcome has one to {actions.MAX_CASES} cases.")
    cases = [_case(outcome, item, around) for item in items]
    fields["cases"].unique([(item, case.id) for item, case in zip(items, cases, strict=True)])
    otherwise = graph.Edge(outcome=outcome, target=graph.NodeTarget(node=""), prompt=None, pending_notifications=None)
    if "otherwise" in fields:
        otherwise = _edge(outcome, fields["otherwise"], around)
    return graph.ActionEdge(outcome=outcome, cases=tuple(cases), otherwise=otherwise)


def _case(outcome: str, at: At, around: Surroundings) -> graph.Case:
    fields = at.fields(["id", "when", "target"], ["prompt", "pending_notifications"])
    field, test, value = actions.read_test(fields.get("when"), outcome)
    return graph.Case(
        id=fields["id"].name(grammar.CASE) if "id" in fields else "",
        field=field,
        test=test,
        value=value,
        edge=_edge_of(outcome, fields, around),
    )


def _missing_prompt(kind: Kind, reference: str) -> str:
    return f"There is no prompt `{reference}`; write prompts/{kind}/{SHARED}/{reference}.md."
