"""A project's configuration: its sources gathered, compiled, described to whoever must trust them."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workstead import errors
from workstead.work import template, yaml_source
from workstead.work.workflow import compile as compiler
from workstead.work.workflow import graph, prompts

FILE = "workstead.yaml"
MAX_PROMPT_BYTES = 4 * prompts.MAX_PROMPT_CHARS

Reader = Callable[[str], bytes | None]


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Everything a configuration is made of.

    prompts: path to text, of every prompt the YAML selects; `prompts/...` is the project's, `bundled/...`
    comes with the product. problems: what could not be read.
    """

    yaml: bytes
    prompts: Mapping[str, str]
    problems: tuple[errors.Issue, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """A configuration a run may use, and what its author should know about it."""

    configuration: graph.Configuration
    warnings: tuple[str, ...]


def gather(read: Reader, environment: Mapping[str, str] | None = None) -> Sources:
    """The sources of a project, read through `read(path)`, whose paths are relative to `.workstead/`.

    Only the prompts that the YAML selects are read, the project's before the bundled ones. environment: the
    one it will be compiled with, since a variable may stand in a name. Raises not found when there is no
    `workstead.yaml`; whatever else is wrong is reported by `compile_sources`.
    """
    source = read(FILE)
    if source is None:
        raise errors.not_found("configuration", f".workstead/{FILE}")
    shelf = _Shelf(read)
    parsed = yaml_source.parse(source, name=FILE)
    if parsed.root is not None:
        compiler.compile_tree(parsed.root, name=FILE, digest="", lookup=shelf.lookup, environment=environment or {})
    return Sources(yaml=source, prompts=shelf.selected, problems=tuple(shelf.problems))


def compile_sources(sources: Sources, environment: Mapping[str, str]) -> Compiled:
    """The compiled configuration. environment: where `${WORKSTEAD_VAR_NAME}` is read from.

    Raises invalid `configuration_invalid` with every issue, each with file, line and keys.
    """
    parsed = yaml_source.parse(sources.yaml, name=FILE)
    if parsed.root is None:
        raise _invalid((*parsed.issues, *sources.problems))
    outcome = compiler.compile_tree(
        parsed.root,
        name=FILE,
        digest=digest_of(sources),
        lookup=sources.prompts.get,
        environment=environment,
    )
    if outcome.configuration is None or sources.problems:
        raise _invalid((*outcome.issues, *sources.problems))
    return Compiled(configuration=outcome.configuration, warnings=outcome.warnings)


def digest_of(sources: Sources) -> str:
    """SHA-256 over the YAML's bytes and every selected prompt, names and lengths included."""
    digest = hashlib.sha256()
    files = {FILE: sources.yaml} | {path: text.encode() for path, text in sources.prompts.items()}
    for path in sorted(files):
        digest.update(f"{len(path.encode())}:{path}:{len(files[path])}:".encode())
        digest.update(files[path])
    return digest.hexdigest()


def needs_trust(configuration: graph.Configuration) -> tuple[str, ...]:
    """What a person accepts by trusting a folder's configuration (S2), a line each.

    None when it asks for nothing: practice answers, commands have no network, nothing is started.
    """
    providers = configuration.providers.values()
    lines = [_provider_line(each) for each in providers if each.kind is not graph.ProviderKind.PRACTICE]
    lines += [
        f"The agent `{agent.name}` may reach the network with its commands."
        for agent in configuration.agents.values()
        if agent.network is graph.Network.FULL
    ]
    for card_type in configuration.card_types.values():
        for node in card_type.workflow.nodes.values():
            if isinstance(node, graph.ActionNode):
                lines.append(_action_line(f"The step `{node.name}` of `{card_type.name}` cards", node.input))
        hook = card_type.workflow.after_activation_commit
        if hook is not None:
            lines.append(_action_line(f"The hook after `{card_type.name}` cards", hook.input))
    lines += [_server_line(server) for server in configuration.outside_servers.values()]
    return tuple(lines)


class _Shelf:
    """Reads each prompt once and remembers the ones that were there."""

    def __init__(self, read: Reader) -> None:
        self.selected: dict[str, str] = {}
        self.problems: list[errors.Issue] = []
        self._read = read
        self._absent: set[str] = set()

    def lookup(self, path: str) -> str | None:
        """The text of a prompt, None when there is none."""
        if path in self._absent:
            return None
        if path not in self.selected:
            source = template.read_bundled(path) if path.startswith(prompts.BUNDLED_PREFIX) else self._read(path)
            if source is None:
                self._absent.add(path)
                return None
            self.selected[path] = self._decoded(path, source)
        return self.selected[path]

    def _decoded(self, path: str, source: bytes) -> str:
        if len(source) > MAX_PROMPT_BYTES:
            self._problem(path, f"The prompt has {len(source)} bytes; at most {MAX_PROMPT_BYTES} are read.")
            return ""
        try:
            text = source.decode("utf-8-sig")
        except UnicodeDecodeError:
            self._problem(path, "The prompt is not UTF-8; save the file as UTF-8.")
            return ""
        if "\0" in text:
            self._problem(path, "The prompt holds a NUL; it must be plain text.")
        return text

    def _problem(self, path: str, message: str) -> None:
        self.problems.append(errors.Issue(path=path, message=message))


def _invalid(issues: tuple[errors.Issue, ...]) -> errors.Refusal:
    mistakes = "one mistake" if len(issues) == 1 else f"{len(issues)} mistakes"
    message = f"The project's configuration has {mistakes}; first {issues[0].path}: {issues[0].message}"
    return errors.invalid("configuration_invalid", message, issues=issues)


def _provider_line(provider: graph.Provider) -> str:
    key = f" with the key `{provider.key.source}:{provider.key.name}`" if provider.key else " without a key"
    who = f"The provider `{provider.name}` ({provider.kind})"
    return f"{who} sends the project's texts to {provider.base_url}{key}."


def _action_line(what: str, run: graph.ShellRun) -> str:
    network = "with the network" if run.network is graph.Network.FULL else "without network"
    arguments = " ".join(f"<{arg}>" if isinstance(arg, graph.CardFact) else repr(arg) for arg in run.args)
    settings = " ".join(f"{name}={value!r}" for name, value in run.env.items())
    given = "".join(
        f", {label} {text}" for label, text in (("arguments", arguments), ("environment", settings)) if text
    )
    return f"{what} runs, {network}, in `{run.cwd}`{given}: {run.script.strip()}"


def _server_line(server: graph.OutsideServer) -> str:
    target = server.url or " ".join(server.command)
    return f"The outside server `{server.name}` is proposed, disabled until somebody enables it: {target}"
