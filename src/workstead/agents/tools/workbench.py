"""The workbench of one node task: everything its tools work with, handed in by whoever runs the node."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from anyio.abc import TaskGroup

from workstead.agents.tools.tool import Acted, CallSite
from workstead.kernel import scopes
from workstead.kernel.canonical import Json
from workstead.kernel.effects import Effects
from workstead.kernel.operations import Operations
from workstead.kernel.redaction import Redactor
from workstead.work.workflow.graph import AgentSpec
from workstead.workspace.files import Folder
from workstead.workspace.processes import Processes


@dataclass(frozen=True, kw_only=True)
class Activation:
    """What `activate_card` asks for. instructions: kept byte for byte."""

    card_id: str
    instructions: str


@dataclass(frozen=True, kw_only=True)
class Workbench:
    """One agent at one node of one card.

    folder: stays open as long as the node task. redactor: hides the instance's secrets in what files and commands
    show. activate: runs a child card and returns when it has settled. group: the activation's task group; its end ends
    every process started in it.
    """

    spec: AgentSpec
    project_id: str
    card_id: str
    folder: Folder
    processes: Processes
    operations: Operations
    effects: Effects
    redactor: Redactor
    activate: Callable[[CallSite, Activation], Awaitable[Acted]]
    group: TaskGroup

    @property
    def scope(self) -> str:
        """The lock scope of the project."""
        return scopes.project(self.project_id)

    def clean(self, text: str) -> str:
        """The text as an agent may read it: without exact secrets and our own credentials (S21, third kind)."""
        return self.redactor.exact(text).text

    def shown(self, value: Json) -> Json:
        """A whole value as an agent may read it."""
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, list):
            return [self.shown(child) for child in value]
        if isinstance(value, dict):
            return {key: self.shown(child) for key, child in value.items()}
        return value
