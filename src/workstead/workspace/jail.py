"""The program that runs one command in its own view of the machine (level `namespaces`, Linux 5.12 or newer).

Not a policy: the spec says what is bound. Process 1 of the new namespace is ours: it reaps, passes TERM on,
counts memory and disk, and its end is the end of everything in it. Every import stands at the top because the
new root may hide the standard library.
"""

import errno
import os
import signal

from workstead.workspace import monitor, syscalls

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module costs milliseconds of every start
    from workstead.workspace.spec import Bind, Spec

NEW_ROOT = "/tmp"  # noqa: S108 - where the new root is put together, in mounts of our own; any folder will do
ROOT_OPTIONS = "mode=755,size=1m"
INSIDE_ID = 1000
WATCH_EVERY_S = 0.5
PID_LIMIT_PER_NAMESPACE = (6, 14)
SPACES = (
    syscalls.NEW_MOUNTS
    | syscalls.NEW_CGROUPS
    | syscalls.NEW_NAMES
    | syscalls.NEW_IPC
    | syscalls.NEW_USERS
    | syscalls.NEW_PIDS
)
BARE = syscalls.NO_SETUID | syscalls.NO_DEVICES


def main(source: int, status: int, go: int) -> None:
    """Run the command of a spec; `monitor` says what is read from and written to the descriptors."""
    line = monitor.Line(status=status, go=go)
    spec = monitor.receive(source)
    try:
        server = monitor.server_of(spec)
        monitor.become_owner(spec)
        syscalls.set_traceable(to=True)  # a change of user gave /proc/self to root, and the maps are written there
        ids = os.geteuid(), os.getegid()
        syscalls.unshare(SPACES | (syscalls.NEW_NETWORK if spec["network"] == "none" else 0))
        _map_ids(*ids)
    except OSError as error:
        monitor.refuse(line.status, error)
        return
    gate, told = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        for end in (gate[1], told[0], server, line.status, line.go):
            os.close(end)
        _first_process(spec, gate=gate[0], told=told[1])
    syscalls.set_traceable(to=False)
    for end in (gate[0], told[1]):
        os.close(end)
    monitor.announce(line, child=child)
    monitor.guard(line, server=server, child=child, gate=gate[1], told=told[0])
    os.waitpid(child, 0)  # returns only when the kernel has ended every process of the namespace
    while monitor.pass_back(line, told[0]):
        pass


def _map_ids(uid: int, gid: int) -> None:
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{INSIDE_ID} {uid} 1"),
        ("gid_map", f"{INSIDE_ID} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _first_process(spec: "Spec", *, gate: int, told: int) -> None:
    handled = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, handled)  # kept until there is a handler: process 1 ignores them else
    syscalls.die_with_parent()  # before the gate: a monitor that is gone already cannot open it
    monitor.wait_for(gate)
    try:
        if spec["network"] == "none":
            syscalls.raise_loopback()
        _build(spec, told)
        _settle(spec, told)
        leader = os.fork()
        if leader == 0:
            _become_command(spec, told, handled)
    except OSError as error:
        monitor.refuse(told, error)
        os._exit(monitor.REFUSED)
    _attend(spec, leader=leader, told=told, handled=handled)


def _build(spec: "Spec", told: int) -> None:
    """Put the new root together from copies of mounts taken while the old root is still in place."""
    syscalls.make_mounts_private()
    trees = [(bind, tree) for bind in spec["binds"] if (tree := _copied(bind, told)) is not None]
    syscalls.mount("tmpfs", NEW_ROOT, flags=BARE, options=ROOT_OPTIONS)
    for kind, target, flags, options in spec["mounts"]:
        os.makedirs(NEW_ROOT + target, exist_ok=True)
        syscalls.mount(kind, NEW_ROOT + target, flags=flags, options=options)
    for (_, target, _, is_folder, _), tree in trees:
        _make_place(NEW_ROOT + target, is_folder=is_folder)
        syscalls.attach_mounts(tree, target=NEW_ROOT + target)
        os.close(tree)
    for target in spec["masks"]:
        _cover(NEW_ROOT + target)
    for path, text in spec["files"].items():
        _make_parents(path)
        with open(NEW_ROOT + path, "w") as file:
            file.write(text)
    for path, text in spec["links"].items():
        _make_parents(path)
        os.symlink(text, NEW_ROOT + path)
    os.chdir(NEW_ROOT)
    syscalls.change_root()


def _copied(bind: "Bind", told: int) -> int | None:
    source, _, flags, _, needed = bind
    try:
        return syscalls.copy_mounts(source, flags=flags)
    except OSError as error:
        if needed or error.errno not in {errno.EACCES, errno.ENOENT}:
            raise
        monitor.say(told, f"missing {source}: {os.strerror(error.errno)}")  # a tool the folder's owner may not reach
        return None


def _cover(target: str) -> None:
    if os.path.isdir(target):
        syscalls.mount("tmpfs", target, flags=BARE | syscalls.READ_ONLY, options="mode=755,size=4k")
    elif os.path.lexists(target):
        nothing = syscalls.copy_mounts("/dev/null", flags=syscalls.READ_ONLY)
        syscalls.attach_mounts(nothing, target=target)
        os.close(nothing)


def _make_place(target: str, *, is_folder: bool) -> None:
    os.makedirs(target if is_folder else os.path.dirname(target), exist_ok=True)
    if not is_folder and not os.path.exists(target):
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))


def _make_parents(path: str) -> None:
    os.makedirs(os.path.dirname(NEW_ROOT + path), exist_ok=True)


def _settle(spec: "Spec", told: int) -> None:
    """Set the kernel knobs of the new namespaces, then make them read-only, then give up every right."""
    _set_knob("sys/user/max_user_namespaces", "0", told)
    _set_knob("self/oom_score_adj", "1000", told)
    # On older kernels this number is the machine's own, and a root server would be allowed to change it.
    if _kernel_version() >= PID_LIMIT_PER_NAMESPACE:
        _set_knob("sys/kernel/pid_max", str(spec["processes"]), told)
    else:
        monitor.say(told, "missing process limit: the kernel is older than 6.14")
    syscalls.remount("/", flags=syscalls.READ_ONLY | BARE)
    syscalls.remount("/dev", flags=syscalls.READ_ONLY | syscalls.NO_SETUID)
    syscalls.remount("/proc", flags=syscalls.READ_ONLY | BARE)
    if not syscalls.new_keyring():
        monitor.say(told, "missing own session keyring")
    syscalls.drop_rights()
    syscalls.set_traceable(to=False)  # else the command may trace process 1, freeze it, take its descriptors


def _set_knob(name: str, value: str, told: int) -> None:
    try:
        with open(f"/proc/{name}", "w") as file:
            file.write(value)
    except OSError as error:
        monitor.say(told, f"missing {name}: {os.strerror(error.errno or 0)}")


def _kernel_version() -> tuple[int, ...]:
    numbers = os.uname().release.split("-")[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdigit())


def _become_command(spec: "Spec", told: int, handled: set[signal.Signals]) -> None:
    try:
        if spec["network"] == "full":
            _fence(spec, told)
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, handled)
        monitor.execute(spec)
    except OSError as error:
        monitor.refuse(told, error)
    os._exit(monitor.NOT_STARTED)


def _fence(spec: "Spec", told: int) -> None:
    """Network `full` shares the machine's loopback: keep closed ports and abstract sockets out of reach."""
    if syscalls.landlock_abi() < syscalls.LANDLOCK_SCOPES_ABI:
        monitor.say(told, "missing Landlock 6: loopback ports and abstract sockets stay reachable")
        return
    syscalls.fence_network(spec["closed_ports"])


def _attend(spec: "Spec", *, leader: int, told: int, handled: set[signal.Signals]) -> None:
    """Reap until the leader ends, and stop everything that takes too much; then end, and all with it."""
    for number in handled:
        signal.signal(number, lambda got, _: _pass_on(got))
    signal.signal(signal.SIGALRM, lambda *_: _watch(spec, told))
    signal.setitimer(signal.ITIMER_REAL, WATCH_EVERY_S, WATCH_EVERY_S)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, handled)
    while True:
        pid, status = os.wait()
        if pid == leader:
            monitor.say(told, monitor.ending(status))
            os._exit(0)


def _pass_on(number: int) -> None:
    try:
        os.kill(-1, number)
    except ProcessLookupError:
        return  # nobody is left to tell


def _watch(spec: "Spec", told: int) -> None:
    # No control group is needed: process 1 sees exactly its own processes.
    pids = [name for name in os.listdir("/proc") if name.isdigit()]
    if monitor.memory_is_used_up(spec, pids):
        monitor.say(told, "stopped memory")
        os._exit(0)
    if monitor.disk_is_full(spec):
        monitor.say(told, "stopped disk")
        os._exit(0)
