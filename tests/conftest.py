"""What every test shares: the capabilities plugin and one backend for async tests."""

import pytest

pytest_plugins = ["plugin.capabilities"]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, as the server does."""
    return "asyncio"
