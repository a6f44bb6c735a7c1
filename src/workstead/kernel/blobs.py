"""Blobs: bytes kept under their own SHA-256, on disk (K12).

A blob stands at `ab/cdef...` below the root. It is written to a temporary file, synced, renamed, and its
folder synced, so that a name never stands for half its bytes, whenever the machine stops. Nothing is changed
in place; what no row names any more is swept. Reading checks the digest, because disks forget.
"""

import contextlib
import fcntl
import hashlib
import io
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from workstead import errors
from workstead.kernel import faults

_DIGEST = re.compile(r"[0-9a-f]{64}")
_TEMPORARY = "staging"


@dataclass(frozen=True, kw_only=True)
class Staged:
    """Bytes that are safe on disk and wait for a row that names them."""

    digest: str
    size_bytes: int


class Blobs:
    """The blobs of one instance; any number of threads and processes may use the same root."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._staging = root / _TEMPORARY
        # All folders at once: one made later would have to be synced by everybody who finds it.
        for folder in (root, self._staging, *(root / f"{first:02x}" for first in range(256))):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sync(root)

    def stage(self, data: bytes | Iterable[bytes], *, limit_bytes: int | None = None) -> Staged:
        """Keep the bytes; returns their digest and size once a power cut cannot lose them.

        Raises `invalid` as soon as more than `limit_bytes` came; then nothing is kept.
        """
        handle, name = tempfile.mkstemp(dir=self._staging)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                staged = _copy((data,) if isinstance(data, bytes) else data, file, limit_bytes=limit_bytes)
                file.flush()
                os.fsync(file.fileno())
            self._publish(temporary, staged.digest)
        finally:
            temporary.unlink(missing_ok=True)
        faults.point("blob.staged")
        return staged

    def read(self, digest: str) -> bytes:
        """The bytes; raises not found, or `unavailable` (`blob_damaged`) when they changed on disk."""
        with self._opened(digest) as file:
            data = file.read()
        if hashlib.sha256(data).hexdigest() != digest:
            raise _damaged(digest)
        return data

    @contextlib.contextmanager
    def open(self, digest: str) -> Iterator[io.BufferedReader]:
        """The bytes as a file that was checked whole, for what is large; raises as `read` does."""
        with self._opened(digest) as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                raise _damaged(digest)
            file.seek(0)
            yield file

    def exists(self, digest: str) -> bool:
        """Whether a blob of this digest stands here; its bytes are not read."""
        return self._path(digest).is_file()

    def sweep(self, keep: Callable[[str], bool], *, older_than_s: float) -> int:
        """Remove blobs that `keep` does not want and that are older; returns how many.

        The age protects what was staged and has no row yet; staging a blob again makes it young. Left-over
        temporary files of that age go too and are not counted.
        """
        before = time.time() - older_than_s
        removed = 0
        for path in self._paths():
            if _older(path, before) and not keep(path.parent.name + path.name):
                removed += self._remove(path, before)
        for path in self._staging.iterdir():
            if _older(path, before):
                path.unlink(missing_ok=True)
        return removed

    def digests(self) -> Iterator[str]:
        """The digests of all blobs, in order; a backup copies them."""
        for path in self._paths():
            yield path.parent.name + path.name

    def _publish(self, temporary: Path, digest: str) -> None:
        path = self._path(digest)
        with self._lock(fcntl.LOCK_SH):
            # Also over an equal blob: it heals a damaged one and makes it young for the sweep.
            temporary.replace(path)
        _sync(path.parent)

    def _remove(self, path: Path, before: float) -> bool:
        """Look again under the lock: it may have been staged anew since, and its row relies on it."""
        with self._lock(fcntl.LOCK_EX):
            if not _older(path, before):
                return False
            path.unlink()
            return True

    @contextlib.contextmanager
    def _lock(self, kind: int) -> Iterator[None]:
        """Stagers share it, a removal has it alone; it falls with the descriptor, so no crash leaves it."""
        handle = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, kind)
            yield
        finally:
            os.close(handle)

    @contextlib.contextmanager
    def _opened(self, digest: str) -> Iterator[io.BufferedReader]:
        try:
            file = self._path(digest).open("rb")
        except FileNotFoundError:
            raise errors.not_found("blob", digest) from None
        with file:
            yield file

    def _paths(self) -> Iterator[Path]:
        for folder in sorted(self._root.iterdir()):
            if len(folder.name) == 2:
                yield from (path for path in sorted(folder.iterdir()) if _DIGEST.fullmatch(folder.name + path.name))

    def _path(self, digest: str) -> Path:
        """Only a digest becomes a path, so that no name from outside can."""
        if not _DIGEST.fullmatch(digest):
            raise errors.invalid("digest_invalid", "A digest is SHA-256 in 64 lower-case hexadecimal digits.")
        return self._root / digest[:2] / digest[2:]


def _copy(chunks: Iterable[bytes], file: BinaryIO, *, limit_bytes: int | None) -> Staged:
    digest = hashlib.sha256()
    size_bytes = 0
    for chunk in chunks:
        size_bytes += len(chunk)
        if limit_bytes is not None and size_bytes > limit_bytes:
            raise errors.invalid("blob_too_large", f"Send at most {limit_bytes} bytes.", limit_bytes=limit_bytes)
        digest.update(chunk)
        file.write(chunk)
    return Staged(digest=digest.hexdigest(), size_bytes=size_bytes)


def _older(path: Path, before: float) -> bool:
    """Whether it is there and was last written before that time."""
    try:
        return path.stat().st_mtime < before
    except FileNotFoundError:
        return False


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _damaged(digest: str) -> errors.Refusal:
    return errors.unavailable(
        "blob_damaged", "These bytes are damaged on disk; restore them from a backup.", digest=digest
    )
