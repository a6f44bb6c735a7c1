"""Files of one folder, reached from its handle without following links; not a policy on what to show.

Every path is relative, UTF-8, and walked component by component, so that a link planted by an agent leads
nowhere (S3). What belongs to Workstead itself (`.workstead/`) is written through `write_own` and `create_own`
only.
"""

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self

from workstead import errors

OWN = ".workstead"
IGNORE_FILE = ".workstead-search-ignore"
TEMPORARY = ".workstead-tmp-"
EXCLUDED = frozenset(
    {
        ".cache",
        ".git",
        ".gradle",
        ".hg",
        ".hypothesis",
        ".mypy_cache",
        ".next",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        OWN,
        "__pycache__",
        "node_modules",
        "venv",
    }
)
IGNORE_LIMIT_BYTES = 64 * 1024
PATH_LIMIT_BYTES = 4096
NAME_LIMIT_BYTES = 255
DEPTH_LIMIT = 64
CHUNK_BYTES = 1 << 20

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Kind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    """What the file system says about one path.

    mode: the permission bits. modified_at: aware UTC.
    """

    kind: Kind
    size_bytes: int
    modified_at: datetime
    mode: int


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One name met in a folder; `path` is relative to the project folder."""

    path: str
    name: str
    kind: Kind
    size_bytes: int
    modified_at: datetime


class Folder:
    """A project folder held open; close it, or use it as a context manager."""

    def __init__(self, root: Path) -> None:
        with _refusing(str(root)):
            self._fd = os.open(root, _FOLDER_FLAGS)
        self.root = root

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the directory handle; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def stat(self, path: str) -> FileFacts:
        """Facts of a path; a link is described, never followed. Raises not found."""
        parts = components(path)
        if not parts:
            return _facts(os.fstat(self._fd))
        with _refusing(path), self._parent(parts) as parent:
            return _facts(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False))

    def read(self, path: str, *, limit_bytes: int) -> bytes:
        """The whole regular file; refused as `file_too_large` beyond the limit, never cut silently."""
        with self._opened(path) as file:
            size_bytes = os.fstat(file).st_size
            data = _read(file, limit_bytes + 1)
        if len(data) > limit_bytes:
            raise errors.invalid(
                "file_too_large",
                f"{path} has {size_bytes} bytes; at most {limit_bytes} are read at once. Read a part of it.",
                size_bytes=size_bytes,
            )
        return data

    def read_part(self, path: str, *, offset_bytes: int, limit_bytes: int) -> bytes:
        """At most `limit_bytes` of a regular file from an offset; empty past its end."""
        with self._opened(path) as file:
            os.lseek(file, offset_bytes, os.SEEK_SET)
            return _read(file, limit_bytes)

    def digest(self, path: str) -> str:
        """SHA-256 of a regular file, 64 hex digits."""
        digest = hashlib.sha256()
        with self._opened(path) as file:
            while data := os.read(file, CHUNK_BYTES):
                digest.update(data)
        return digest.hexdigest()

    def write(self, path: str, data: bytes) -> FileFacts:
        """Replace or make a regular file, whole or not at all; refuses `.workstead/`. Returns its new facts.

        Parent folders are made; the old file's permission bits stay.
        """
        parts = _gated(path)
        return self._replace(parts, data)

    def write_own(self, path: str, data: bytes) -> FileFacts:
        """As `write`, for the server's own files under `.workstead/` and nowhere else."""
        return self._replace(_owned(path), data)

    def create_own(self, path: str) -> int:
        """A new file under `.workstead/`, open for writing; the caller closes the descriptor."""
        parts = _owned(path)
        with _refusing(path), self._parent(parts, make=True) as parent:
            file = os.open(parts[-1], _CREATE_FLAGS, 0o644, dir_fd=parent)
            self._give(file)
            return file

    def make_own(self, path: str) -> None:
        """Make a folder under `.workstead/` (or that folder itself) unless it is there."""
        parts = components(path)
        if not parts or parts[0] != OWN:
            raise _protected(path)
        with _refusing(path), self._parent((*parts, ""), make=True):
            pass

    def remove(self, path: str) -> None:
        """Remove a file or a link (not what it points to); refuses folders and `.workstead/`."""
        parts = _gated(path)
        with _refusing(path), self._parent(parts) as parent:
            if stat.S_ISDIR(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False).st_mode):
                raise errors.invalid("path_not_file", f"{path} is a folder, not a file.")
            os.unlink(parts[-1], dir_fd=parent)
            os.fsync(parent)

    def listing(self, path: str) -> tuple[Entry, ...]:
        """What stands in a folder, in plain string order."""
        parts = components(path)
        with _refusing(path), self._parent((*parts, "")) as folder:
            return _scan(folder, prefix="/".join(parts))

    def walk(self, path: str = "") -> Generator[Entry, None, None]:
        """Every entry below a folder, depth first, siblings in plain string order.

        Links are not followed; `EXCLUDED` names and the prefixes of `.workstead-search-ignore` are left out.
        Raises `search_ignore_invalid` when that file cannot be read as one.
        """
        ignored = self._ignored()
        parts = components(path)
        with _refusing(path), self._parent((*parts, "")) as folder:
            yield from _descend(folder, prefix="/".join(parts), ignored=ignored, depth=len(parts))

    def _ignored(self) -> tuple[str, ...]:
        try:
            data = self.read(IGNORE_FILE, limit_bytes=IGNORE_LIMIT_BYTES)
        except errors.Refusal as refusal:
            if refusal.kind is errors.Kind.NOT_FOUND:
                return ()
            raise errors.invalid("search_ignore_invalid", f"{IGNORE_FILE}: {refusal}") from refusal
        return ignored_prefixes(data)

    @contextlib.contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        parts = components(path)
        if not parts:
            raise errors.invalid("path_not_file", "The project folder itself is not a file.")
        with _refusing(path), self._parent(parts) as parent:
            file = os.open(parts[-1], _READ_FLAGS, dir_fd=parent)
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise errors.invalid("path_not_file", f"{path} is not a regular file.")
                yield file
            finally:
                os.close(file)

    @contextlib.contextmanager
    def _parent(self, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
        folder = os.dup(self._fd)
        try:
            for name in parts[:-1]:
                below = self._enter(folder, name, make=make)
                os.close(folder)
                folder = below
            yield folder
        finally:
            os.close(folder)

    def _enter(self, folder: int, name: str, *, make: bool) -> int:
        try:
            return os.open(name, _FOLDER_FLAGS, dir_fd=folder)
        except FileNotFoundError:
            if not make:
                raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=folder)
        below = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
        self._give(below)
        return below

    def _replace(self, parts: tuple[str, ...], data: bytes) -> FileFacts:
        path = "/".join(parts)
        with _refusing(path), self._parent(parts, make=True) as parent:
            mode = _mode_before(parent, parts[-1], path)
            temporary = TEMPORARY + secrets.token_hex(8)
            file = os.open(temporary, _CREATE_FLAGS, 0o666 if mode is None else 0o600, dir_fd=parent)
            try:
                self._give(file)
                if mode is not None:
                    os.fchmod(file, mode)
                _write(file, data)
                os.fsync(file)
                os.rename(temporary, parts[-1], src_dir_fd=parent, dst_dir_fd=parent)
                facts = _facts(os.fstat(file))
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=parent)
                raise
            finally:
                os.close(file)
            os.fsync(parent)
            return facts

    def _give(self, file: int) -> None:
        """What a root server makes belongs to the folder's owner, who is also who commands run as."""
        if os.geteuid() == 0:
            owner = os.fstat(self._fd)
            os.fchown(file, owner.st_uid, owner.st_gid)


def components(path: str) -> tuple[str, ...]:
    """The names of a relative path; empty for the folder itself. Raises `path_invalid`, `path_outside`."""
    try:
        size_bytes = len(path.encode())
    except UnicodeEncodeError:
        raise errors.invalid("path_invalid", "The path is not valid UTF-8 text.") from None
    if "\0" in path or size_bytes > PATH_LIMIT_BYTES:
        raise errors.invalid("path_invalid", "The path holds a NUL character or is too long.")
    if path.startswith("/"):
        raise errors.invalid("path_outside", f"{path} is absolute; name files relative to the project folder.")
    parts = tuple(part for part in path.split("/") if part not in {"", "."})
    if ".." in parts:
        raise errors.invalid("path_outside", f"{path} may not climb with '..'.")
    if any(len(part.encode()) > NAME_LIMIT_BYTES for part in parts):
        raise errors.invalid("path_invalid", f"A name in a path has at most {NAME_LIMIT_BYTES} bytes.")
    return parts


def ignored_prefixes(data: bytes) -> tuple[str, ...]:
    """The folders a search leaves out: literal prefixes, `#` comment lines, no patterns, no negation."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise errors.invalid("search_ignore_invalid", f"{IGNORE_FILE} is not valid UTF-8.") from None
    prefixes = []
    for number, line in enumerate(text.splitlines(), start=1):
        prefix = line.strip()
        if not prefix or prefix.startswith("#"):
            continue
        if prefix[0] in "!\ufeff/" or any(sign in prefix for sign in "*?[\\\0") or ".." in prefix.split("/"):
            raise errors.invalid(
                "search_ignore_invalid",
                f"{IGNORE_FILE} line {number}: write a folder's relative path, without patterns or negation.",
            )
        prefixes.append("/".join(part for part in prefix.split("/") if part not in {"", "."}))
    return tuple(prefixes)


def _gated(path: str) -> tuple[str, ...]:
    parts = components(path)
    if not parts:
        raise errors.invalid("path_not_file", "The project folder itself is not a file.")
    if parts[0].casefold() == OWN:
        raise _protected(path)
    return parts


def _owned(path: str) -> tuple[str, ...]:
    parts = components(path)
    if len(parts) < 2 or parts[0] != OWN:
        raise _protected(path)
    return parts


def _protected(path: str) -> errors.Refusal:
    return errors.denied("path_protected", f"{path}: only Workstead itself writes {OWN}/, and only there.")


@contextlib.contextmanager
def _refusing(path: str) -> Iterator[None]:
    """Translate what the system says about a path into refusals; anything else is internal."""
    try:
        yield
    except OSError as error:
        refusal = _refusal(error, path or ".")
        if refusal is None:
            raise
        raise refusal from error


def _refusal(error: OSError, path: str) -> errors.Refusal | None:
    if error.errno == errno.ENOENT:
        return errors.not_found("file", path)
    if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.ENXIO}:
        # A link opened as a folder answers "not a directory", so one sentence serves both.
        return errors.invalid("path_blocked", f"{path} leads through a link or something that is no folder or file.")
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return errors.denied("path_denied", f"The server may not do that with {path}.")
    if error.errno == errno.EEXIST:
        return errors.conflict("path_exists", f"{path} already exists.")
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return errors.unavailable("disk_full", "The disk of the project folder is full.")
    return None


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def _facts(found: os.stat_result) -> FileFacts:
    return FileFacts(
        kind=_kind(found.st_mode),
        size_bytes=found.st_size,
        modified_at=datetime.fromtimestamp(found.st_mtime, UTC),
        mode=stat.S_IMODE(found.st_mode),
    )


def _mode_before(parent: int, name: str, path: str) -> int | None:
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise errors.invalid("path_not_file", f"{path} is not a regular file.")
    # A set-user-id bit must not pass to new content.
    return stat.S_IMODE(found.st_mode) & 0o777


def _read(file: int, limit_bytes: int) -> bytes:
    parts: list[bytes] = []
    left = limit_bytes
    while left > 0 and (data := os.read(file, min(left, CHUNK_BYTES))):
        parts.append(data)
        left -= len(data)
    return b"".join(parts)


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def _scan(folder: int, *, prefix: str) -> tuple[Entry, ...]:
    with os.scandir(folder) as found:
        names = sorted(entry.name for entry in found)
    entries = []
    for name in names:
        try:
            facts = _facts(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except FileNotFoundError:
            continue  # it went away while we looked
        shown = os.fsencode(name).decode("utf-8", "replace")
        entries.append(
            Entry(
                path=f"{prefix}/{shown}" if prefix else shown,
                name=shown,
                # A name that is not UTF-8 is shown, but no path of ours can reach it.
                kind=facts.kind if shown == name else "other",
                size_bytes=facts.size_bytes,
                modified_at=facts.modified_at,
            )
        )
    return tuple(entries)


def _descend(folder: int, *, prefix: str, ignored: tuple[str, ...], depth: int) -> Iterator[Entry]:
    for entry in _scan(folder, prefix=prefix):
        left_out = entry.name in EXCLUDED or entry.path in ignored or entry.name.startswith(TEMPORARY)
        if left_out:
            continue
        yield entry
        if entry.kind != "folder" or depth >= DEPTH_LIMIT:
            continue
        try:
            below = os.open(entry.name, _FOLDER_FLAGS, dir_fd=folder)
        except OSError:
            continue  # it was replaced or may not be read; it was named, its content is not ours to reach
        try:
            yield from _descend(below, prefix=entry.path, ignored=ignored, depth=depth + 1)
        finally:
            os.close(below)
