"""What the handlers of work are built with, and a caller as the admission rules see it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from workstead import errors
from workstead.accounts import projects
from workstead.accounts.projects import Project
from workstead.kernel.access import Agent, Anonymous, Caller
from workstead.kernel.operations import Door, Input, WriteInput
from workstead.kernel.transaction import Tx
from workstead.work import cards
from workstead.work.cards import Card, CardRow
from workstead.work.workflow import admission
from workstead.work.workflow.graph import AgentNode, AgentSpec, CardType, Configuration

EVERY_DOOR = frozenset({Door.AGENT, Door.CLI, Door.MCP, Door.PAGE, Door.REST})
PEOPLES_DOORS = EVERY_DOOR - {Door.AGENT}
OWNERS_DOORS = frozenset({Door.CLI, Door.PAGE, Door.REST})

_PROJECT = Field(min_length=1, max_length=200, description="The project's id or short name.")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the program hands to the handlers.

    configuration_of: the configuration a caller's change must follow. resting: whether no run of the project is going,
    or it is paused. data_folder: where Workstead keeps its own files.
    """

    configuration_of: Callable[[Tx, Caller, Project], Configuration]
    resting: Callable[[Tx, Project], bool]
    data_folder: Path


class ProjectRead(Input):
    """A read inside a project."""

    project: str = _PROJECT


class ProjectWrite(WriteInput):
    """A write inside a project."""

    project: str = _PROJECT


def lock(tx: Tx, args: ProjectRead | ProjectWrite) -> str | None:
    """The scope of the project that the input names."""
    return projects.scope_of(tx, args.project)


def actor(setting: Rules, tx: Tx, caller: Caller, *, project: Project, configuration: Configuration) -> admission.Actor:
    """The caller as admission sees it: an agent plans under its own card, everybody else acts for a person.

    A card type an agent may create or start is compiled into the nodes it works at.
    """
    if not isinstance(caller, Agent):
        return admission.Person(ready=setting.resting(tx, project))
    found = _own_type(tx, caller, project, configuration)
    nodes = [
        node
        for node in (found.workflow.nodes.values() if found is not None else ())
        if isinstance(node, AgentNode) and node.agent == caller.name
    ]
    return admission.Planner(
        card_id=caller.card_id,
        creatable_types=tuple(dict.fromkeys(name for node in nodes for name in node.creatable_types)),
        activatable_types=tuple(dict.fromkeys(name for node in nodes for name in node.activatable_types)),
    )


def agent_spec(configuration: Configuration, caller: Agent) -> AgentSpec:
    """The agent as its run's configuration has it; raises denied when it has none of that name."""
    found = configuration.agents.get(caller.name)
    if found is None:
        raise errors.denied("agent_unknown", f"The configuration of this run has no agent {caller.name!r}.")
    return found


def card_type(configuration: Configuration, name: str) -> CardType:
    """A card type; raises conflict when the configuration no longer has it."""
    found = configuration.card_types.get(name)
    if found is None:
        message = f"The project's configuration has no card type {name!r} any more; add it again."
        raise errors.conflict("card_type_unknown", message, card_type=name)
    return found


def of_card(one: Card | CardRow) -> admission.Card:
    """A card as admission sees it."""
    return admission.Card(card_id=one.id, card_type=one.type, status=one.status, depends_on=one.depends_on)


def signed_in(caller: Caller) -> Caller:
    """The caller, who must be somebody; raises `unauthenticated`."""
    if isinstance(caller, Anonymous):
        raise errors.unauthenticated()
    return caller


def _own_type(tx: Tx, caller: Agent, project: Project, configuration: Configuration) -> CardType | None:
    own = cards.row(tx, project.id, caller.card_id)
    return configuration.card_types.get(own.type) if own is not None else None
