"""A throw-away PostgreSQL server for tests: found, made in a temporary folder, ended with the session."""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg

_PATIENCE_S = 60
_OPTIONS = (
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=300",
    "shared_buffers=64MB",
    "autovacuum=off",
    "listen_addresses=",
)


@dataclass(frozen=True, kw_only=True)
class Server:
    """A running server. names: numbers for its databases. programs: the folder of its programs."""

    folder: Path
    port: int
    names: "count[int]"
    programs: Path

    def address(self, database: str) -> str:
        """The address of one of its databases."""
        return f"postgresql://workstead@/{database}?host={self.folder}&port={self.port}"

    def create(self, *, like: str = "template0") -> str:
        """A new database, a copy of another; its address."""
        name = f"test_{next(self.names)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {like}")
        return self.address(name)

    def drop(self, address: str) -> None:
        """Drop a database, whoever is still connected."""
        self.run(f"DROP DATABASE IF EXISTS {name_of(address)} WITH (FORCE)")

    def empty(self, address: str) -> None:
        """Delete every row of ours, whoever is still connected; much quicker than a new database."""
        name = name_of(address)
        self.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        with closing(psycopg.connect(address, autocommit=True)) as raw:
            tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
            raw.execute("; ".join(f"DELETE FROM {table}" for (table,) in raw.execute(tables).fetchall()).encode())

    def begin(self) -> None:
        """Start it; returns when it answers."""
        options = " ".join(f"-c {option}" for option in _OPTIONS)
        self._control("-l", str(self.folder / "log"), "-o", f"-k {self.folder} -p {self.port} {options}", "start")

    def crash(self) -> None:
        """End it at once, as a kill of all its processes would; what was committed is recovered by the next start."""
        self._control("-m", "immediate", "stop")

    def cut(self) -> None:
        """Break every connection but this one, whatever each is doing."""
        self.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    @property
    def pid(self) -> int:
        """The first of its processes."""
        return int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])

    def _control(self, *arguments: str) -> None:
        control = [str(self.programs / "pg_ctl"), "-D", str(self.folder / "data"), "-w", "-t", str(_PATIENCE_S)]
        _run([*control, *arguments], _account())

    def run(self, text: str) -> None:
        """One statement on the server's own database."""
        with closing(psycopg.connect(self.address("postgres"), autocommit=True)) as raw:
            raw.execute(text.encode())


def name_of(address: str) -> str:
    """The name of the database in an address."""
    return address.partition("@/")[2].partition("?")[0]


def binaries() -> Path | None:
    """The folder of the server's programs, or None."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: int(one.parent.name))
    return folders[-1] if folders else None


@contextlib.contextmanager
def running(programs: Path) -> Iterator[Server]:
    """A server that sorts text by the rules of a language, as an operator's may, so that ours must not depend on it."""
    user = _account()
    folder = Path(tempfile.mkdtemp(prefix="workstead-pg-"))
    try:
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        locale = ("--locale-provider=icu", "--icu-locale=en-US", "--locale=C.UTF-8", "--encoding=UTF8")
        data = str(folder / "data")
        _run([str(programs / "initdb"), "-D", data, "-U", "workstead", "-A", "trust", "--no-sync", *locale], user)
        server = Server(folder=folder, port=_spare_port(), names=count(), programs=programs)
        server.begin()
        try:
            yield server
        finally:
            server.crash()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _account() -> pwd.struct_passwd | None:
    """The server refuses to run as root; then it runs as an account without rights."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    return None


def _run(command: list[str], user: pwd.struct_passwd | None) -> None:
    ended = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        timeout=_PATIENCE_S,
        check=False,
        user=user.pw_uid if user is not None else None,
        group=user.pw_gid if user is not None else None,
        extra_groups=[] if user is not None else None,
    )
    if ended.returncode != 0:
        raise RuntimeError(f"{Path(command[0]).name} ended with {ended.returncode}")


def _spare_port() -> int:
    with socket.socket() as spare:
        spare.bind(("127.0.0.1", 0))
        port: int = spare.getsockname()[1]
        return port
