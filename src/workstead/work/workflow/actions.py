"""Compiles what commands do in a graph: the action `shell.run`, its outcomes, the hook at the end."""

from collections.abc import Mapping

from workstead.work.workflow import grammar, graph
from workstead.work.workflow.reading import At

SHELL_RUN = "shell.run"
VERSION = 1

# Each outcome with the whole-number fields its cases may test.
OUTCOMES: dict[str, tuple[str, ...]] = {
    "passed": (),
    "failed": ("exit_code",),
    "signalled": ("signal",),
    "timed_out": (),
}

MAX_CASES = 8
MAX_LIST = 256
MAX_ARTIFACTS = 16
MAX_ENV = 32
MAX_INPUT_BYTES = 64 * 1024
_MAX_SCRIPT_BYTES = 4096


def read_shell(action: At | None, version: At | None, given: At | None) -> graph.ShellRun:
    """The input of `shell.run` version 1, the only action there is."""
    if action is not None and action.text() not in ("", SHELL_RUN):
        action.fail(f"There is no such action; the only one is `{SHELL_RUN}`.")
    if version is not None:
        version.integer(minimum=VERSION, maximum=VERSION)
    fields: dict[str, At] = {}
    if given is not None:
        optional = ["args", "cwd", "env", "artifacts", "timeout_s", "grace_s", "network"]
        fields = given.fields(["script"], optional)
    run = graph.ShellRun(
        script=fields["script"].text(max_bytes=_MAX_SCRIPT_BYTES) if "script" in fields else "",
        args=_args(fields.get("args")),
        cwd=_cwd(fields.get("cwd")),
        env=_env(fields.get("env")),
        artifacts=_artifacts(fields.get("artifacts")),
        timeout_s=fields["timeout_s"].integer(minimum=1, maximum=600) if "timeout_s" in fields else 120,
        grace_s=fields["grace_s"].integer(minimum=0, maximum=10) if "grace_s" in fields else 2,
        network=_network(fields.get("network")),
    )
    if given is not None and _size_bytes(run) > MAX_INPUT_BYTES:
        given.fail(f"All values of the input together may have {MAX_INPUT_BYTES} bytes at most.")
    return run


def read_hook(at: At | None) -> graph.Hook | None:
    """The command after a committed outcome."""
    if at is None:
        return None
    fields = at.fields(["action", "version", "input", "statuses"])
    statuses: tuple[graph.Terminal, ...] = ()
    if "statuses" in fields:
        items = fields["statuses"].items()
        statuses = tuple(item.choice(graph.Terminal, default=graph.Terminal.DONE) for item in items)
        if not statuses:
            fields["statuses"].fail("Name at least one of `DONE`, `BLOCKED`, `FAILED`.")
    run = read_shell(fields.get("action"), fields.get("version"), fields.get("input"))
    return graph.Hook(input=run, statuses=frozenset(statuses))


def read_test(at: At | None, outcome: str) -> tuple[str, graph.Comparison, int]:
    """Field, comparison and number of a case, as in `when: {field: exit_code, eq: 1}`."""
    fallback = ("", graph.Comparison.EQ, 0)
    if at is None:
        return fallback
    fields = at.fields(["field"], [test.value for test in graph.Comparison])
    known = dict.fromkeys(OUTCOMES.get(outcome, ()))
    field = fields["field"].text() if "field" in fields else ""
    if field and fields["field"].missing(field, f"field of the outcome `{outcome}`,", known):
        return fallback
    tests = [test for test in graph.Comparison if test.value in fields]
    if len(tests) != 1:
        at.fail("A case has exactly one test: `eq`, `gt`, `gte`, `lt` or `lte` with a whole number.")
        return fallback
    return field, tests[0], fields[tests[0].value].integer(minimum=-(2**53), maximum=2**53)


def _args(at: At | None) -> tuple[str | graph.CardFact, ...]:
    if at is None:
        return ()
    items = at.items()
    if len(items) > MAX_LIST:
        at.fail(f"A list may have {MAX_LIST} items at most.")
    return tuple(_arg(item) for item in items[:MAX_LIST])


def _arg(at: At) -> str | graph.CardFact:
    if not at.holds_mapping():
        return at.any_text()
    fields = at.fields(["fact"])
    return fields["fact"].choice(graph.CardFact, default=graph.CardFact.CARD_ID) if "fact" in fields else ""


def _cwd(at: At | None) -> str:
    if at is None:
        return "."
    text = at.text()
    return text if text == "." else at.name(grammar.RELATIVE_PATH)


def _env(at: At | None) -> Mapping[str, str]:
    if at is None:
        return {}
    named = at.named(grammar.ENV_NAME)
    if len(named) > MAX_ENV:
        at.fail(f"An action may set {MAX_ENV} variables at most.")
    return {name: value.any_text() for name, value in named.items()}


def _artifacts(at: At | None) -> tuple[str, ...]:
    if at is None:
        return ()
    paths = at.names(grammar.RELATIVE_PATH)
    if len(paths) > MAX_ARTIFACTS:
        at.fail(f"An action may name {MAX_ARTIFACTS} artifacts at most.")
    return paths


def _network(at: At | None) -> graph.Network:
    return graph.Network.NONE if at is None else at.choice(graph.Network, default=graph.Network.NONE)


def _size_bytes(run: graph.ShellRun) -> int:
    texts = [run.script, run.cwd, *map(str, run.args), *run.env, *run.env.values(), *run.artifacts]
    return sum(len(text.encode()) for text in texts)
