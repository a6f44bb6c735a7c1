"""Which database stands behind the store: a file unless an address is set."""

import contextlib
import importlib
from pathlib import Path
from typing import Protocol, cast

import anyio

from workstead import errors
from workstead.kernel.feed import Wakes
from workstead.kernel.store import Database, Durability, Store
from workstead.kernel.store_sqlite import Sqlite


class WakesBetween(Protocol):
    """What passes wakes on between servers that share a database."""

    async def serve(self) -> None:
        """Live as long as the server."""
        ...


class Hold(Protocol):
    """The one server's hold on a database that others could reach."""

    def stands(self) -> bool:
        """Whether nobody else has it."""
        ...

    def release(self) -> None:
        """Let go."""
        ...


class _Hold(Protocol):
    """The face of the module that loads the driver."""

    def Hold(self, address: str) -> Hold:  # noqa: N802 - a class there
        """A hold on a server's database."""
        ...

    def held(self) -> errors.Refusal:
        """The refusal of a second server."""
        ...


class _Wakes(Protocol):
    """The face of the module that loads the driver."""

    def WakesBetween(self, address: str, *, wakes: Wakes) -> WakesBetween:  # noqa: N802 - a class there
        """Wakes of a server's database."""
        ...


class _Postgresql(Protocol):
    """The face of the module that loads the driver."""

    def Postgresql(self, address: str, *, durability: Durability) -> Database:  # noqa: N802 - a class there
        """A database of a server."""
        ...


def of(path: Path, address: str | None, *, durability: Durability) -> Database:
    """The database at the address, else the file. The driver of the former is loaded only when it is used."""
    if address is None:
        return Sqlite(path, durability=durability)
    module = cast("_Postgresql", importlib.import_module("workstead.kernel.store_postgresql"))
    return module.Postgresql(address, durability=durability)


def hold(address: str) -> Hold:
    """Become the one server of the database at an address; raises `conflict` (`database_held`) while another lives."""
    return _holding().Hold(address)


async def keep_hold(held: Hold, store: Store, *, check_s: float) -> None:
    """Ask again and again whether the hold stands; raises `database_held` when another server has it."""
    while True:
        await anyio.sleep(check_s)
        with contextlib.suppress(errors.Refusal):
            if await store.read(lambda _connection: held.stands()):
                continue
            break
    raise _holding().held()


def _holding() -> _Hold:
    return cast("_Hold", importlib.import_module("workstead.kernel.hold_postgresql"))


def wakes_between(address: str, *, wakes: Wakes) -> WakesBetween:
    """Passes wakes on between the servers that share the database at an address."""
    module = cast("_Wakes", importlib.import_module("workstead.kernel.wakes_postgresql"))
    return module.WakesBetween(address, wakes=wakes)
