"""What both launcher programs do: watch the server, speak to it, become the command; standard library.

A program gets one descriptor with a marshal value (`Spec`), one to write status lines to, one to read the go
byte from. Lines: `init PID START` first; after the go byte `missing WHAT` per lesser measure not to be had; at the
end one of `exit N`, `signal N`, `stopped memory`, `stopped disk`, or `refused WHY` when it was never started.
"""

import errno
import marshal
import os
import resource
import select
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module costs milliseconds of every start
    from workstead.workspace.spec import Spec

GO = b"g"
STATUS_LIMIT_BYTES = 65536
NOT_STARTED = 127
REFUSED = 125


class Line:
    """The two ends that a program holds towards the server."""

    def __init__(self, *, status: int, go: int) -> None:
        self.status = status
        self.go = go
        for end in (status, go):
            os.set_inheritable(end, False)  # noqa: FBT003 - the call knows no keyword

    def say(self, text: str) -> None:
        """Write one status line."""
        say(self.status, text)


def refuse(told: int, error: OSError) -> None:
    """Say why the command was never started."""
    place = f"{error.filename}: " if error.filename else ""
    say(told, f"refused {place}{error.strerror}")


def say(told: int, text: str) -> None:
    """Write one status line to a descriptor."""
    os.write(told, text.encode("utf-8", "replace") + b"\n")


def receive(source: int) -> "Spec":
    """The value the server handed over."""
    with os.fdopen(source, "rb") as file:
        spec: Spec = marshal.load(file)  # noqa: S302 - written by the server for this process alone
    return spec


def server_of(spec: "Spec") -> int:
    """A descriptor that becomes readable when the server ends. Raises OSError when it is gone already."""
    server = os.pidfd_open(spec["server"])
    # After the descriptor is held: the number could have passed to another process before.
    if os.getppid() != spec["server"]:
        raise OSError(errno.ESRCH, "the server is gone")
    return server


def become_owner(spec: "Spec") -> None:
    """A root server's commands run as the owner of the folder."""
    if os.geteuid() != 0:
        return
    owner = os.stat(spec["folder"])
    os.setgroups([])
    os.setresgid(owner.st_gid, owner.st_gid, owner.st_gid)
    os.setresuid(owner.st_uid, owner.st_uid, owner.st_uid)


def announce(line: Line, *, child: int) -> None:
    """Tell the server which process to kill so that nothing is left."""
    with open(f"/proc/{child}/stat") as file:
        started = file.read().rpartition(")")[2].split()[19]
    line.say(f"init {child} {started}")


def guard(line: Line, *, server: int, child: int, gate: int, told: int) -> None:
    """Pass the go byte on, and what the child tells back, until it ends; end it with the server.

    TERM is passed on once the command may run; before that it ends everything.
    """
    running = False

    def passed_on(number: int, _: object) -> None:
        os.kill(child, number if running else signal.SIGKILL)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, passed_on)
    ended = os.pidfd_open(child)
    watched = [server, ended, line.go, told]
    while True:
        ready = select.select(watched, [], [])[0]
        if told in ready and not pass_back(line, told):
            watched.remove(told)
        if ended in ready:
            return
        if server in ready:
            os.kill(child, signal.SIGKILL)
            return
        if line.go not in ready:
            continue
        watched.remove(line.go)
        if os.read(line.go, 1) == GO:
            running = True
            os.write(gate, GO)
        else:
            os.kill(child, signal.SIGKILL)


def pass_back(line: Line, told: int) -> bool:
    """Hand one load of the child's lines to the server; False when there will be no more."""
    lines = os.read(told, STATUS_LIMIT_BYTES)
    os.write(line.status, lines)
    return bool(lines)


def wait_for(gate: int) -> None:
    """Return when the server allowed the command; end this process when it never will."""
    if os.read(gate, 1) != GO:
        os._exit(NOT_STARTED)
    os.close(gate)


def execute(spec: "Spec") -> None:
    """Become the command; end with 127 and a line on stderr when it cannot be found or run."""
    os.setsid()
    os.closerange(3, max(resource.getrlimit(resource.RLIMIT_NOFILE)[0], STATUS_LIMIT_BYTES))
    for name, value in spec["limits"].items():
        kind = getattr(resource, "RLIMIT_" + name)
        ceiling = resource.getrlimit(kind)[1]
        bound = value if ceiling == resource.RLIM_INFINITY else min(value, ceiling)
        resource.setrlimit(kind, (bound, bound))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores both, and a command would inherit that
    name, environment = spec["argv"][0], spec["environment"]
    why = "not found"
    try:
        os.chdir(spec["cwd"])
        # Searched by hand: os.execvpe imports late, from a standard library that may be gone from here.
        for folder in [""] if "/" in name else environment["PATH"].split(":"):
            try:
                os.execve(os.path.join(folder, name), spec["argv"], environment)  # noqa: S606 - our purpose
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                why = os.strerror(error.errno or 0)
    except OSError as error:
        why = f"{spec['cwd']}: {os.strerror(error.errno or 0)}"
    say(2, f"{name}: {why}")
    os._exit(NOT_STARTED)


def ending(status: int) -> str:
    """The status line of a waited-for process."""
    code = os.waitstatus_to_exitcode(status)
    return f"exit {code}" if code >= 0 else f"signal {-code}"


def disk_is_full(spec: "Spec") -> bool:
    """Whether the folder's disk is under the floor of free space."""
    disk = os.statvfs(spec["folder"])
    return disk.f_bavail * disk.f_frsize < spec["disk_floor_bytes"]


def memory_is_used_up(spec: "Spec", pids: list[str]) -> bool:
    """Whether these processes together hold too much memory; those that end meanwhile count nothing."""
    pages = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/statm") as file:
                pages += int(file.read().split()[1])
        except (OSError, IndexError):
            continue
    return pages * resource.getpagesize() > spec["memory_bytes"]
