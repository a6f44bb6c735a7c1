"""The real server as a process on a copy of the example: started, killed, started again, and read from outside."""

import ctypes
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from support import database as databases
from support.server import environment
from workstead import errors, instance
from workstead.doors import control_client
from workstead.doors.control_client import Server as Control
from workstead.workspace import child
from workstead.workspace.child import Birth

PATIENCE_S = 60.0
GONE_S = 5.0
SLUG = "ledger"

_EXAMPLE = Path(__file__).parents[2] / "examples" / "ledger"
_PR_SET_CHILD_SUBREAPER = 36

# Each command of the example says so itself when it really runs; `hold` keeps it there, with a process that has left
# its session, until it is ended.
_SAYS_SO = """
import os as _os
import pathlib as _pathlib
import subprocess as _subprocess
_here = _pathlib.Path(__file__).resolve().parent
_here = _here.parent if _here.name == "tests" else _here
if _os.environ.get("WORKSTEAD_PROCESS_ID"):
    with open(_here / "ran.log", "a") as _log:
        _log.write(_os.environ["WORKSTEAD_PROCESS_ID"] + "\\n")
    if (_here / "hold").exists():
        _subprocess.Popen(["sleep", "300"], start_new_session=True)
        (_here / "held").touch()
        _subprocess.run(["sleep", "300"])
"""

# Tables whose rows are never changed: what stands there once must stand there for ever, byte for byte.
APPEND_ONLY = (
    "configuration",
    "conversation_row",
    "effect",
    "effect_end",
    "evidence",
    "exchange",
    "exchange_end",
    "feed",
    "node_result",
    "node_visit",
    "process",
    "process_end",
    "receipt",
    "version",
)

Rows = Mapping[str, frozenset[tuple[object, ...]]]


class ServerDiedError(Exception):
    """The server's process ended while somebody waited for it."""


@dataclass
class Workplace:
    """One data folder and one project folder. acknowledged: every feed row a follower was shown, by its number.

    window_tokens: what practice is said to take, so that its conversations are shortened. durability: None leaves it to
    the tests' usual one.
    """

    root: Path
    window_tokens: int | None = None
    durability: str | None = None
    acknowledged: dict[int, tuple[str, str, int | None]] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The project's folder."""
        return self.root / "ledger"

    @property
    def data(self) -> Path:
        """The server's data folder."""
        return self.root / "data"

    @property
    def database(self) -> Path:
        """The database: the file of the data folder, or one that holds the address of a PostgreSQL database."""
        return self.data / instance.DATABASE if databases.mode.server is None else self.root / "database"

    def settings(self, crash_at: str | None) -> dict[str, str]:
        """What a server is told in its environment."""
        found = {} if databases.mode.server is None else databases.environ(self.database)
        found |= {} if self.durability is None else {"WORKSTEAD_DURABILITY": self.durability}
        return found if crash_at is None else found | {"WORKSTEAD_CRASH_AT": crash_at}

    def narrow(self) -> None:
        """Say in the project's configuration what practice takes."""
        source = self.folder / ".workstead" / "workstead.yaml"
        text = source.read_text()
        if self.window_tokens is not None and "capabilities" not in text:
            stated = f"    models: [practice]\n    capabilities: {{context_window_tokens: {self.window_tokens}}}\n"
            source.write_text(text.replace("    models: [practice]\n", stated))

    def query(self, statement: str) -> list[Any]:
        """Rows, read beside the server."""
        if not self.database.exists():
            return []
        try:
            return databases.rows(self.database, statement)
        except psycopg.errors.UndefinedTable:
            return []
        except sqlite3.OperationalError as missing:
            if "no such table" in str(missing):
                return []
            raise

    def rows(self) -> Rows:
        """Everything that is never changed; the mark of what is open goes with its end and is left out."""
        return {table: frozenset(self.query(f"SELECT {self._columns(table)} FROM {table}")) for table in APPEND_ONLY}

    def _columns(self, table: str) -> str:
        columns = (
            f"SELECT name FROM pragma_table_info('{table}') WHERE name <> 'open'"
            if databases.mode.server is None
            else f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' "
            "AND column_name <> 'open' ORDER BY ordinal_position"
        )
        named = self.query(columns)
        return ", ".join(str(name) for (name,) in named) or "*"

    def ran(self) -> list[str]:
        """The ids of the commands that really ran, once each time they did."""
        log = self.folder / "ran.log"
        return log.read_text().split() if log.exists() else []

    def lost(self, before: Rows) -> list[str]:
        """What stood there before, or was shown to a follower, and is not there now."""
        now = self.rows()
        missing = [f"{table}: {row}" for table, rows in before.items() for row in rows - now[table]]
        feed = {
            seq: (event, topic, revision)
            for seq, event, topic, revision in self.query(
                "SELECT seq, event, topic, revision FROM feed WHERE scope LIKE 'project:%'"
            )
        }
        shown = [f"shown: {seq} {row}" for seq, row in self.acknowledged.items() if feed.get(seq) != row]
        known = {row[0] for row in self.query("SELECT id FROM run")}
        return missing + shown + [f"run {one}" for one in self.runs if one not in known]

    def passes(self) -> str | None:
        """What the example's acceptance test and its other tests object to; None when they pass."""
        for named in (["acceptance"], []):
            done = subprocess.run(
                [sys.executable, "-B", "-m", "unittest", "-q", *named],
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
            if done.returncode:
                return done.stderr
        return None

    def alive(self) -> list[int]:
        """The processes that the rows name and that live."""
        births = self.query("SELECT pid, start_ticks, boot_id FROM process")
        found = []
        for pid, start_ticks, boot_id in births:
            held = child.held(Birth(pid=pid, start_ticks=start_ticks, boot_id=boot_id))
            if held is not None:
                os.close(held)
                found.append(pid)
        return found


class Server:
    """One start of the server. Its orphans become children of the test, so that none can hide."""

    def __init__(self, place: Workplace, *, crash_at: str | None = None) -> None:
        self.place = place
        self._others = _children()
        _adopt()
        with (place.root / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "workstead.app"],
                env=environment(place.data, **place.settings(crash_at)),
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._others.add(self.process.pid)

    def up(self) -> None:
        """Return when it serves; raises ServerDiedError when it ended instead."""
        assert self.process.stdout is not None
        said = b""
        while b"Sign in:" not in said:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
            assert ready, self.log()
            more = os.read(self.process.stdout.fileno(), 4096)
            if not more:
                self.process.wait(PATIENCE_S)
                raise ServerDiedError
            said += more

    @contextmanager
    def control(self) -> Iterator[Control]:
        """A conversation with it; ServerDiedError when it ends in the middle of one."""
        try:
            with control_client.connect(self.place.data) as control:
                yield control
        except errors.Refusal as refusal:
            if refusal.code not in {"server_gone", "no_server"}:
                raise
            self.process.wait(PATIENCE_S)
            raise ServerDiedError from None

    def init(self) -> None:
        """Make the project, if it is not there yet."""
        given = {"folder": str(self.place.folder), "name": "Ledger", "title": "Due dates for the ledger"}
        given |= {"template": "classic", "objective": (_EXAMPLE / "OBJECTIVE.md").read_text()}
        with self.control() as control:
            if not control.operation("list_projects", {})["projects"]:
                made = control.procedure("initialise", given)
                assert made["slug"] == SLUG
                assert made["trusted"]
        self.place.narrow()

    def run(self) -> str:
        """Press Run and wait for the end of the run; returns how it ended."""
        with self.watched() as (control, pages):
            self.start_run(control)
            return self.ended(control, pages)

    @contextmanager
    def watched(self, *, after: int | None = None) -> Iterator[tuple[Control, Iterator[list[dict[str, Any]]]]]:
        """A control conversation and the project's feed, from now on or after a row; what it shows is acknowledged."""
        with self.control() as control, self.control() as watching:
            pages = self._pages(watching, after)
            next(pages)
            yield control, pages

    def start_run(self, control: Control) -> str:
        """Press Run; the run's id."""
        run_id = str(control.operation("start_run", {"project": SLUG})["id"])
        self.place.runs.append(run_id)
        return run_id

    def ended(self, control: Control, pages: Iterator[list[dict[str, Any]]]) -> str:
        """Wait for the end of the newest run; returns how it ended."""
        deadline = time.monotonic() + PATIENCE_S
        for rows in pages:
            if not rows or any(row["topic"] == "run" for row in rows):
                newest = control.operation("list_runs", {"project": SLUG})["runs"][0]
                if newest["ended_at"] is not None:
                    return str(newest["ending"])
            assert time.monotonic() < deadline, self.log()
        raise ServerDiedError

    def carry(self) -> str:
        """From nothing, or from wherever things stand, to the end of one run. Raises ServerDiedError."""
        self.up()
        self.init()
        return self.run()

    def knows(self, pid: int) -> None:
        """A process that the test started meanwhile is none of its orphans."""
        self._others.add(pid)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def stop(self) -> int:
        """Ask it to end and wait; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def orphans(self) -> list[str]:
        """What it started and what lives on five seconds after its end; meanwhile everything is waited for."""
        assert self.process.returncode is not None
        deadline = time.monotonic() + GONE_S
        while left := _children() - self._others:
            for pid in left:
                if not _reaped(pid, within_s=deadline - time.monotonic()):
                    return [_command(one) for one in left]
        return []

    def close(self) -> None:
        """End it however it stands."""
        if self.process.poll() is None:
            self.kill()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def log(self) -> str:
        """What it wrote on stderr."""
        return (self.place.root / "server.log").read_text()

    def _pages(self, watching: Control, cursor: int | None = None) -> Iterator[list[dict[str, Any]]]:
        for rows, _ in watching.follow(SLUG, cursor=cursor):
            for row in rows:
                self.place.acknowledged[row["seq"]] = (row["event"], row["topic"], row["revision"])
            yield rows


def workplace(root: Path) -> Workplace:
    """A copy of the example whose commands say that they ran, and no server yet."""
    place = Workplace(root=root)
    shutil.copytree(_EXAMPLE, place.folder)
    for name in ("acceptance.py", "tests/__init__.py"):
        module = place.folder / name
        module.write_text(module.read_text() + _SAYS_SO)
    return place


@contextmanager
def serving(place: Workplace, *, crash_at: str | None = None) -> Iterator[Server]:
    """A server that is gone at the end, however the test goes."""
    server = Server(place, crash_at=crash_at)
    try:
        yield server
    finally:
        server.close()
        server.orphans()
        _adopt(0)


def _adopt(whether: int = 1) -> None:
    """Orphans below this process become its children."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, whether, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _children() -> set[int]:
    return {int(one.name) for one in Path("/proc").glob("[0-9]*") if _parent(one) == os.getpid()}


def _parent(process: Path) -> int | None:
    try:
        text = (process / "stat").read_text(errors="replace")
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[1])


def _reaped(pid: int, *, within_s: float) -> bool:
    try:
        ended = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        waiting = select.poll()
        waiting.register(ended, select.POLLIN)
        if not waiting.poll(max(within_s, 0) * 1000):
            return False
        os.waitpid(pid, 0)
    except ChildProcessError:
        return True
    finally:
        os.close(ended)
    return True


def _command(pid: int) -> str:
    try:
        return f"{pid}: " + Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return f"{pid}: gone meanwhile"
