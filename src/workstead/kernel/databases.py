"""Which database stands behind the store: a file unless an address is set."""

import importlib
from pathlib import Path
from typing import Protocol, cast

from workstead.kernel.store import Database, Durability
from workstead.kernel.store_sqlite import Sqlite


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
