"""Compiles a source tree into one configuration, or into every reason why it cannot be."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from workstead import errors
from workstead.work import yaml_source
from workstead.work.workflow import budgets, card_types, compaction, graph, participants
from workstead.work.workflow.prompts import Library, Lookup
from workstead.work.workflow.reading import At, Problems

FORMAT = 1

_REQUIRED = ("format", "agents", "models", "providers", "card_types")
_OPTIONAL = ("analyst_agent", "budgets", "compaction", "oversight", "outside_servers")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A configuration when there are no issues; warnings either way."""

    configuration: graph.Configuration | None
    issues: tuple[errors.Issue, ...]
    warnings: tuple[str, ...]


def compile_tree(
    root: yaml_source.Node, *, name: str, digest: str, lookup: Lookup, environment: Mapping[str, str]
) -> Outcome:
    """Read and check everything.

    name: of the source, for the issues' paths. digest: of all sources, kept in the result. lookup: the text
    of a prompt by its path, None when there is none. environment: where `${WORKSTEAD_VAR_NAME}` is read from.
    """
    problems = Problems(name, environment)
    configuration = _configuration(At(root, "", problems), problems, digest=digest, lookup=lookup)
    issues = tuple(problems.issues)
    return Outcome(configuration=None if issues else configuration, issues=issues, warnings=tuple(problems.warnings))


def _configuration(at: At, problems: Problems, *, digest: str, lookup: Lookup) -> graph.Configuration:
    library = Library(lookup, problems)
    fields = at.fields(_REQUIRED, _OPTIONAL)
    if "format" in fields:
        fields["format"].integer(minimum=FORMAT, maximum=FORMAT)
    models = participants.read_models(fields.get("models"), fields.get("providers"))
    shortening = compaction.read(fields.get("compaction"), models.providers)
    agents: dict[str, participants.Agent] = {}
    if "agents" in fields:
        agents = participants.read_agents(fields["agents"], routes=models.routes, library=library)
    types: dict[str, graph.CardType] = {}
    if "card_types" in fields:
        types = card_types.read_card_types(fields["card_types"], agents=agents, library=library)
    return graph.Configuration(
        digest=digest,
        agents={name: agent.spec for name, agent in agents.items()},
        routes={name: replace(route, used=shortening.used) for name, route in models.routes.items()},
        providers=models.providers,
        card_types=types,
        analyst_agent=participants.read_global_agent(fields.get("analyst_agent"), agents),
        oversight=participants.read_oversight(fields.get("oversight"), agents),
        outside_servers=participants.read_servers(fields.get("outside_servers")),
        variables=tuple(sorted(problems.variables)),
        compaction=shortening,
        budgets=budgets.read(fields.get("budgets"), agents),
    )
