"""The program that runs one command without namespaces (`landlock`, `user`, `none`) and ends all of it.

`landlock` closes files, TCP ports, abstract sockets and signals to the outside; it hides no processes, path
sockets or System V memory, cannot protect `.workstead/`, and governs no UDP: each is said as `missing`.
`user` is the folder's owner under a root server; `none` is nothing.

Two processes see to the end: the monitor and the keeper it forks adopt every descendant. The keeper ends them
when the command ends or the monitor is gone, the monitor ends them when the keeper is gone.
"""

import errno
import os
import signal

from workstead.workspace import monitor, syscalls

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module costs milliseconds of every start
    from workstead.workspace.spec import Spec

WATCH_EVERY_S = 0.5
EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHARACTER_DEVICE, MAKE_BLOCK_DEVICE, CONTROL_DEVICE = 1 << 6, 1 << 11, 1 << 15
EVERYTHING = (1 << 16) - 1
IN_FOLDER = EVERYTHING & ~(MAKE_CHARACTER_DEVICE | MAKE_BLOCK_DEVICE | CONTROL_DEVICE)
TO_LOOK = EXECUTE | READ_FILE | READ_FOLDER
TO_READ = EXECUTE | READ_FILE
DEVICE = READ_FILE | WRITE_FILE
PLAIN = ("/proc", "/etc/passwd", "/etc/group")
LANDLOCK_MISSES = (
    "protection of .workstead/",
    "a view of its own of processes, path sockets and System V memory",
    "a closed network for UDP",
)


def main(source: int, status: int, go: int) -> None:
    """Run the command of a spec; `monitor` says what is read from and written to the descriptors."""
    line = monitor.Line(status=status, go=go)
    spec = monitor.receive(source)
    try:
        server = monitor.server_of(spec)
        _admit(spec)
        monitor.become_owner(spec)
        syscalls.adopt_orphans()
        _make_places(spec)
    except OSError as error:
        monitor.refuse(line.status, error)
        return
    gate, told = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        for end in (gate[1], told[0], server, line.status, line.go):
            os.close(end)
        _keep(spec, gate=gate[0], told=told[1])
    for end in (gate[0], told[1]):
        os.close(end)
    monitor.announce(line, child=child)
    monitor.guard(line, server=server, child=child, gate=gate[1], told=told[0])
    _sweep()
    while monitor.pass_back(line, told[0]):
        pass


def _admit(spec: "Spec") -> None:
    if spec["level"] == "landlock" and syscalls.landlock_abi() < syscalls.LANDLOCK_SCOPES_ABI:
        raise OSError(errno.ENOSYS, "Landlock 6 is not to be had from this kernel")
    if spec["level"] == "user" and os.geteuid() != 0:
        raise OSError(errno.EPERM, "only a root server can run a command as another user")
    if spec["level"] == "user" and os.stat(spec["folder"]).st_uid == 0:
        raise OSError(errno.EPERM, "the folder belongs to root, as the server does")


def _make_places(spec: "Spec") -> None:
    for name in ("HOME", "TMPDIR"):
        os.makedirs(spec["environment"][name], mode=0o700, exist_ok=True)


def _keep(spec: "Spec", *, gate: int, told: int) -> None:
    """Run the command and end everything it leaves behind."""
    handled = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1}
    signal.signal(signal.SIGUSR1, lambda *_: _leave())
    syscalls.die_with_parent(signal.SIGUSR1)  # before the gate: a monitor that is gone already cannot open it
    signal.pthread_sigmask(signal.SIG_BLOCK, handled)
    monitor.wait_for(gate)
    try:
        syscalls.adopt_orphans()
        leader = os.fork()
        if leader == 0:
            _become_command(spec, told, handled)
    except OSError as error:
        monitor.refuse(told, error)
        os._exit(monitor.REFUSED)
    for number in handled - {signal.SIGUSR1}:
        signal.signal(number, lambda got, _: _pass_on(got))
    signal.signal(signal.SIGALRM, lambda *_: _watch(spec, told))
    signal.setitimer(signal.ITIMER_REAL, WATCH_EVERY_S, WATCH_EVERY_S)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, handled)
    while True:
        pid, status = os.wait()
        if pid == leader:
            monitor.say(told, monitor.ending(status))
            _leave()


def _become_command(spec: "Spec", told: int, handled: set[signal.Signals]) -> None:
    try:
        _fence(spec, told)
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, handled)
        monitor.execute(spec)
    except OSError as error:
        monitor.refuse(told, error)
    os._exit(monitor.NOT_STARTED)


def _fence(spec: "Spec", told: int) -> None:
    if spec["level"] == "none":
        monitor.say(told, "missing every separation")
        return
    syscalls.drop_rights()
    if spec["level"] == "user":
        monitor.say(told, "missing every separation but the user's own")
        return
    for what in LANDLOCK_MISSES:
        monitor.say(told, f"missing {what}")
    closed = frozenset(range(syscalls.PORTS)) if spec["network"] == "none" else frozenset(spec["closed_ports"])
    rules = syscalls.landlock_rules(files=EVERYTHING, close_ports=bool(closed))
    for path, rights in _allowed(spec, told):
        try:
            syscalls.landlock_allow(rules, path=path, rights=rights)
        except OSError as error:
            if error.errno not in {errno.EACCES, errno.ENOENT}:
                raise
            monitor.say(told, f"missing {path}: {os.strerror(error.errno)}")
    if closed:
        syscalls.landlock_open_ports(rules, closed=closed)
    syscalls.landlock_restrict(rules)


def _allowed(spec: "Spec", told: int) -> list[tuple[str, int]]:
    allowed = [(spec["folder"], IN_FOLDER)]
    for source, target, _, is_folder, _ in spec["binds"]:
        if any(mask == target or mask.startswith(f"{target}/") for mask in spec["masks"]):
            # Landlock cannot take back a part of what it allows.
            monitor.say(told, f"missing {target}: it holds what must stay hidden")
        elif source.startswith("/dev/"):
            allowed.append((source, DEVICE))
        else:
            allowed.append((source, TO_LOOK if is_folder else TO_READ))
    allowed += [(path, TO_LOOK if os.path.isdir(path) else TO_READ) for path in PLAIN]
    return allowed


def _leave() -> None:
    _sweep()
    os._exit(0)


def _sweep() -> None:
    """End every descendant; the children of one that ends become ours, so that another round finds them."""
    while True:
        _signal_all(_descendants(), signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _pass_on(number: int) -> None:
    _signal_all(_descendants(), number)


def _watch(spec: "Spec", told: int) -> None:
    if monitor.memory_is_used_up(spec, [str(pid) for pid in _descendants()]):
        monitor.say(told, "stopped memory")
        _leave()
    if monitor.disk_is_full(spec):
        monitor.say(told, "stopped disk")
        _leave()


def _signal_all(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue  # it ended meanwhile, or a set-user-id program that is not ours to end


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (parent := _parent_of(name)) is not None:
            children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    left = [os.getpid()]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found


def _parent_of(pid: str) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return None
