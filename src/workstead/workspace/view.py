"""What a command sees: the folders bound for it, its environment and its limits, as a spec; starts nothing.

The view is a list of what is allowed. What is not named here does not exist for the command.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workstead.workspace import files, folders, syscalls
from workstead.workspace.spec import Bind, Command, Level, Limits, Mount, Spec

HOME = "/home/agent"
SYSTEM = ("/usr", "/opt")
TOPS = ("/bin", "/sbin", "/lib", "/lib64")
# Not here on purpose: shadow, and pip.conf, npmrc and gitconfig, which may hold credentials.
ETC = (
    "alternatives",
    "ca-certificates",
    "debian_version",
    "fonts",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "protocols",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
    "resolv.conf",
    "services",
    "ssl",
    "terminfo",
)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
CERTIFICATES = ("/etc/ca-certificates", "/etc/ssl")
PASSED = ("NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE", "TZ")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OFFLINE = {"PIP_NO_INDEX": "1", "npm_config_offline": "true"}

_RO = syscalls.READ_ONLY
_BARE = syscalls.NO_SETUID | syscalls.NO_DEVICES
_MOUNTS: list[Mount] = [
    ("proc", "/proc", _BARE, ""),
    ("tmpfs", "/dev", syscalls.NO_SETUID, "mode=755,size=64k"),
    ("devpts", "/dev/pts", syscalls.NO_SETUID | syscalls.NO_EXECUTION, "newinstance,ptmxmode=0666,mode=600"),
    ("tmpfs", "/dev/shm", _BARE, "mode=1777,size=256m"),  # noqa: S108 - inside the view
    ("tmpfs", "/tmp", _BARE, "mode=1777,size=1g"),  # noqa: S108 - inside the view
    ("tmpfs", HOME, _BARE, "mode=700,size=256m"),
]
_LINKS = {
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
    "/dev/ptmx": "pts/ptmx",
    "/var/tmp": "/tmp",  # noqa: S108 - inside the view
}
_FILES = {
    "/etc/passwd": (
        "root:x:0:0::/:/usr/sbin/nologin\n"
        f"agent:x:1000:1000::{HOME}:/bin/sh\n"
        "nobody:x:65534:65534::/:/usr/sbin/nologin\n"
    ),
    "/etc/group": "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
}


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What is the same for every command of one server.

    toolchain: folders bound read-only beside the system's, each at its own path. hidden: folders that no
    command may see (data folder, other projects). closed_ports: TCP ports of this machine kept shut under
    network `full`. environment: what the operator lets through to every command.
    """

    toolchain: tuple[Path, ...] = field(default_factory=lambda: (Path(sys.base_prefix),))
    hidden: tuple[Path, ...] = ()
    closed_ports: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def inherited() -> dict[str, str]:
    """The few variables of the server's environment a command may know: certificates it can see, and the time zone."""
    return {
        name: value
        for name in PASSED
        if (value := os.environ.get(name)) and (name == "TZ" or _under(value, [*SYSTEM, *CERTIFICATES]))
    }


def spec_for(command: Command, *, level: Level, surroundings: Surroundings) -> Spec:
    """The value for a launcher program."""
    folder = str(command.folder)
    binds = _system_binds(surroundings.toolchain)
    visible = [target for _, target, _, _, _ in binds]
    if level is Level.NAMESPACES:
        own, work = f"{folder}/{files.OWN}", f"{folder}/{folders.WORK}"
        binds += [(folder, folder, _BARE, True, True), (own, own, _RO | _BARE, True, True)]
        binds.append((work, work, _BARE, True, True))
    return Spec(
        server=os.getpid(),
        level=level.value,
        folder=folder,
        cwd=os.path.normpath(os.path.join(folder, command.cwd)),
        argv=list(command.argv),
        environment=_environment(command, level=level, visible=visible, surroundings=surroundings),
        network=command.network,
        closed_ports=list(surroundings.closed_ports),
        binds=binds,
        mounts=list(_MOUNTS),
        masks=_masks((*surroundings.hidden, *command.hidden), binds),
        links={top: os.readlink(top) for top in TOPS if os.path.islink(top)} | _LINKS,
        files=dict(_FILES),
        limits=_rlimits(command.limits),
        processes=command.limits.processes,
        memory_bytes=min(command.limits.memory_bytes, _machine_memory_bytes() // 2),
        disk_floor_bytes=command.limits.disk_floor_bytes,
    )


def _system_binds(toolchain: tuple[Path, ...]) -> list[Bind]:
    named = [*SYSTEM, *(top for top in TOPS if not os.path.islink(top)), *(f"/etc/{name}" for name in ETC)]
    named += [str(path) for path in toolchain if not _under(str(path), named)]
    binds: list[Bind] = [
        (os.path.realpath(name), name, _RO | _BARE, os.path.isdir(name), False)
        for name in named
        if os.path.exists(name)
    ]
    binds += [
        (f"/dev/{name}", f"/dev/{name}", syscalls.NO_SETUID, False, False)
        for name in DEVICES
        if os.path.exists(f"/dev/{name}")
    ]
    return binds


def _masks(hidden: tuple[Path, ...], binds: list[Bind]) -> list[str]:
    """Where a bound folder would show what is hidden, in the command's own paths; the launcher program covers it."""
    real = [os.path.realpath(path) for path in hidden]
    return [
        target + path.removeprefix(source)
        for path in real
        for source, target, _, _, _ in binds
        if _under(path, [source])
    ]


def _environment(command: Command, *, level: Level, visible: list[str], surroundings: Surroundings) -> dict[str, str]:
    cache = f"{command.folder}/{folders.WORK}/cache"
    private = level is Level.NAMESPACES
    limited = private or level is Level.LANDLOCK
    home = HOME if private else f"{command.folder}/{folders.WORK}/home"
    names = {f"GIT_{who}_{what}": v for who in ("AUTHOR", "COMMITTER") for what, v in _IDENTITY.items()}
    return {
        "PATH": _path(visible) if limited else os.environ.get("PATH", PATH),
        "HOME": home,
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": "/bin/sh",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TMPDIR": "/tmp" if private else f"{command.folder}/{folders.WORK}/tmp",  # noqa: S108 - inside the view
        "CI": "1",
        "XDG_CACHE_HOME": cache,
        "npm_config_cache": f"{cache}/npm",
        "GIT_TERMINAL_PROMPT": "0",
        **names,
        # Git gives up on a file of the system that it may not read.
        **({"GIT_CONFIG_NOSYSTEM": "1"} if limited else {}),
        **(OFFLINE if command.network == "none" else {}),
        **surroundings.environment,
        **command.environment,
    }


_IDENTITY = {"NAME": "Agent", "EMAIL": "agent@localhost"}


def _path(visible: list[str]) -> str:
    """The server's search path as far as it exists for the command, then the system's and our Python's."""
    wanted = [*os.environ.get("PATH", "").split(":"), *PATH.split(":"), f"{sys.base_prefix}/bin"]
    kept = [folder for folder in wanted if folder.startswith("/") and _under(folder, [*visible, *TOPS])]
    return ":".join(dict.fromkeys(kept))


def _under(path: str, tops: list[str]) -> bool:
    return any(path == top or path.startswith(f"{top}/") for top in tops)


def _rlimits(limits: Limits) -> dict[str, int]:
    return {
        "CORE": 0,
        "NOFILE": limits.open_files,
        "NPROC": limits.processes,
        "FSIZE": limits.file_bytes,
        "DATA": limits.data_bytes,
    }


def _machine_memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
