"""Refused requests: bodies of model calls that failed, kept in private files where the operator wants them (K18).

Off unless a setting says how many. A body holds what agents read and wrote, so only the server's own account can open
the files; the instance's secrets are hidden in them, and keys travel in headers, which are never kept.
"""

import contextlib
import os
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import orjson

from workstead.clock import Clock, iso
from workstead.kernel.redaction import Redactor
from workstead.logger import get_logger

BODY_LIMIT_BYTES = 4 << 20

_log = get_logger()


@dataclass(frozen=True, kw_only=True)
class Refused:
    """One attempt that failed. why: a sentence of ours, never the provider's text."""

    provider: str
    model: str
    failure: str
    why: str
    body: bytes


Keep = Callable[[Refused], Awaitable[None]]
Work = Callable[[Callable[[], None]], Awaitable[None]]


async def forget(_: Refused) -> None:
    """Keep nothing."""


@dataclass(frozen=True, kw_only=True)
class Folder:
    """Where the last ones are kept. most: 0 keeps none. work: runs what waits for the disk beside the loop."""

    path: Path
    most: int
    clock: Clock
    redactor: Redactor
    work: Work

    async def keep(self, one: Refused) -> None:
        """Write one file and forget the oldest; a disk that refuses is only logged."""
        if self.most:
            await self.work(lambda: self._write(one))

    def _write(self, one: Refused) -> None:
        at = iso(self.clock.now())
        body = self.redactor.exact(one.body[:BODY_LIMIT_BYTES].decode("utf-8", "replace")).text
        about = {"at": at, "provider": one.provider, "model": one.model, "failure": one.failure, "why": one.why}
        data = orjson.dumps({**about, "bytes": len(one.body), "request": body}, option=orjson.OPT_INDENT_2)
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            name = f"{at.replace(':', '')}-{secrets.token_hex(4)}.json"
            file = os.open(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(file, "wb") as opened:
                opened.write(data)
            for old in sorted(self.path.glob("*.json"))[: -self.most]:
                with contextlib.suppress(FileNotFoundError):
                    old.unlink()
        except OSError as failed:
            _log.warning("a failed model request could not be kept", reason=failed.strerror)
