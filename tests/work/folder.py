"""A small valid configuration for tests, and the issues a changed one has."""

from collections.abc import Mapping

import pytest

from workstead import errors
from workstead.work import configuration
from workstead.work.workflow import graph

YAML = """\
format: 1
agents:
  lead:
    prompt: {reference: lead}
    tools: [create_card, activate_card, read, write]
    model_route: think
    session: card
    network: none
    can_create_children: true
    record_writes: [status.md]
  judge:
    prompt: {reference: judge}
    tools: [read, write]
    model_route: think
    session: card
    network: none
    record_writes: [review.md]
models:
  routes:
    think: {candidates: [practice], max_tokens: 4096}
providers:
  practice: {kind: practice, models: [practice]}
card_types:
  project:
    permitted_child_types: [task]
    records:
      brief.md: {schema: brief.v1, bootstrap: true}
      status.md: {schema: status.v1}
      review.md: {schema: review.v1}
    workflow:
      notification_recipient: lead
      entries:
        BACKLOG: {node: steer}
        CHANGED: {node: steer}
        BLOCKED: {node: steer}
        STOPPED: {node: steer, prompt: {reference: stopped}}
      nodes:
        steer:
          execution: {kind: agent, agent: lead}
          prompt: {reference: steer}
          correction_prompt: {reference: fix}
          records:
            status.md: {mode: continue, gate: updated}
          edges:
            ready: {target: {node: check}, prompt: {reference: handoff}}
            stuck: {target: {terminal: BLOCKED, export_records: [status.md]}}
        check:
          execution: {kind: agent, agent: judge}
          prompt: {reference: check}
          correction_prompt: {reference: fix}
          records:
            review.md: {mode: clean, gate: updated}
          descendant_context: {records: [status.md], require_unchanged_until_accept: true}
          edges:
            good:
              target: {terminal: DONE, promote: {latest_node: steer}, export_records: [review.md]}
              pending_notifications: {node: steer, prompt: {reference: handoff}}
            redo: {target: {node: steer}, prompt: {reference: handoff}}
  task:
    permitted_child_types: []
    records:
      brief.md: {schema: brief.v1, bootstrap: true}
      status.md: {schema: status.v1, initialization: {template: "# {{cardTitle}}"}}
    workflow:
      notification_recipient: lead
      entries:
        BACKLOG: {node: do}
        CHANGED: {node: do}
        BLOCKED: {node: do}
        STOPPED: {node: do, prompt: {reference: stopped}}
      nodes:
        do:
          execution: {kind: agent, agent: lead}
          prompt: {reference: do}
          correction_prompt: {reference: fix}
          initialize_records: [status.md]
          records:
            status.md: {mode: continue, gate: updated}
          edges:
            done: {target: {terminal: DONE, promote: current, export_records: [status.md]}}
"""

ACTION = """\
        measure:
          execution: {kind: action, action: shell.run, version: 1}
          input: {script: 'make "$1"', args: [all, {fact: card_id}], timeout_s: 60}
          output_record: status.md
          edges:
            passed: {target: {terminal: DONE, export_records: [status.md]}}
            failed:
              cases:
                - {id: retry, when: {field: exit_code, eq: 75}, target: {node: do}}
                - {id: usage, when: {field: exit_code, gte: 64}, target: {terminal: FAILED}}
              otherwise: {target: {node: do}}
            signalled: {target: {terminal: FAILED}}
            timed_out: {target: {terminal: FAILED}}
"""

PROMPTS = {
    "prompts/agents/_shared/lead.md": "Lead {{cardTitle}}. {{contractDescription}}",
    "prompts/agents/_shared/judge.md": "Judge {{cardId}}. {{contractDescription}}",
} | {
    f"prompts/process/_shared/{name}.md": f"{name} of a {{{{cardType}}}}"
    for name in ("stopped", "steer", "fix", "handoff", "check", "do")
}


def with_action() -> str:
    """The small configuration with an action node in the type `task`."""
    edge = "done: {target: {terminal: DONE, promote: current, export_records: [status.md]}}"
    pending = "passed: {pending_notifications: {node: do, prompt: {reference: handoff}}, "
    return YAML.replace(edge, "go: {target: {node: measure}}") + ACTION.replace("passed: {", pending)


def changed(old: str, new: str, *, source: str = YAML) -> str:
    """The source with one place replaced; the place must be there exactly once."""
    assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times"
    return source.replace(old, new)


def compiled(
    source: str = YAML,
    *,
    prompts: Mapping[str, str] = PROMPTS,
    environment: Mapping[str, str] | None = None,
) -> configuration.Compiled:
    """The compiled configuration of a folder with these files."""
    files = {path: text.encode() for path, text in prompts.items()} | {"workstead.yaml": source.encode()}
    variables = environment or {}
    return configuration.compile_sources(configuration.gather(files.get, variables), variables)


def card_type(name: str, source: str = YAML) -> graph.CardType:
    """One compiled card type."""
    return compiled(source).configuration.card_types[name]


def issues_of(source: str | bytes, *, prompts: Mapping[str, str] = PROMPTS) -> list[str]:
    """Every issue of a folder that must be refused, as `path: message`."""
    raw = source.encode() if isinstance(source, str) else source
    files = {path: text.encode() for path, text in prompts.items()} | {"workstead.yaml": raw}
    with pytest.raises(errors.Refusal) as refusal:
        configuration.compile_sources(configuration.gather(files.get), {})
    assert refusal.value.code == "configuration_invalid"
    return [f"{issue.path}: {issue.message}" for issue in refusal.value.issues]


def line_of(text: str, source: str) -> int:
    """The number of the line in which a text first stands."""
    return source[: source.index(text)].count("\n") + 1
