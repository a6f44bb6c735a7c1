"""Which isolation level a folder really reaches, found by trying to get out; never what was asked (S1)."""

import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio

from workstead import errors
from workstead.workspace import view
from workstead.workspace.child import Child
from workstead.workspace.spec import Command, Level

PROBE_TIMEOUT_S = 10.0
END_TIMEOUT_S = 2.0
CHUNK_BYTES = 65536

_COMMON = r"""
say() { echo "leak: $1"; }
grep -q "^NoNewPrivs:.1" /proc/self/status || say new-privileges
kill -0 $SERVER 2>/dev/null && say signals
"""
_FILES = r"""
[ -e "$CANARY" ] && cat "$CANARY" >/dev/null 2>&1 && say other-files
for p in / /usr /etc /var/tmp
do touch "$p/$NAME" 2>/dev/null && rm -f "$p/$NAME" && say "writable $p"; done
cat /proc/$SERVER/environ >/dev/null 2>&1 && say server-environment
"""
# `test -w` asks the kernel and opens nothing: a value written under /proc/sys would change the real machine.
_NAMESPACES = r"""
grep -q "^CapEff:.0*$" /proc/self/status && grep -q "^CapBnd:.0*$" /proc/self/status || say capabilities
[ "$(id -u)" = 1000 ] || say uid
[ -e "$CANARY" ] && say other-files
for p in / /usr /etc /dev "$FOLDER/.workstead"
do touch "$p/$NAME" 2>/dev/null && rm -f "$p/$NAME" && say "writable $p"; done
for p in /proc/sys/kernel/core_pattern /proc/sys/kernel/pid_max /proc/sysrq-trigger \
    /sys/kernel /run/lock /dev/kmsg /dev/fuse
do [ -w $p ] && say "writable $p"; done
set -- /proc/[0-9]*; [ $# -lt 6 ] || say processes
readlink /proc/1/fd/0 >/dev/null 2>&1 && say process-1
unshare -U true 2>/dev/null && say user-namespaces
for n in mnt pid ipc user net
do [ "$(readlink /proc/self/ns/$n)" = "$(eval echo \$NS_$n)" ] && say "same $n namespace"; done
"""
_ENDING = r"""
for p in "$FOLDER" "$FOLDER/.workstead/work" "$HOME" "$TMPDIR"
do : > "$p/$NAME" && rm "$p/$NAME" || echo "broken: writing $p"; done
setsid sleep 300 & echo ready; sleep 300
"""
SCRIPTS = {
    Level.NAMESPACES: _COMMON + _NAMESPACES + _ENDING,
    Level.LANDLOCK: _COMMON + _FILES + _ENDING,
    Level.USER: _ENDING,
    Level.NONE: _ENDING,
}
_SPACES = ("mnt", "pid", "ipc", "user", "net")


@dataclass(frozen=True, kw_only=True)
class LevelReport:
    """What the self-test found for one folder.

    level: reached and used. leaks: ways out found at it (always empty above `user`). missing: lesser measures
    that could not be had. refused: per stronger level, why it was not reached. took_ms: of the whole test.
    """

    level: Level
    leaks: tuple[str, ...]
    missing: tuple[str, ...]
    refused: Mapping[Level, str]
    took_ms: int


@dataclass(frozen=True, kw_only=True)
class Doctor:
    """What the operator is told about this machine.

    level: the weakest reached for any folder so far, or None before the first test.
    """

    level: Level | None
    floor: Level
    kernel: str
    missing: tuple[str, ...]
    refused: Mapping[Level, str]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What one level did when it was tried: why it cannot be had, or the ways out and what is missing."""

    leaks: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    refused: str = ""


class Levels:
    """The levels of the folders seen so far, each tested once."""

    def __init__(self, *, floor: Level, ceiling: Level, surroundings: view.Surroundings) -> None:
        self._floor = floor
        self._ceiling = ceiling
        self._surroundings = surroundings
        self._reports: dict[Path, LevelReport] = {}
        self._turn = anyio.Lock()

    async def of(self, folder: Path) -> LevelReport:
        """The report of a folder. Raises `isolation_unavailable` when the floor cannot be reached."""
        async with self._turn:
            if folder not in self._reports:
                self._reports[folder] = await self._test(folder)
            return self._reports[folder]

    def doctor(self) -> Doctor:
        """What was found so far."""
        reports = tuple(self._reports.values())
        weakest = min(reports, key=lambda report: report.level.strength, default=None)
        return Doctor(
            level=weakest.level if weakest else None,
            floor=self._floor,
            kernel=os.uname().release,
            missing=tuple(sorted({what for report in reports for what in report.missing})),
            refused=weakest.refused if weakest else {},
        )

    async def _test(self, folder: Path) -> LevelReport:
        began_s = time.monotonic()
        refused: dict[Level, str] = {}
        for level in Level:
            if not self._floor.strength <= level.strength <= self._ceiling.strength:
                continue
            tried = await trial(level, folder=folder, surroundings=self._surroundings)
            if not tried.refused and (not tried.leaks or level in {Level.USER, Level.NONE}):
                return LevelReport(
                    level=level,
                    leaks=tried.leaks,
                    missing=tried.missing,
                    refused=refused,
                    took_ms=round((time.monotonic() - began_s) * 1000),
                )
            refused[level] = tried.refused or "the test got out: " + ", ".join(tried.leaks)
        raise _unavailable(folder, floor=self._floor, refused=refused)


async def trial(level: Level, *, folder: Path, surroundings: view.Surroundings, script: str | None = None) -> Trial:
    """Try one level on a folder with its own script or another one."""
    with tempfile.NamedTemporaryFile(dir="/var/tmp", prefix="workstead-canary-") as canary:
        command = Command(
            folder=folder,
            argv=("sh", "-c", script or SCRIPTS[level]),
            environment={
                "CANARY": canary.name,
                "NAME": f".workstead-tmp-probe-{os.getpid()}",
                "FOLDER": str(folder),
                "SERVER": str(os.getpid()),
                **{f"NS_{name}": os.readlink(f"/proc/self/ns/{name}") for name in _SPACES},
            },
        )
        child = Child(view.spec_for(command, level=level, surroundings=surroundings), level=level)
        try:
            return await _watch(child)
        finally:
            child.close()


async def _watch(child: Child) -> Trial:
    try:
        await child.birth()
    except errors.Refusal as refusal:
        return Trial(refused=str(refusal.details.get("reason", refusal.message)))
    child.go()
    found: list[str] = []
    with anyio.move_on_after(PROBE_TIMEOUT_S):
        found = await _lines_until_ready(child.stdout)
    if "ready" not in found:
        child.kill()
        ending = await child.ended()
        return Trial(refused=ending.reason or "the test did not finish: " + "; ".join(found))
    broken = [line for line in found if line.startswith("broken: ")]
    leaks = [line.removeprefix("leak: ") for line in found if line.startswith("leak: ")]
    child.kill_monitor()  # as if whatever started it had been killed
    with anyio.move_on_after(END_TIMEOUT_S) as late:
        await child.ended()
    if late.cancelled_caught:
        leaks.append("survives its parent")
    return Trial(leaks=tuple(leaks), missing=child.missing, refused="; ".join(broken))


async def _lines_until_ready(source: int) -> list[str]:
    text = b""
    while b"ready\n" not in text:
        await anyio.wait_readable(source)
        data = os.read(source, CHUNK_BYTES)
        if not data:
            break
        text += data
    return text.decode("utf-8", "replace").splitlines()


def _unavailable(folder: Path, *, floor: Level, refused: Mapping[Level, str]) -> errors.Refusal:
    reasons = "; ".join(f"{level}: {why}" for level, why in refused.items())
    return errors.unavailable(
        "isolation_unavailable",
        f"Commands for {folder} cannot be contained as the setting demands (at least '{floor}'): {reasons}. "
        "Allow unprivileged user namespaces on this machine, or let the operator accept a weaker level.",
        floor=floor.value,
        refused={level.value: why for level, why in refused.items()},
    )
