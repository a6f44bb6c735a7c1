"""What a command prints, taken from its pipe into a file and a small head; knows nothing of processes.

A pipe is read to its end whatever happens, because a full pipe would halt the command; what is beyond the
cap, or what the disk refuses, is dropped and the capture says that it is not complete.
"""

import os
from dataclasses import dataclass

import anyio

from workstead.workspace import files

CAP_BYTES = 64 << 20
RAW_HEAD_BYTES = 16 << 10
CHUNK_BYTES = 64 << 10
HEAD_LIMIT_BYTES = 2048
HEAD_LIMIT_LINES = 30


@dataclass(frozen=True, kw_only=True)
class Captures:
    """Where the output goes, relative to the project folder and under `.workstead/work/`.

    Without paths only the heads are kept. head_bytes: how much of each stays in memory.
    """

    stdout_path: str = ""
    stderr_path: str = ""
    cap_bytes: int = CAP_BYTES
    head_bytes: int = RAW_HEAD_BYTES


@dataclass(frozen=True, kw_only=True)
class CaptureFacts:
    """One stream as far as it has come.

    size_bytes: what the command printed; kept_bytes: what stands in the file. complete: nothing was dropped.
    head: its raw beginning, to be redacted and then cut with `head_text`. path: of the file, or empty.
    """

    size_bytes: int
    kept_bytes: int
    complete: bool
    head: bytes
    path: str


class Capture:
    """One stream being taken in."""

    def __init__(self, *, folder: files.Folder, path: str, captures: Captures) -> None:
        self._path = path
        self._file = folder.create_own(path) if path else -1
        self._cap_bytes = captures.cap_bytes
        self._head_bytes = captures.head_bytes
        self._head = bytearray()
        self._size_bytes = 0
        self._kept_bytes = 0
        self._complete = True

    @property
    def facts(self) -> CaptureFacts:
        """The stream as far as it has come."""
        return CaptureFacts(
            size_bytes=self._size_bytes,
            kept_bytes=self._kept_bytes,
            complete=self._complete,
            head=bytes(self._head),
            path=self._path,
        )

    async def pump(self, source: int) -> None:
        """Take in a pipe until its end; the pipe must not block."""
        while True:
            await anyio.wait_readable(source)
            data = os.read(source, CHUNK_BYTES)
            if not data:
                return
            self._take(data)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _take(self, data: bytes) -> None:
        self._size_bytes += len(data)
        if len(self._head) < self._head_bytes:
            self._head += data[: self._head_bytes - len(self._head)]
        if not self._path:
            self._complete = self._size_bytes <= self._head_bytes
            return
        kept = data[: max(0, self._cap_bytes - self._kept_bytes)] if self._complete else b""
        self._complete = len(kept) == len(data)
        self._store(kept)

    def _store(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                written = os.write(self._file, left)
                self._kept_bytes += written
                left = left[written:]
        except OSError:
            self._complete = False  # a full disk must not stop the reading


def head_text(text: str) -> str:
    """The beginning of a text: at most 2 048 UTF-8 bytes and 30 lines, cut between characters."""
    lines = text.splitlines(keepends=True)[:HEAD_LIMIT_LINES]
    return "".join(lines).encode("utf-8", "replace")[:HEAD_LIMIT_BYTES].decode("utf-8", "ignore")
