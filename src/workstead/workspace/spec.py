"""What is to be run, how much it may use, and the value a launcher program gets; no policy, no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypedDict

GIB = 1 << 30

Network = Literal["none", "full"]
Bind = tuple[str, str, int, bool, bool]  # source, target, mount flags, is a folder, must succeed
Mount = tuple[str, str, int, str]  # kind, target, mount flags, options


class Level(StrEnum):
    """How far a command is kept apart from the machine, strongest first (S1)."""

    NAMESPACES = "namespaces"
    LANDLOCK = "landlock"
    USER = "user"
    NONE = "none"

    @property
    def strength(self) -> int:
        """Larger is stronger."""
        return len(Level) - list(Level).index(self)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one command and all its processes may use.

    processes: of the command together (kernels from 6.14; elsewhere only RLIMIT_NPROC, which does not bind
    uid 0). memory_bytes: sum of resident memory, looked at twice a second; half of the machine if that is
    less. data_bytes, file_bytes: per process and per file. disk_floor_bytes: free space under which
    everything is ended.
    """

    processes: int = 512
    memory_bytes: int = 8 * GIB
    data_bytes: int = 4 * GIB
    file_bytes: int = 4 * GIB
    open_files: int = 4096
    disk_floor_bytes: int = GIB


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command for one project folder.

    folder: the project's real path. argv: program and arguments, no shell unless named. cwd: relative to the
    folder. network: `none` is a loopback of its own; `full` is the machine's network. environment: laid over
    the base one. hidden: folders that must not be seen even where a toolchain folder holds them, beside the
    launcher's own.
    """

    folder: Path
    argv: tuple[str, ...]
    cwd: str = ""
    network: Network = "none"
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    hidden: tuple[Path, ...] = ()


class Spec(TypedDict):
    """The marshal value a launcher program reads; built of strings, numbers, lists, tuples and dicts only."""

    server: int
    level: str
    folder: str
    cwd: str
    argv: list[str]
    environment: dict[str, str]
    network: str
    closed_ports: list[int]
    binds: list[Bind]
    mounts: list[Mount]
    masks: list[str]
    links: dict[str, str]
    files: dict[str, str]
    limits: dict[str, int]
    processes: int
    memory_bytes: int
    disk_floor_bytes: int
