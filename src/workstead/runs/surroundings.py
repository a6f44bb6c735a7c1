"""Surroundings: what every activation of a run works with, built by hand when the run starts."""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from workstead.accounts.projects import Project
from workstead.agents.models.shape import Transport
from workstead.agents.partials import Partials
from workstead.kernel.effects import Effects
from workstead.kernel.operations import Operations
from workstead.kernel.redaction import Redactor
from workstead.runs.runs import Run
from workstead.work.workflow.graph import CardType, Configuration, Route
from workstead.workspace.files import Folder
from workstead.workspace.processes import Processes


class Gate:
    """The one place where Pause holds a run: before a model call. Tools and commands that run go on."""

    def __init__(self) -> None:
        self._open = anyio.Event()
        self._open.set()
        self.parked = 0
        self.on_park: Callable[[], None] = lambda: None

    @property
    def closed(self) -> bool:
        """Whether calls are held."""
        return not self._open.is_set()

    def close(self) -> None:
        """Hold the next calls."""
        if self._open.is_set():
            self._open = anyio.Event()

    def open(self) -> None:
        """Let them go on."""
        self._open.set()

    async def passed(self) -> None:
        """Return when a call may be made."""
        while self.closed:
            self.parked += 1
            self.on_park()
            try:
                await self._open.wait()
            finally:
                self.parked -= 1


@dataclass(kw_only=True)
class Halt:
    """Why the run stops itself, once it does."""

    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Everything around an activation. transport_of: how a route's provider is asked."""

    run: Run
    project: Project
    configuration: Configuration
    effects: Effects
    operations: Operations
    folder: Folder
    processes: Processes
    redactor: Redactor
    partials: Partials
    gate: Gate
    transport_of: Callable[[Route], Transport]
    halt: Halt = field(default_factory=Halt)

    @property
    def scope(self) -> str:
        """The project's lock scope."""
        return self.project.scope

    def type_of(self, name: str) -> CardType:
        """A card type of the pinned configuration; Run has checked that every card's exists."""
        return self.configuration.card_types[name]
