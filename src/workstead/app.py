"""The composition root: every part of the server built by hand, in order; tests use it too.

`python -m workstead.app` runs the server. The command line starts it that way, so that it stays light itself.
"""

import contextlib
import gc
import os
import pwd
import shlex
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
from starlette.types import ASGIApp

from workstead import catalogue, errors, instance, logs, machines, settings
from workstead.accounts import (
    authority,
    first_start,
    keys,
    projects,
    secrets,
)
from workstead.accounts.keys import Keyring
from workstead.accounts.secrets import Safe
from workstead.accounts.uses import FLUSH_S, Uses
from workstead.agents.models import refused_requests, routing
from workstead.agents.models.availability import Availability
from workstead.agents.partials import Partials
from workstead.clock import Clock, SystemClock, iso
from workstead.doors.control import Control, Procedure
from workstead.doors.listening import PageServer, listen
from workstead.doors.rest import table as rest_table
from workstead.doors.traffic import Traffic
from workstead.doors.watch import ServerFacts, Watch
from workstead.doors.web import routes
from workstead.jobs import periodic
from workstead.kernel import databases, receipts, scopes
from workstead.kernel.access import ControlProof
from workstead.kernel.canonical import Json
from workstead.kernel.effects import Effects
from workstead.kernel.feed import Wakes
from workstead.kernel.operations import Operations
from workstead.kernel.redaction import Redactor
from workstead.kernel.store import Database, Durability, Store
from workstead.kernel.transaction import Tx
from workstead.logger import get_logger
from workstead.migrations import schema
from workstead.outbound.client import Client
from workstead.runs import playing
from workstead.runs.doctor import Examine
from workstead.runs.failed_requests import Ring
from workstead.runs.supervisor import Supervisor
from workstead.settings import Settings
from workstead.work import setup
from workstead.workspace import folders
from workstead.workspace.launcher import Launcher
from workstead.workspace.spec import Level

Doctor = Callable[[], Mapping[str, Json]]
"""What is known of the machine and of the data folder, for the operator."""

Service = Callable[[], Coroutine[Any, Any, None]]
"""Something that lives as long as the server, in its task group; its failure ends the server."""

_GRACE_S = 3
_SWEEP_S = 3600.0
_HOLD_S = 5.0
_LOG = get_logger()


@dataclass(frozen=True, kw_only=True)
class App:
    """One built server. services: live while it serves."""

    settings: Settings
    clock: Clock
    facts: ServerFacts
    lock: instance.Lock
    listening: socket.socket
    store: Store
    wakes: Wakes
    operations: Operations
    effects: Effects
    launcher: Launcher
    control: Control
    web: routes.Web
    front: ASGIApp
    uses: Uses
    supervisor: Supervisor
    watch: Watch
    client: Client
    hold: databases.Hold | None
    services: tuple[Service, ...]

    def close(self) -> None:
        """Let go of everything, the lock last."""
        self.listening.close()
        self.store.close()
        if self.hold is not None:
            self.hold.release()
        (self.settings.data_folder / instance.CONTROL).unlink(missing_ok=True)
        self.lock.release()


@dataclass(frozen=True, kw_only=True)
class _Ground:
    """What everything stands on, taken before any part is built."""

    settings: Settings
    clock: Clock
    facts: ServerFacts
    lock: instance.Lock
    listening: socket.socket
    store: Store
    hold: databases.Hold | None
    redactor: Redactor


def build(chosen: Settings, *, clock: Clock | None = None, redactor: Redactor | None = None) -> App:
    """Build every part, in order. Raises Refusal when the data folder, the lock, the port or the schema says no.

    redactor: the one that the log uses too, so that it knows the same secrets.
    """
    clock, redactor = clock or SystemClock(), redactor or Redactor()
    for secret in _secrets(chosen):
        redactor.learn(secret)
    folder = instance.open_folder(chosen.data_folder)
    with contextlib.ExitStack() as undo:
        lock = instance.take_lock(folder)
        undo.callback(lock.release)
        listening = listen(chosen.host, chosen.port)
        undo.callback(listening.close)
        facts = ServerFacts(
            boot_id=clock.new_id(),
            pid=os.getpid(),
            version=instance.VERSION,
            host=chosen.host,
            port=listening.getsockname()[1],
            started_at=iso(clock.now()),
        )
        lock.tell(boot_id=facts.boot_id, host=facts.host, port=facts.port)
        hold = databases.hold(chosen.database_url) if chosen.database_url is not None else None
        undo.callback(lambda: hold.release() if hold is not None else None)
        store = Store(_database(chosen, folder))
        undo.callback(store.close)
        ground = _Ground(
            settings=chosen,
            clock=clock,
            facts=facts,
            lock=lock,
            listening=listening,
            store=store,
            hold=hold,
            redactor=redactor,
        )
        app = _assemble(ground)
        undo.pop_all()
    return app


async def serve(app: App, *, stop: anyio.Event, started: Callable[[], Awaitable[None]] | None = None) -> None:
    """Serve until `stop` is set, then end everything and close the app. started: awaited once pages can be reached."""
    server = PageServer(app.front)
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
        await app.effects.settle(scopes.INSTANCE, partial(first_start.seed, operator_name=name))
        await app.supervisor.recover()
        async with anyio.create_task_group() as group:
            for service in app.services:
                group.start_soon(service)
            group.start_soon(app.control.serve, instance.bind_control(app.settings.data_folder))
            group.start_soon(_stop, stop, app, server)
            group.start_soon(_when_up, server, started)
            await server.serve(sockets=[app.listening])
            await _write_uses(app.effects, app.uses)
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await app.client.aclose()
        app.close()


def main() -> None:
    """Run the server until it is told to stop; exit code 1 with one sentence when it cannot start."""
    os.umask(0o077)
    try:
        chosen = settings.load(os.environ)
        redactor = Redactor()
        logs.configure(level=chosen.log_level, style=chosen.log_format, redactor=redactor)
        app = build(chosen, redactor=redactor)
    except errors.Refusal as refusal:
        print(f"workstead: {refusal.message}", file=sys.stderr)  # noqa: T201 - the log may not stand yet
        sys.exit(1)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    # What stands now lives as long as the process; looking through all of it again would stop everything for 50 ms.
    gc.freeze()
    anyio.run(_run, app, folder, backend_options={"use_uvloop": True})


def _assemble(ground: _Ground) -> App:
    chosen, clock, facts = ground.settings, ground.clock, ground.facts
    store, redactor, wakes = ground.store, ground.redactor, Wakes()
    launcher = Launcher(
        floor=Level(chosen.isolation_floor),
        closed_ports=(facts.port,),
        data_folder=chosen.data_folder.resolve(),
        work=store.work,
    )
    availability = Availability(clock=clock)
    ring = Ring(kept=chosen.failed_requests)
    operations = _operations(ground, wakes, examine=launcher.doctor, availability=availability, failed=ring.newest)
    effects = Effects(store=store, authority=authority.read, wakes=wakes, clock=clock, boot_id=facts.boot_id)
    client = Client()
    safe = Safe(chosen.key_file, learn=redactor.learn)
    means = _asking(ground, client=client, safe=safe, effects=effects, availability=availability)
    supervisor = Supervisor(
        effects=effects,
        operations=operations,
        wakes=wakes,
        launcher=launcher,
        redactor=redactor,
        partials=Partials(redactor),
        transport_of=partial(playing.transport_of, means=means, pace_ms=chosen.practice_pace_ms),
    )
    watch = Watch(store=store, wakes=wakes, authority=authority.read, clock=clock, partials=supervisor.partials)
    machine = partial(_doctor, launcher, chosen)
    web, uses = _pages(ground, operations, watch, machine=machine, safe=safe), Uses()
    parts = _parts(ground, operations, effects, launcher=launcher, uses=uses, partials=supervisor.partials, ring=ring)
    return App(
        settings=chosen,
        clock=clock,
        facts=facts,
        lock=ground.lock,
        listening=ground.listening,
        store=store,
        wakes=wakes,
        operations=operations,
        effects=effects,
        launcher=launcher,
        control=_control(ground, operations, watch, machine=machine, safe=safe),
        web=web,
        front=machines.front(web, parts),
        uses=uses,
        supervisor=supervisor,
        watch=watch,
        client=client,
        hold=ground.hold,
        services=(
            partial(_self_test, launcher),
            supervisor.serve,
            parts.lag.serve,
            *_periodic(effects, uses=uses, clock=clock),
            *_shared_database(chosen, wakes, store, ground.hold),
        ),
    )


def _operations(
    ground: _Ground, wakes: Wakes, *, examine: Examine, availability: Availability, failed: catalogue.Failed
) -> Operations:
    folder = ground.settings.data_folder.resolve()
    table = catalogue.operations_table(data_folder=folder, examine=examine, availability=availability, failed=failed)
    return Operations(table, store=ground.store, authority=authority.read, wakes=wakes, clock=ground.clock)


def _parts(
    ground: _Ground,
    operations: Operations,
    effects: Effects,
    *,
    launcher: Launcher,
    uses: Uses,
    partials: Partials,
    ring: Ring,
) -> machines.Parts:
    return machines.Parts(
        settings=ground.settings,
        clock=ground.clock,
        facts=ground.facts,
        redactor=ground.redactor,
        operations=operations,
        effects=effects,
        launcher=launcher,
        uses=uses,
        store=ground.store,
        partials=partials,
        traffic=Traffic(clock=ground.clock, redactor=ground.redactor, ring=ring),
    )


def _control(ground: _Ground, operations: Operations, watch: Watch, *, machine: Doctor, safe: Safe) -> Control:
    return Control(
        operations=operations,
        watch=watch,
        facts=ground.facts,
        redactor=ground.redactor,
        doctor=machine,
        procedures=_procedures(operations, safe),
    )


def _pages(ground: _Ground, operations: Operations, watch: Watch, *, machine: Doctor, safe: Safe) -> routes.Web:
    return routes.Web(
        operations=operations,
        watch=watch,
        facts=ground.facts,
        redactor=ground.redactor,
        doctor=machine,
        keep=partial(secrets.put_sealed, operations, safe),
        addresses=rest_table.described(operations.table),
    )


def _procedures(operations: Operations, safe: Safe) -> Mapping[str, Procedure]:
    """What only the command line asks for: several steps in one."""
    return {
        "initialise": partial(setup.initialise, operations),
        "set_secret": partial(secrets.put_sealed, operations, safe),
    }


def _asking(
    ground: _Ground, *, client: Client, safe: Safe, effects: Effects, availability: Availability
) -> routing.Means:
    """What models are asked with. Every stored secret is opened once, so that nothing shows it from now on."""
    chosen, redactor = ground.settings, ground.redactor
    keyring = Keyring(
        environ=os.environ,
        variables=chosen.key_variables,
        safe=safe,
        glance=effects.glance,
        learn=redactor.learn,
    )
    for name in sorted(chosen.key_variables):
        if os.environ.get(name):
            redactor.learn(os.environ[name])
    for name in effects.glance(lambda tx: keys.known(tx, safe)):
        _LOG.warning("a stored secret cannot be opened with this instance's key", name=name)
    return routing.Means(
        client=client,
        availability=availability,
        key_of=lambda key: keyring.read(key.source.value, key.name),
        clock=ground.clock,
        keep=refused_requests.Folder(
            path=chosen.data_folder / "failed-model-requests",
            most=chosen.failed_model_requests,
            clock=ground.clock,
            redactor=redactor,
            work=effects.work,
        ).keep,
    )


def _periodic(effects: Effects, *, uses: Uses, clock: Clock) -> tuple[Service, ...]:
    return (
        partial(_sweeps, effects, clock),
        partial(periodic.every, FLUSH_S, partial(_write_uses, effects, uses), name="uses"),
    )


async def _write_uses(effects: Effects, uses: Uses) -> None:
    if uses.pending:
        await effects.settle(scopes.INSTANCE, uses.write)


def _database(chosen: Settings, folder: Path) -> Database:
    """The database with the newest schema."""
    path, address = folder / instance.DATABASE, chosen.database_url
    if address is None:
        schema.prepare(path)
    else:
        schema.prepare_postgresql(address)
    return databases.of(path, address, durability=Durability(chosen.durability))


def _secrets(chosen: Settings) -> tuple[str, ...]:
    """What nothing that leaves may show, however it got there."""
    address = chosen.database_url
    password = urlsplit(address).password if address is not None else None
    return tuple(one for one in (address, password and unquote(password)) if one)


async def _stop(stop: anyio.Event, app: App, server: PageServer) -> None:
    await stop.wait()
    app.web.ending.set()
    app.store.hurry()
    server.should_exit = True


async def _when_up(server: PageServer, started: Callable[[], Awaitable[None]] | None) -> None:
    await server.up.wait()
    if started is not None:
        await started()


async def _self_test(launcher: Launcher) -> None:
    """Try the isolation once on a folder of our own, so that it is known before the first command."""
    with tempfile.TemporaryDirectory(prefix="workstead-self-test-") as name:
        try:
            folders.prepare(Path(name))
            report = await launcher.probe(Path(name))
        except errors.Refusal as refusal:
            _LOG.warning("isolation self-test refused", reason=refusal.message)
            return
    _LOG.info("isolation self-test", isolation=report.level.value, took_ms=report.took_ms)


async def _sweeps(effects: Effects, clock: Clock) -> None:
    """Forget what is kept for a time only (docs/configuration.md, "Kept for")."""

    async def receipts_out() -> None:
        before = iso(clock.now() - timedelta(days=receipts.KEPT_DAYS))
        await effects.settle(scopes.INSTANCE, lambda tx: receipts.sweep(tx, before=before))

    await periodic.every(_SWEEP_S, receipts_out, name="receipts")


def _shared_database(chosen: Settings, wakes: Wakes, store: Store, hold: databases.Hold | None) -> tuple[Service, ...]:
    """What lives beside a database that other processes can reach."""
    if chosen.database_url is None or hold is None:
        return ()
    return (
        databases.wakes_between(chosen.database_url, wakes=wakes).serve,
        partial(databases.keep_hold, hold, store, check_s=_HOLD_S),
    )


def _doctor(launcher: Launcher, chosen: Settings) -> Mapping[str, Json]:
    found = launcher.doctor()
    folder = chosen.data_folder
    disk = os.statvfs(folder)
    return {
        "isolation": found.level.value if found.level is not None else None,
        "isolation_floor": found.floor.value,
        "isolation_missing": list(found.missing),
        "isolation_refused": {level.value: why for level, why in found.refused.items()},
        "kernel": found.kernel,
        "python": sys.version.split()[0],
        "data_folder": str(folder),
        "database": "sqlite" if chosen.database_url is None else "postgresql",
        "database_bytes": (folder / instance.DATABASE).stat().st_size if chosen.database_url is None else None,
        "free_bytes": disk.f_bavail * disk.f_frsize,
        "durability": chosen.durability,
    }


async def _run(app: App, folder: Path | None) -> None:
    stop = anyio.Event()

    async def started() -> None:
        link = await app.control.sign_in_link(ControlProof(uid=os.geteuid()))
        lines = [f"Workstead is at {app.facts.address}", f"Sign in: {link['link']}", *_folder_line(app, folder)]
        print("\n".join(lines), flush=True)  # noqa: T201 - for the terminal
        _LOG.info("serving", address=app.facts.address, data_folder=str(app.settings.data_folder))

    async with anyio.create_task_group() as group:
        group.start_soon(signals, stop)
        await serve(app, stop=stop, started=started)
        group.cancel_scope.cancel()


def _folder_line(app: App, folder: Path | None) -> list[str]:
    """Where the page of the project in a folder is, or how to make it one."""
    if folder is None:
        return []
    real = str(folder.resolve())
    found = app.store.read_here(lambda connection: projects.all_of_them(Tx(connection, clock=app.clock)))
    slug = next((one.slug for one in found if one.folder == real), None)
    if slug is None:
        return [f"No project yet: workstead init {shlex.quote(str(folder))} --objective TEXT"]
    return [f"Project: {app.facts.address}/projects/{slug}"]


async def signals(stop: anyio.Event) -> None:
    """Set `stop` at the first SIGINT or SIGTERM; a second one ends a server that hangs while it stops."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
        await _first(received)
        stop.set()
        await _first(received)
        os._exit(130)


async def _first(received: AsyncIterator[signal.Signals]) -> None:
    async for _ in received:
        return


if __name__ == "__main__":
    main()
