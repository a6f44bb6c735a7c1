"""Which database stands behind the store: a file unless an address is set."""

import importlib
from pathlib import Path
from typing import Protocol, cast

from workstead.kernel.feed import Wakes
from workstead.kernel.store import Database, Durability
from workstead.kernel.store_sqlite import Sqlite


class WakesBetween(Protocol):
    """What passes wakes on between servers that share a database."""

    async def serve(self) -> None:
        """Live as long as the server."""
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


def wakes_between(address: str, *, wakes: Wakes) -> WakesBetween:
    """Passes wakes on between the servers that share the database at an address."""
    module = cast("_Wakes", importlib.import_module("workstead.kernel.wakes_postgresql"))
    return module.WakesBetween(address, wakes=wakes)
