"""The instance on this machine: its data folder, the lock its one server holds, and who holds it now.

Standard library only: the command line reads the lock before anything heavy is loaded.
"""

import contextlib
import fcntl
import json
import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from workstead import errors

VERSION = "0.1.0"
KEY_BYTES = 32
LOCK = "lock"
CONTROL = "control"
DATABASE = "workstead.sqlite3"

_RECORD_LIMIT_BYTES = 4096
_START_TICKS = 19  # of /proc/PID/stat, counted after the name in brackets


@dataclass(frozen=True, kw_only=True)
class Holder:
    """Who holds the lock. pid, start_ticks and machine_boot together name one process for ever.

    boot_id: of this start of the server. port: where its pages are.
    """

    pid: int
    start_ticks: int
    machine_boot: str
    boot_id: str
    host: str
    port: int

    @property
    def alive(self) -> bool:
        """Whether exactly that process still runs on this machine."""
        return self.machine_boot == machine_boot() and start_ticks(self.pid) == self.start_ticks


class Lock:
    """The open lock of an instance; the system lets go of it when the process ends, however it ends."""

    def __init__(self, file: int) -> None:
        self._file = file

    def tell(self, *, boot_id: str, host: str, port: int) -> Holder:
        """Write who holds it and where it serves."""
        pid = os.getpid()
        holder = Holder(
            pid=pid,
            start_ticks=start_ticks(pid) or 0,
            machine_boot=machine_boot(),
            boot_id=boot_id,
            host=host,
            port=port,
        )
        text = json.dumps(asdict(holder)).encode()
        os.pwrite(self._file, text, 0)
        os.ftruncate(self._file, len(text))
        return holder

    def release(self) -> None:
        """Say that nobody serves any more and let go."""
        os.ftruncate(self._file, 0)
        os.close(self._file)


def open_folder(path: Path) -> Path:
    """The data folder, made with mode 0700 when it is missing.

    Raises `denied` (`data_folder_open`, `data_folder_foreign`) when somebody else could read it or owns it, and
    `invalid` (`data_folder_unusable`) when it cannot be a folder.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
    except OSError as failed:
        message = f"The data folder {path} cannot be used: {failed.strerror}."
        raise errors.invalid("data_folder_unusable", message) from None
    if found.st_uid != os.geteuid():
        message = f"The data folder {path} belongs to another account; choose another with WORKSTEAD_DATA."
        raise errors.denied("data_folder_foreign", message)
    if found.st_mode & 0o077:
        shown = f"{stat.S_IMODE(found.st_mode):04o}"
        message = f"Other accounts can enter the data folder {path} (mode {shown}); run `chmod 700 {path}` first."
        raise errors.denied("data_folder_open", message)
    return path.resolve()


def take_lock(folder: Path) -> Lock:
    """Become the one server of this data folder; raises `conflict` naming the process that is it already."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(folder / LOCK, flags, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        other = holder(folder)
        who = f"process {other.pid}" if other is not None else "another process"
        message = f"A server already uses the data folder {folder} ({who}); stop it first or use another data folder."
        raise errors.conflict("instance_locked", message) from None
    return Lock(file)


def holder(folder: Path) -> Holder | None:
    """Who says to hold the lock, or None; whether that process lives is for the reader to ask."""
    try:
        with (folder / LOCK).open("rb") as file:
            told = json.loads(file.read(_RECORD_LIMIT_BYTES))
        return Holder(**told)
    except (OSError, ValueError, TypeError):
        return None


def key(path: Path, *, make: bool) -> bytes:
    """The instance's key; made with mode 0600 when it is missing and `make` says so.

    Raises `unavailable` (`instance_key_missing`, `instance_key_unusable`) and `denied` (`instance_key_open`).
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        if make:
            return _new_key(path)
        message = f"The instance's key {path} is missing; secrets cannot be opened without it."
        raise errors.unavailable("instance_key_missing", message) from None
    except OSError as failed:
        raise _key_unusable(path, str(failed.strerror)) from None
    try:
        if os.fstat(file).st_mode & 0o077:
            message = f"Other accounts can read the instance's key {path}; run `chmod 600 {path}` first."
            raise errors.denied("instance_key_open", message)
        found = os.read(file, 2 * KEY_BYTES + 2).strip()
    finally:
        os.close(file)
    try:
        made = bytes.fromhex(found.decode("ascii"))
    except ValueError:
        made = b""
    if len(made) != KEY_BYTES:
        raise _key_unusable(path, f"it must hold {KEY_BYTES} bytes in hexadecimal")
    return made


def _new_key(path: Path) -> bytes:
    """Written beside and linked, so that a key that is there is whole and no start replaces another's."""
    made = os.urandom(KEY_BYTES)
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, made.hex().encode() + b"\n")
            os.fsync(file)
            os.link(beside, path)
        finally:
            os.close(file)
            beside.unlink()
    except OSError as failed:
        raise _key_unusable(path, str(failed.strerror)) from None
    return made


def _key_unusable(path: Path, why: str) -> errors.Refusal:
    return errors.unavailable("instance_key_unusable", f"The instance's key {path} cannot be used: {why}.")


@contextlib.contextmanager
def control_address(folder: Path) -> Iterator[str]:
    """An address of the control socket that fits in the 108 bytes the system has for one, however deep the folder."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{CONTROL}"
    finally:
        os.close(handle)


def bind_control(folder: Path) -> socket.socket:
    """The listening control socket, mode 0600, in place of one that an earlier server left; the lock must be held."""
    (folder / CONTROL).unlink(missing_ok=True)
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with control_address(folder) as address:
        control.bind(address)
    (folder / CONTROL).chmod(0o600)
    control.listen(64)
    control.settimeout(0)
    return control


def start_ticks(pid: int) -> int | None:
    """When a process began, in the kernel's ticks since the machine's boot; None when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[_START_TICKS])


def machine_boot() -> str:
    """The id of this boot of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
