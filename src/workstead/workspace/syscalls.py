"""Linux calls that Python has no name for, as the launcher's programs need them; standard library only.

Imported by programs that run without site packages, so nothing of the product may be imported here.
"""

import ctypes
import os
import struct
from collections.abc import Iterable

NEW_MOUNTS, NEW_CGROUPS, NEW_NAMES, NEW_IPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEW_USERS, NEW_PIDS, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000

READ_ONLY, NO_SETUID, NO_DEVICES, NO_EXECUTION = 1, 2, 4, 8
REMOUNT_BOUND = 0x1020
PRIVATE_RECURSIVE = 0x44000

LANDLOCK_SCOPES_ABI = 6

_LIBC = ctypes.CDLL(None, use_errno=True)
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442  # the same numbers on every architecture
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_PIVOT_ROOT, _KEYCTL = {"x86_64": (155, 250), "aarch64": (41, 219)}[os.uname().machine]
_HERE = -100
_EMPTY_PATH, _RECURSIVE, _CLOSE_ON_EXEC, _NO_FOLLOW = 0x1000, 0x8000, 0x80000, 0x100
_PR_PARENT_DEATH, _PR_DUMPABLE, _PR_DROP_BOUNDING = 1, 4, 24
_PR_SUBREAPER, _PR_NO_NEW_PRIVILEGES = 36, 38
_CAPABILITY_VERSION_3 = 0x20080522
_INTERFACE_UP = struct.pack("16sh22x", b"lo", 1)
_SET_INTERFACE_FLAGS = 0x8914
_CONNECT_TCP = 2
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2
_RULE_PATH, _RULE_PORT = 1, 2
PORTS = 65536


def check(result: int, what: str) -> int:
    """The result itself; raises OSError naming `what` when the call failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(spaces: int) -> None:
    """Move this process into new namespaces."""
    check(_LIBC.unshare(spaces), "unshare")


def make_mounts_private() -> None:
    """Keep what is mounted from here on in this namespace."""
    check(_LIBC.mount(None, b"/", None, PRIVATE_RECURSIVE, None), "private mounts")


def mount(kind: str, target: str, *, flags: int, options: str) -> None:
    """Mount a file system of the kernel's own (tmpfs, proc, devpts)."""
    done = _LIBC.mount(kind.encode(), os.fsencode(target), kind.encode(), flags, options.encode())
    check(done, f"mount {target}")


def remount(target: str, *, flags: int) -> None:
    """Change the flags of a mount point of this namespace."""
    check(_LIBC.mount(None, os.fsencode(target), None, REMOUNT_BOUND | flags, None), f"remount {target}")


def copy_mounts(source: str, *, flags: int) -> int:
    """A detached copy of the mounts at a real path, with these flags; a descriptor for `attach_mounts`."""
    how = 1 | _CLOSE_ON_EXEC | _RECURSIVE | _NO_FOLLOW
    tree = check(_LIBC.syscall(_OPEN_TREE, _HERE, os.fsencode(source), how), f"open_tree {source}")
    attributes = struct.pack("QQQQ", flags, 0, 0, 0)
    how = _EMPTY_PATH | _RECURSIVE
    check(_LIBC.syscall(_MOUNT_SETATTR, tree, b"", how, attributes, len(attributes)), f"mount_setattr {source}")
    return tree


def attach_mounts(tree: int, *, target: str) -> None:
    """Put a detached copy of mounts at a target."""
    check(_LIBC.syscall(_MOVE_MOUNT, tree, b"", _HERE, os.fsencode(target), 4), f"move_mount {target}")


def change_root() -> None:
    """Make the current folder the root and leave the old one behind, unreachable."""
    check(_LIBC.syscall(_PIVOT_ROOT, b".", b"."), "pivot_root")
    check(_LIBC.umount2(b".", 2), "leave the old root")


def raise_loopback() -> None:
    """Bring up the loopback interface of a new network namespace."""
    # By descriptor of a C socket: the socket module is a slow import for one call.
    control = check(_LIBC.socket(2, 2, 0), "socket")
    check(_LIBC.ioctl(control, _SET_INTERFACE_FLAGS, _INTERFACE_UP), "loopback")
    os.close(control)


def new_keyring() -> bool:
    """Leave the session keyring for one of our own; False when the kernel refuses."""
    return int(_LIBC.syscall(_KEYCTL, 1, None)) >= 0


def drop_rights() -> None:
    """Give up every capability and every way to new ones."""
    for capability in range(64):
        _LIBC.prctl(_PR_DROP_BOUNDING, capability, 0, 0, 0)
    no_new_privileges()
    check(_LIBC.capset(struct.pack("Ii", _CAPABILITY_VERSION_3, 0), bytes(24)), "drop capabilities")


def no_new_privileges() -> None:
    """Set-user-id programs give nothing from here on."""
    check(_LIBC.prctl(_PR_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")


def set_traceable(*, to: bool) -> None:
    """Whether processes of the same owner may trace this one and take its descriptors."""
    check(_LIBC.prctl(_PR_DUMPABLE, int(to), 0, 0, 0), "dumpable")


def die_with_parent(number: int = 9) -> None:
    """Get this signal when the thread that forked this process ends; the parent must have one thread only."""
    check(_LIBC.prctl(_PR_PARENT_DEATH, number, 0, 0, 0), "parent-death signal")


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    check(_LIBC.prctl(_PR_SUBREAPER, 1, 0, 0, 0), "child subreaper")


def landlock_abi() -> int:
    """The kernel's Landlock version; negative without Landlock."""
    return int(_LIBC.syscall(_LANDLOCK_CREATE, None, 0, 1))


def fence_network(closed_ports: Iterable[int]) -> None:
    """Keep this process and its children from these TCP ports, abstract sockets and outside signals."""
    closed = frozenset(closed_ports)
    rules = landlock_rules(files=0, close_ports=bool(closed))
    if closed:
        landlock_open_ports(rules, closed=closed)
    landlock_restrict(rules)


def landlock_rules(*, files: int, close_ports: bool) -> int:
    """A rule set that handles these file rights, TCP connections if asked, abstract sockets and signals."""
    scopes = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS
    rules = struct.pack("QQQ", files, _CONNECT_TCP if close_ports else 0, scopes)
    return check(_LIBC.syscall(_LANDLOCK_CREATE, rules, len(rules), 0), "Landlock")


def landlock_open_ports(rules: int, *, closed: frozenset[int]) -> None:
    """Allow TCP connections to every port but these; a rule set can only allow, so each port is a rule."""
    for port in range(PORTS):
        if port not in closed:
            allowed = struct.pack("=QQ", _CONNECT_TCP, port)
            check(_LIBC.syscall(_LANDLOCK_ADD, rules, _RULE_PORT, allowed, 0), "Landlock port")


def landlock_allow(rules: int, *, path: str, rights: int) -> None:
    """Allow file rights below a path."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        allowed = struct.pack("=Qi", rights, place)
        check(_LIBC.syscall(_LANDLOCK_ADD, rules, _RULE_PATH, allowed, 0), f"Landlock path {path}")
    finally:
        os.close(place)


def landlock_restrict(rules: int) -> None:
    """Put this process and all its children under a rule set, for good."""
    no_new_privileges()
    check(_LIBC.syscall(_LANDLOCK_RESTRICT, rules, 0), "Landlock")
    os.close(rules)
