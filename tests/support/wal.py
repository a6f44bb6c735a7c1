"""What a database has committed, read from its write-ahead log: the file itself, not what our code says."""

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

_HEADER_BYTES = 32
_FRAME_BYTES = 24


@dataclass(frozen=True, kw_only=True)
class Written:
    """Commits, and the bytes of the log they took."""

    commits: int
    size_bytes: int

    def since(self, before: "Written") -> "Written":
        """What came after an earlier look."""
        return Written(commits=self.commits - before.commits, size_bytes=self.size_bytes - before.size_bytes)


@contextmanager
def kept(path: Path) -> Iterator[None]:
    """While this holds a snapshot, the log is never begun anew."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("BEGIN")
        raw.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield
        raw.execute("ROLLBACK")


def written(path: Path) -> Written:
    """Everything in the log now; a frame that says how large the database is ends a commit."""
    log = path.with_name(f"{path.name}-wal")
    commits = at = 0
    with log.open("rb") as file:
        header = file.read(_HEADER_BYTES)
        if len(header) < _HEADER_BYTES:
            return Written(commits=0, size_bytes=0)
        (page_bytes,) = struct.unpack(">I", header[8:12])
        at = _HEADER_BYTES
        while len(frame := file.read(_FRAME_BYTES)) == _FRAME_BYTES and frame[8:16] == header[16:24]:
            commits += struct.unpack(">I", frame[4:8])[0] != 0
            at += _FRAME_BYTES + page_bytes
            file.seek(at)
    return Written(commits=commits, size_bytes=at)
