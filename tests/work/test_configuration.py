"""A project's sources: gathered, digested, expanded, compiled, described for trust."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from work import folder
from workstead import errors
from workstead.work import configuration
from workstead.work.workflow import graph

_OUTSIDE = """\
providers:
  house:
    kind: openai-chat
    base_url: https://llm.example/v1
    key: secret:house
    models: [big]
outside_servers:
  tracker: {command: [npx, tracker]}
  wiki: {url: "https://wiki.example/mcp"}
"""


def _files(source: str | bytes = folder.YAML) -> dict[str, bytes]:
    raw = source.encode() if isinstance(source, str) else source
    return {path: text.encode() for path, text in folder.PROMPTS.items()} | {"workstead.yaml": raw}


@pytest.mark.covers("W01")
def test_a_folder_compiles_into_one_configuration() -> None:
    """Duty: W01, one compiled immutable artifact."""
    compiled = folder.compiled()
    assert compiled.warnings == ()
    assert list(compiled.configuration.card_types) == ["project", "task"]
    assert compiled.configuration.card_types["task"].bootstrap_record == "brief.md"
    with pytest.raises(AttributeError):
        compiled.configuration.digest = ""  # type: ignore[misc]


def test_a_folder_without_the_file_is_not_found() -> None:
    """Duty: our decision; the refusal says which file is missing."""
    with pytest.raises(errors.Refusal) as refusal:
        configuration.gather(lambda _path: None)
    assert refusal.value.code == "configuration_not_found"
    assert ".workstead/workstead.yaml" in str(refusal.value)


@pytest.mark.covers("W01")
@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b"format: 1\nagents: \xff\n", "workstead.yaml:2"),
        (b"format: 1\n\n\0", "workstead.yaml:3"),
        (b"a: &a [x]\nb: [*a, *a]\n", "workstead.yaml:1"),
        (b"#" * (2 * 1024 * 1024), "workstead.yaml:1"),
        (b"[" * 40 + b"]" * 40, "workstead.yaml:1"),
        (b"- just\n- a list\n", "workstead.yaml:1"),
        (b"", "workstead.yaml:1"),
    ],
)
def test_hostile_bytes_are_refused_with_a_line(raw: bytes, path: str) -> None:
    """Duty: quality.md, bad input."""
    issues = folder.issues_of(raw)
    assert issues[0].startswith(f"{path}:") or issues[0].startswith(f"{path} ")


def test_the_refusal_says_how_many_mistakes_there_are_and_the_first_one() -> None:
    """Duty: house style 28; a person can act on the sentence alone."""
    source = folder.changed("max_tokens: 4096", "max_tokens: none")
    source = folder.changed("reference: judge}", "reference: jude}", source=source)
    sources = configuration.gather(_files(source).get)
    with pytest.raises(errors.Refusal) as refusal:
        configuration.compile_sources(sources, {})
    assert str(refusal.value).startswith("The project's configuration has 2 mistakes; first workstead.yaml:")


_TOKENS = re.compile(r"[a-zA-Z0-9_.-]+|[{}\[\],:]|\n *")


@pytest.mark.covers("W01", "W05")
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_source_broken_anywhere_is_compiled_or_refused_with_issues_and_never_fails(data: st.DataObject) -> None:
    """Duty: quality.md, bad input; a mistake of a person is never an internal error."""
    source = folder.with_action()
    tokens = list(_TOKENS.finditer(source))
    for _ in range(data.draw(st.integers(min_value=1, max_value=3))):
        where = data.draw(st.sampled_from(tokens))
        other = data.draw(
            st.sampled_from(["", "[]", "{}", "~", "7", "true", "''", "x", *{token[0] for token in tokens}])
        )
        source = source[: where.start()] + other + source[where.end() :]
        tokens = list(_TOKENS.finditer(source))
    files = _files(source)
    try:
        configuration.compile_sources(configuration.gather(files.get), {})
    except errors.Refusal as refusal:
        issues = refusal.issues
        assert issues
        assert all(issue.path.startswith(("workstead.yaml:", "prompts/")) for issue in issues)


# --- Prompts -----------------------------------------------------------------------------------------


@pytest.mark.covers("W01", "W06")
def test_a_prompt_of_the_card_type_stands_before_a_shared_one_and_that_before_the_bundled_one() -> None:
    """Duty: facts 4.11; first existing wins."""
    prompts = {path: text for path, text in folder.PROMPTS.items() if not path.endswith("/fix.md")}
    source = folder.YAML.replace("correction_prompt: {reference: fix}", "correction_prompt: {reference: correct-plan}")

    def paths(extra: dict[str, str]) -> list[str]:
        types = folder.compiled(source, prompts=prompts | extra).configuration.card_types
        nodes = [types["project"].workflow.nodes["steer"], types["task"].workflow.nodes["do"]]
        return [node.correction_prompt.path for node in nodes if isinstance(node, graph.AgentNode)]

    own = {"prompts/process/task/correct-plan.md": "Mine."}
    shared = {"prompts/process/_shared/correct-plan.md": "Ours."}
    bundled = "bundled/prompts/process/_shared/correct-plan.md"
    assert paths({}) == [bundled, bundled]
    assert paths(own) == [bundled, *own]
    assert paths(own | shared) == [*shared, *own]


@pytest.mark.covers("W01")
@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("prompts/agents/_shared/lead.md", "Lead.", "exactly once"),
        ("prompts/agents/_shared/lead.md", "{{contractDescription}} {{contractDescription}}", "exactly once"),
        ("prompts/process/_shared/do.md", "Do {{cardTitle}}.", "`{{cardTitle}}` is not filled in"),
        ("prompts/process/_shared/do.md", "  \n", "is empty"),
        ("prompts/process/_shared/do.md", "{{> nothing}} here", "prompts/fragments/_shared/nothing.md"),
        ("prompts/process/_shared/do.md", "x" * 70_000, "65536 characters"),
        ("prompts/process/_shared/do.md", "a\0b", "NUL"),
    ],
)
def test_a_mistake_in_a_prompt_is_named_with_its_file(path: str, text: str, words: str) -> None:
    """Duty: W05, useful errors; a prompt used at many nodes is named once."""
    issues = folder.issues_of(folder.YAML, prompts=folder.PROMPTS | {path: text})
    assert len([issue for issue in issues if issue.startswith(path) and words in issue]) == 1, issues


def test_a_prompt_that_is_not_utf8_is_named_with_its_file() -> None:
    """Duty: quality.md, bad input."""
    sources = configuration.gather((_files() | {"prompts/process/_shared/do.md": b"\xff\xfe"}).get)
    with pytest.raises(errors.Refusal) as refusal:
        configuration.compile_sources(sources, {})
    assert "prompts/process/_shared/do.md" in [issue.path for issue in refusal.value.issues]


@pytest.mark.covers("W06")
def test_a_fragment_is_included_one_level_deep() -> None:
    """Duty: facts 4.11; includes go one level."""
    prompts = folder.PROMPTS | {
        "prompts/process/_shared/do.md": "Do it.\n\n{{> rules}}\n\nThen stop.",
        "prompts/fragments/_shared/rules.md": "<!-- for people -->\nBe kind to {{cardType}} cards.",
    }
    node = folder.compiled(prompts=prompts).configuration.card_types["task"].workflow.nodes["do"]
    assert isinstance(node, graph.AgentNode)
    assert node.prompt.text == "Do it.\n\nBe kind to task cards.\n\nThen stop."
    deeper = prompts | {
        "prompts/fragments/_shared/rules.md": "{{> more}}",
        "prompts/fragments/_shared/more.md": "x",
    }
    assert any("A fragment includes no other" in issue for issue in folder.issues_of(folder.YAML, prompts=deeper))


# --- Variables and keys ------------------------------------------------------------------------------


@pytest.mark.covers("W01")
def test_a_variable_is_replaced_and_keeps_the_type_of_what_it_holds() -> None:
    """Duty: S2, `${WORKSTEAD_VAR_NAME}` only."""
    route_text = """
      candidates: [practice]
      temperature: ${WORKSTEAD_VAR_HEAT}
      max_tokens: ${WORKSTEAD_VAR_MOST}
"""
    source = folder.changed(" {candidates: [practice], max_tokens: 4096}\n", route_text)
    environment = {"WORKSTEAD_VAR_HEAT": "0.5", "WORKSTEAD_VAR_MOST": "100", "WORKSTEAD_VAR_UNUSED": "x"}
    compiled = folder.compiled(source, environment=environment)
    route = compiled.configuration.routes["think"]
    assert (route.temperature, route.max_tokens) == (0.5, 100)
    assert compiled.configuration.variables == ("WORKSTEAD_VAR_HEAT", "WORKSTEAD_VAR_MOST")


def test_a_variable_may_name_a_prompt() -> None:
    """Duty: our decision; sources are gathered with the environment they are compiled with."""
    source = folder.changed("prompt: {reference: do}", "prompt: {reference: '${WORKSTEAD_VAR_HOW}'}")
    compiled = folder.compiled(source, environment={"WORKSTEAD_VAR_HOW": "do"})
    node = compiled.configuration.card_types["task"].workflow.nodes["do"]
    assert isinstance(node, graph.AgentNode)
    assert node.prompt.text == "do of a task"


@pytest.mark.covers("W01")
def test_a_missing_variable_is_empty_and_warned_about() -> None:
    """Duty: spec; a missing reference is an empty string with an advisory warning that holds no value."""
    source = folder.changed("timeout_s: 60", "env: {MODE: '${WORKSTEAD_VAR_MODE}'}", source=folder.with_action())
    compiled = folder.compiled(source)
    node = compiled.configuration.card_types["task"].workflow.nodes["measure"]
    assert isinstance(node, graph.ActionNode)
    assert node.input.env == {"MODE": ""}
    (warning,) = compiled.warnings
    assert warning.startswith(f"workstead.yaml:{folder.line_of('WORKSTEAD_VAR_MODE', source)} ")
    assert "WORKSTEAD_VAR_MODE is not set" in warning


@pytest.mark.covers("W01", "K19")
@pytest.mark.parametrize(
    "reference", ["${HOME}", "${OPENAI_API_KEY}", "${WORKSTEAD_DATA}", "${WORKSTEAD_VAR_a}", "${}"]
)
def test_no_other_variable_is_ever_read(reference: str) -> None:
    """Duty: S2; a folder must not read the server's environment."""
    source = folder.changed("kind: practice,", f"kind: anthropic, base_url: 'https://h/{reference}',")
    issues = folder.issues_of(source)
    assert [issue for issue in issues if f"`{reference}` is not read; only `${{WORKSTEAD_VAR_NAME}}`" in issue]


@pytest.mark.covers("W01")
def test_record_starters_compaction_keys_and_scripts_are_literal() -> None:
    """Duty: facts 4, never in record templates or compaction keys; a script's `${...}` is the shell's."""
    source = folder.changed('"# {{cardTitle}}"', '"${HOME}"', source=folder.with_action())
    source = folder.changed("""'make "$1"'""", "'echo ${HOME}'", source=source)
    redo = "redo: {target: {node: steer}, prompt: {reference: handoff"
    source = folder.changed(redo, f"{redo}, compactable: false, compaction_key: '${{K}}'", source=source)
    types = folder.compiled(source, environment={"HOME": "/root", "K": "x"}).configuration.card_types
    measure, check = types["task"].workflow.nodes["measure"], types["project"].workflow.nodes["check"]
    assert isinstance(measure, graph.ActionNode)
    assert isinstance(check, graph.AgentNode)
    prompt = check.edges["redo"].prompt
    assert prompt is not None
    assert prompt.key == "${K}"
    assert measure.input.script == "echo ${HOME}"
    assert types["task"].records["status.md"].initialization == "${HOME}"


@pytest.mark.covers("K19")
@pytest.mark.parametrize("key", ["${WORKSTEAD_VAR_KEY}", "sk-live-1234567890", "secret:", "env:lower", "file:/etc"])
def test_a_key_is_named_and_never_interpolated(key: str) -> None:
    """Duty: S2; `key: secret:NAME` or `env:NAME`."""
    source = folder.changed("kind: practice,", f"kind: anthropic, base_url: 'https://h', key: '{key}',")
    assert [issue for issue in folder.issues_of(source) if "providers.practice.key" in issue and "secret:NAME" in issue]


# --- Digest and trust --------------------------------------------------------------------------------


@pytest.mark.covers("K19")
def test_the_digest_follows_every_selected_byte_and_no_other() -> None:
    """Duty: S2; a person accepts a digest, so nothing that a run uses may change below it."""
    files = _files()
    first = configuration.gather(files.get)
    unused = files | {"prompts/process/_shared/unused.md": b"x"}
    edited = files | {"prompts/process/_shared/do.md": b"Do it otherwise."}
    moved = files | {"prompts/process/task/do.md": files["prompts/process/_shared/do.md"]}
    remark = files | {"workstead.yaml": files["workstead.yaml"] + b"# remark\n"}
    digest = configuration.digest_of(first)
    assert digest == folder.compiled().configuration.digest
    assert configuration.digest_of(configuration.gather(unused.get)) == digest
    others = {configuration.digest_of(configuration.gather(each.get)) for each in (edited, moved, remark)}
    assert len(others | {digest}) == 4


@pytest.mark.covers("K19")
def test_practice_without_network_asks_for_no_trust() -> None:
    """Duty: S2; what reaches nothing needs no yes."""
    assert configuration.needs_trust(folder.compiled().configuration) == ()


@pytest.mark.covers("K19")
def test_everything_that_reaches_out_or_runs_is_put_before_the_person() -> None:
    """Duty: S2; providers, addresses, keys, commands of action nodes, outside servers, open networks."""
    old = "    network: none\n    can_create"
    source = folder.changed(old, old.replace("none", "full"), source=folder.with_action())
    source = folder.changed("providers:\n", _OUTSIDE.split("outside_servers", maxsplit=1)[0], source=source)
    source += "outside_servers" + _OUTSIDE.split("outside_servers")[1]
    lines = configuration.needs_trust(folder.compiled(source).configuration)
    key = "`secret:house`"
    address, arguments = "https://llm.example/v1", "arguments 'all' <card_id>"
    assert lines == (
        f"The provider `house` (openai-chat) sends the project's texts to {address} with the key {key}.",
        "The agent `lead` may reach the network with its commands.",
        f'The step `measure` of `task` cards runs, without network, in `.`, {arguments}: make "$1"',
        "The outside server `tracker` is proposed, disabled until somebody enables it: npx tracker",
        "The outside server `wiki` is proposed, disabled until somebody enables it: https://wiki.example/mcp",
    )
