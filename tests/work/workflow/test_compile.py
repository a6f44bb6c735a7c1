"""Every mistake a configuration can have is named with its line and says what would be right."""

import pytest

from work import folder

COVERS_MODULES = (
    "work/workflow/actions.py",
    "work/workflow/card_types.py",
    "work/workflow/catalog.py",
    "work/workflow/grammar.py",
    "work/workflow/graph.py",
    "work/workflow/nodes.py",
    "work/workflow/participants.py",
    "work/workflow/reading.py",
    "work/workflow/soundness.py",
)

# What is replaced, by what, where the issue stands, what it says.
_MISTAKES = [
    # Keys and values.
    ("format: 1\n", "format: 2\n", "format", "from 1 to 1"),
    ("format: 1\n", "", "", "`format` must be given"),
    ("format: 1\n", "format: 1\nserver: {port: 1}\n", "server", "`server` is not a key here"),
    (
        "    can_create_children: true\n",
        "    can_create_childs: true\n",
        "agents.lead.can_create_childs",
        "did you mean `can_create_children`",
    ),
    (
        "can_create_children: true",
        "can_create_children: yes",
        "agents.lead.can_create_children",
        "`true` or `false`",
    ),
    (
        "  judge:\n    prompt: {reference: judge}",
        "  judge:\n    prompt: judge",
        "agents.judge.prompt",
        "must be a mapping",
    ),
    (
        "tools: [create_card, activate_card, read, write]",
        "tools: read",
        "agents.lead.tools",
        "must be a list",
    ),
    ("  lead:\n    prompt", "  Lead:\n    prompt", "agents.Lead", "`Lead` is no agent name"),
    # Agents.
    ("activate_card, read", "activate_card, reed", "agents.lead.tools[2]", "did you mean `read`"),
    ("activate_card, read", "activate_card, emit_result", "agents.lead.tools[2]", "never listed"),
    (
        "activate_card, read",
        "activate_card, activate_card",
        "agents.lead.tools[2]",
        "stands in this list already",
    ),
    (
        "[read, write]\n    model_route: think",
        "[read, write]\n    model_route: talk",
        "agents.judge.model_route",
        "no model route `talk`",
    ),
    (
        "record_writes: [review.md]",
        "record_writes: ['*view*.md']",
        "agents.judge.record_writes[0]",
        "one `*`",
    ),
    (
        "network: none\n    can_create",
        "network: off\n    can_create",
        "agents.lead.network",
        "`full`, `none`",
    ),
    # Models and providers.
    ("max_tokens: 4096", "max_tokens: 0", "models.routes.think.max_tokens", "whole number"),
    (
        "{candidates: [practice], max",
        "{candidates: [big], max",
        "models.routes.think",
        "No provider lists `big`",
    ),
    ("{candidates: [practice], max", "{profile: p, max", "models.routes.think.profile", "no profile `p`"),
    ("{candidates: [practice], max", "{max", "models.routes.think", "either `candidates` or a `profile`"),
    ("kind: practice,", "kind: anthropic,", "providers.practice", "needs its `base_url`"),
    ("kind: practice,", "kind: practice, key: 'secret:x',", "providers.practice.key", "takes no `key`"),
    (
        "kind: practice,",
        "kind: openai-chat, base_url: 'http://h/v1', key: sk-123,",
        "providers.practice.key",
        "`secret:NAME` or `env:NAME`",
    ),
    ("kind: practice,", "kind: openai-chat, base_url: 'file:///etc',", "providers.practice.base_url", "http"),
    # Card types and records.
    (
        "permitted_child_types: [task]",
        "permitted_child_types: [tusk]",
        "card_types.project.permitted_child_types[0]",
        "did you mean `task`",
    ),
    (
        "permitted_child_types: []",
        "permitted_child_types: [project]",
        "card_types.task.permitted_child_types[0]",
        "one project card",
    ),
    ("  project:\n    permitted", "  program:\n    permitted", "card_types", "type `project` must be here"),
    (
        "      status.md: {schema: status.v1}\n",
        "      status.md: {schema: status.v1, bootstrap: true}\n",
        "card_types.project.records",
        "Exactly one record has `bootstrap: true`",
    ),
    (
        "status.md: {schema: status.v1}",
        "status.md: {schema: status}",
        "card_types.project.records.status.md.schema",
        "`work-status.v1`",
    ),
    ("review.md: {schema", "Review.md: {schema", "card_types.project.records.Review.md", "no record name"),
    (
        '"# {{cardTitle}}"',
        '"# {{cardOwner}}"',
        "card_types.task.records.status.md.initialization.template",
        "`{{cardOwner}}` is not filled in",
    ),
    (
        "initialization: {template",
        "initialization: {text",
        "card_types.task.records.status.md.initialization.text",
        "not a key here",
    ),
    # Nodes.
    (
        "{kind: agent, agent: judge}",
        "{kind: agent, agent: judd}",
        "card_types.project.workflow.nodes.check",
        "no agent `judd`",
    ),
    (
        "{kind: agent, agent: judge}",
        "{kind: human}",
        "card_types.project.workflow.nodes.check",
        "`agent` or `action`",
    ),
    (
        "prompt: {reference: check}",
        "prompt: {reference: chuck}",
        "card_types.project.workflow.nodes.check.prompt",
        "write prompts/process/_shared/chuck.md",
    ),
    (
        "prompt: {reference: check}",
        "prompt: {reference: check, compaction_key: k}",
        "card_types.project.workflow.nodes.check.prompt.compaction_key",
        "not a key here",
    ),
    (
        "review.md: {mode: clean, gate: updated}",
        "notes.md: {mode: clean, gate: updated}",
        "card_types.project.workflow.nodes.check.records.notes.md",
        "no record of this type",
    ),
    (
        "review.md: {mode: clean, gate: updated}",
        "status.md: {mode: clean, gate: exists}",
        "card_types.project.workflow.nodes.check.records.status.md",
        "No pattern in `record_writes`",
    ),
    (
        "tools: [read, write]",
        "tools: [read]",
        "card_types.project.workflow.nodes.check.records.review.md",
        "must list the tool `write`",
    ),
    (
        "initialize_records: [status.md]",
        "initialize_records: [brief.md]",
        "card_types.task.workflow.nodes.do.initialize_records[0]",
        "no `initialization`",
    ),
    (
        "{records: [status.md], require",
        "{records: [review.md], require",
        "card_types.project.workflow.nodes.check.descendant_context.records",
        "`task` lack it",
    ),
    # Entries and the recipient.
    (
        "        STOPPED: {node: steer, prompt: {reference: stopped}}",
        "        STOPPED: {node: steer}",
        "card_types.project.workflow.entries.STOPPED",
        "needs a prompt",
    ),
    (
        "        STOPPED: {node: steer,",
        "        STOPPED: {node: check,",
        "card_types.project.workflow.entries.STOPPED.node",
        "notification recipient `lead` runs",
    ),
    (
        "        CHANGED: {node: steer}\n",
        "",
        "card_types.project.workflow.entries",
        "`CHANGED` must be given",
    ),
    (
        "        CHANGED: {node: steer}\n",
        "        CHANGED: {node: start}\n",
        "card_types.project.workflow.entries.CHANGED.node",
        "no node `start`",
    ),
    # Edges.
    (
        "ready: {target: {node: check}",
        "ready: {target: {node: chek}",
        "card_types.project.workflow.nodes.steer.edges.ready.target.node",
        "did you mean `check`",
    ),
    (
        "stuck: {target: {terminal: BLOCKED,",
        "stuck: {target: {terminal: STUCK,",
        "card_types.project.workflow.nodes.steer.edges.stuck.target.terminal",
        "`BLOCKED`, `DONE`, `FAILED`",
    ),
    (
        "BLOCKED, export_records: [status.md]}}",
        "BLOCKED, export_records: [status.md]}, prompt: {reference: fix}}",
        "card_types.project.workflow.nodes.steer.edges.stuck.prompt",
        "remove its prompt",
    ),
    (
        "BLOCKED, export_records: [status.md]",
        "BLOCKED, export_records: [review.md]",
        "card_types.project.workflow.nodes.steer.edges.stuck.target.export_records[0]",
        "does not require it",
    ),
    (
        "              pending_notifications: {node: steer, prompt: {reference: handoff}}\n",
        "",
        "card_types.project.workflow.nodes.check.edges.good",
        "needs `pending_notifications",
    ),
    (
        "pending_notifications: {node: steer,",
        "pending_notifications: {node: check,",
        "card_types.project.workflow.nodes.check.edges.good.pending_notifications.node",
        "notification recipient",
    ),
    (
        "pending_notifications: {node: steer,",
        "pending_notifications: {node: nowhere,",
        "card_types.project.workflow.nodes.check.edges.good.pending_notifications.node",
        "no node `nowhere`",
    ),
    (
        "[status.md]}}\n        check:",
        "[status.md]}, pending_notifications: {node: steer, prompt: {reference: fix}}}\n        check:",
        "card_types.project.workflow.nodes.steer.edges.stuck.pending_notifications",
        "Only a DONE edge",
    ),
    (
        "promote: {latest_node: steer}",
        "promote: {latest_node: check}",
        "card_types.project.workflow.nodes.check.edges.good.target.promote.latest_node",
        "`promote: current`",
    ),
    (
        "promote: {latest_node: steer}",
        "promote: newest",
        "card_types.project.workflow.nodes.check.edges.good.target.promote",
        "Promote `current`",
    ),
    # Compaction keys.
    (
        "ready: {target: {node: check}, prompt: {reference: handoff}}",
        "ready: {target: {node: check}, prompt: {reference: handoff, compaction_key: k}}",
        "card_types.project.workflow.nodes.steer.edges.ready.prompt.compaction_key",
        "`compactable: false` only",
    ),
    (
        "{reference: handoff}}\n            stuck",
        "{reference: handoff, compactable: false, compaction_key: ''}}\n            stuck",
        "card_types.project.workflow.nodes.steer.edges.ready.prompt.compaction_key",
        "never empty",
    ),
]


@pytest.mark.covers("W01", "W05")
@pytest.mark.parametrize(("old", "new", "where", "words"), _MISTAKES)
def test_a_mistake_is_named_with_its_line_and_its_keys(old: str, new: str, where: str, words: str) -> None:
    """Duty: W05, everything checked at compile time with useful errors."""
    source = folder.changed(old, new)
    issues = folder.issues_of(source)
    last = where.rpartition(".")[2].partition("[")[0]
    found = [issue for issue in issues if words in issue]
    assert len(found) == 1, issues
    path, _, keys = found[0].partition(": ")[0].partition(" ")
    assert keys.startswith(where)
    number = int(path.removeprefix("workstead.yaml:"))
    named = keys.rpartition(".")[2].partition("[")[0]
    written = source.splitlines()[number - 1]
    assert not last or any(part in written for part in (named, last, "md")), written


@pytest.mark.covers("W01")
def test_all_mistakes_are_reported_at_once() -> None:
    """Duty: our decision; nobody fixes one line per Run."""
    source = folder.changed("max_tokens: 4096", "max_tokens: none")
    source = folder.changed("prompt: {reference: do}", "prompt: {reference: dont}", source=source)
    source = folder.changed("stuck: {target: {terminal: BLOCKED,", "stuck: {target: {terminal: NO,", source=source)
    issues = folder.issues_of(source)
    assert len(issues) == 3
    lines = [int(issue.partition(" ")[0].removeprefix("workstead.yaml:")) for issue in issues]
    assert lines == [
        folder.line_of("max_tokens: none", source),
        folder.line_of("terminal: NO", source),
        folder.line_of("reference: dont", source),
    ]


@pytest.mark.covers("W05")
def test_a_circle_without_an_end_is_named_at_each_of_its_nodes() -> None:
    """Duty: spec; every node reaches a terminal."""
    done = "done: {target: {terminal: DONE, promote: current, export_records: [status.md]}}"
    issues = folder.issues_of(folder.changed(done, "again: {target: {node: do}}"))
    assert len(issues) == 1
    assert "card_types.task.workflow.nodes.do" in issues[0]
    assert "no way leads to DONE, BLOCKED or FAILED" in issues[0]


@pytest.mark.covers("W05")
def test_a_node_that_nothing_leads_to_is_named() -> None:
    """Duty: spec; reachability, a pending alternative counts."""
    source = folder.changed("ready: {target: {node: check}", "ready: {target: {node: steer}")
    assert [issue for issue in folder.issues_of(source) if "No entry and no edge leads to `check`" in issue]


@pytest.mark.covers("W05")
def test_a_promoted_node_must_come_before() -> None:
    """Duty: spec; promotion of a graph-reachable node only."""
    source = folder.changed("BLOCKED, export_records", "BLOCKED, promote: {latest_node: check}, export_records")
    folder.compiled(source)
    source = folder.changed("redo: {target: {node: steer}", "redo: {target: {node: check}", source=source)
    source = folder.changed(
        "pending_notifications: {node: steer,", "pending_notifications: {node: late,", source=source
    )
    late = """\
        late:
          execution: {kind: agent, agent: lead}
          prompt: {reference: steer}
          correction_prompt: {reference: fix}
          edges:
            over: {target: {terminal: FAILED}}
  task:
"""
    issues = folder.issues_of(folder.changed("  task:\n", late, source=source))
    assert len(issues) == 1
    assert "No way leads from `check` to `steer`" in issues[0]


@pytest.mark.covers("W05")
def test_an_action_node_is_compiled_with_its_ordered_cases() -> None:
    """Duty: facts 4.9; first case that holds, otherwise the rest."""
    node = folder.card_type("task", folder.with_action()).workflow.nodes["measure"]
    edges = node.edges["failed"]
    assert node.outcomes == ("passed", "failed", "signalled", "timed_out")
    assert list(node.requirements) == ["status.md"]
    choose = getattr(edges, "choose")  # noqa: B009 - only action edges have it
    assert choose({"exit_code": 75}) is edges.cases[0].edge  # type: ignore[union-attr]
    assert choose({"exit_code": 64}) is edges.cases[1].edge  # type: ignore[union-attr]
    assert choose({"exit_code": 1}) is edges.otherwise  # type: ignore[union-attr]


@pytest.mark.covers("W05")
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("action: shell.run", "action: shell.walk", "the only one is `shell.run`"),
        ("version: 1}", "version: 2}", "from 1 to 1"),
        ("timeout_s: 60", "timeout_s: 601", "from 1 to 600"),
        ("timeout_s: 60", "cwd: ../other", "no `.` or `..` part"),
        ("timeout_s: 60", "cwd: /etc", "no path inside the project folder"),
        ("timeout_s: 60", "env: {path: x}", "no name of an environment variable"),
        ("timeout_s: 60", f"artifacts: [{', '.join(f'a{n}' for n in range(17))}]", "16 artifacts"),
        ("[all, {fact: card_id}]", "[all, {fact: owner}]", "`card_id`"),
        ("[all, {fact: card_id}]", f"[{', '.join(['x'] * 257)}]", "256 items"),
        ("output_record: status.md", "output_record: brief.md", "is the brief"),
        ("            signalled: {target: {terminal: FAILED}}\n", "", "are exactly"),
        ("{field: exit_code, eq: 75}", "{field: signal, eq: 75}", "no field of the outcome `failed`"),
        ("{field: exit_code, eq: 75}", "{field: exit_code}", "exactly one test"),
        ("{field: exit_code, eq: 75}", "{field: exit_code, eq: '75'}", "whole number"),
        ("id: usage", "id: retry", "stands in this list already"),
        ("              otherwise: {target: {node: do}}\n", "", "`otherwise` must be given"),
    ],
)
def test_a_mistake_in_an_action_is_named(old: str, new: str, words: str) -> None:
    """Duty: facts 4.9, the limits of shell.run version 1."""
    issues = folder.issues_of(folder.changed(old, new, source=folder.with_action()))
    assert [issue for issue in issues if words in issue], issues


@pytest.mark.covers("W06")
def test_what_a_node_may_create_and_start_is_the_meeting_of_agent_and_type() -> None:
    """Duty: spec; creation ceiling intersected with tools and permitted children."""
    nodes = folder.card_type("project").workflow.nodes
    assert (nodes["steer"].creatable_types, nodes["steer"].activatable_types) == (("task",), ("task",))  # type: ignore[union-attr]
    assert (nodes["check"].creatable_types, nodes["check"].activatable_types) == ((), ())  # type: ignore[union-attr]
    source = folder.changed("    can_create_children: true\n", "")
    steer = folder.card_type("project", source).workflow.nodes["steer"]
    assert (steer.creatable_types, steer.activatable_types) == ((), ("task",))  # type: ignore[union-attr]


def test_a_continued_record_that_must_only_exist_needs_no_writer() -> None:
    """Duty: facts 4.8; continue with exists may omit the write tool."""
    source = folder.changed("review.md: {mode: clean, gate: updated}", "brief.md: {mode: continue, gate: exists}")
    source = folder.changed("tools: [read, write]", "tools: [read]", source=source)
    source = folder.changed(", export_records: [review.md]}\n", "}\n", source=source)
    assert "brief.md" in folder.card_type("project", source).workflow.nodes["check"].requirements


@pytest.mark.covers("W01")
def test_a_route_tries_equivalents_and_then_what_it_fails_over_to() -> None:
    """Duty: facts 4.3; a model id is matched against every provider that lists it."""
    source = folder.changed("{candidates: [practice], max_tokens: 4096}", "{profile: heavy, max_tokens: 4096}")
    source = folder.changed(
        "providers:\n",
        """\
  profiles: {heavy: {preferred: [a], allowed: [b]}}
  equivalents: [[a, a-eu]]
  failover: {b: [c]}
providers:
  one: {kind: anthropic, base_url: 'https://one.example/v1', key: 'secret:one', models: [a, b, c]}
  two: {kind: openai-chat, base_url: 'https://two.example', models: [a, a-eu], priority: 5}
""",
        source=source,
    )
    route = folder.compiled(source).configuration.routes["think"]
    assert [(each.provider, each.model) for each in route.candidates] == [
        ("two", "a"), ("one", "a"), ("one", "b"), ("two", "a-eu"), ("one", "c"),
    ]  # fmt: skip
