"""Which folders may become a project's, and what is made in them first (S3); not who may bind one."""

import os
import pwd
from collections.abc import Iterable
from pathlib import Path

from workstead import errors
from workstead.workspace import files

WORK = f"{files.OWN}/work"

_SYSTEM_TREES = tuple(Path(name) for name in ("/boot", "/dev", "/etc", "/proc", "/run", "/sys"))
_TOPS = ("/bin", "/home", "/lib", "/lib64", "/opt", "/root", "/sbin", "/tmp", "/usr", "/var")  # noqa: S108
_SYSTEM_TOPS = frozenset(Path(name) for name in _TOPS)
_FIRST_PERSON_UID = 1000


def admit(path: Path, *, data_folder: Path, others: Iterable[Path]) -> Path:
    """The real path of a folder that may be bound to a project; `others` are the folders of other projects.

    Raises invalid with a code of its own per reason: `folder_relative`, `folder_missing`,
    `folder_not_directory`, `folder_root`, `folder_system`, `folder_home`, `folder_data`, `folder_overlaps`,
    `folder_unwritable`.
    """
    real = _real(path)
    if real == Path("/"):
        raise errors.invalid("folder_root", "The root of the file system cannot be a project; name a folder in it.")
    if real in _homes():
        raise errors.invalid("folder_home", f"{real} is a home folder itself; name a folder inside it.")
    if real in _SYSTEM_TOPS or any(real.is_relative_to(tree) for tree in _SYSTEM_TREES):
        raise errors.invalid("folder_system", f"{real} belongs to the system; name a folder of your own.")
    if _overlap(real, data_folder.resolve()):
        raise errors.invalid(
            "folder_data",
            f"{real} is, holds or lies in the folder where Workstead keeps its own data; name another.",
        )
    for other in others:
        if _overlap(real, other.resolve()):
            raise errors.invalid("folder_overlaps", f"{real} overlaps {other}, the folder of another project.")
    if not os.access(real, os.R_OK | os.W_OK | os.X_OK):
        raise errors.invalid("folder_unwritable", f"The server may not write in {real}; change its permissions.")
    return real


def prepare(path: Path) -> None:
    """Make `.workstead/work/` in a project folder, with a `.gitignore` that keeps it out of commits.

    Both must stand before the first command, because a command sees them as mounts of their own.
    """
    with files.Folder(path) as folder:
        folder.make_own(WORK)
        try:
            folder.stat(f"{WORK}/.gitignore")
        except errors.Refusal as refusal:
            if refusal.kind is not errors.Kind.NOT_FOUND:
                raise
            folder.write_own(f"{WORK}/.gitignore", b"*\n")


def _real(path: Path) -> Path:
    if not path.is_absolute():
        raise errors.invalid("folder_relative", f"{path} is relative; name the folder by its full path.")
    try:
        real = path.resolve(strict=True)
    except PermissionError:
        message = f"The server may not look into {path}; change the permissions of the folders above it."
        raise errors.invalid("folder_unwritable", message) from None
    except (OSError, ValueError, RuntimeError):
        raise errors.invalid("folder_missing", f"There is no folder {str(path)!r}; make it first.") from None
    if not real.is_dir():
        raise errors.invalid("folder_not_directory", f"{path} is not a folder.")
    return real


def _homes() -> frozenset[Path]:
    homes = {Path.home()}
    for account in pwd.getpwall():
        if account.pw_uid == 0 or account.pw_uid >= _FIRST_PERSON_UID:
            homes.add(Path(account.pw_dir))
    return frozenset(home.resolve() for home in homes)


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)
