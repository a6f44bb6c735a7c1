"""Which database stands behind the store."""

from pathlib import Path

from workstead.kernel import databases
from workstead.kernel.store import Durability


def test_an_address_decides(tmp_path: Path) -> None:
    """docs/configuration.md: the file, unless `database_url` is set; neither is opened yet."""
    file = databases.of(tmp_path / "db", None, durability=Durability.FULL)
    server = databases.of(tmp_path / "db", "postgresql://nowhere/garden", durability=Durability.FULL)
    assert (file.near, file.writers) == (True, 1)
    assert (server.near, server.writers > 1) == (False, True)
    assert list(tmp_path.iterdir()) == []
