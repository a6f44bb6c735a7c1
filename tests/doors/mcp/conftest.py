"""What the tests of the MCP door share: a token of an assistant that may edit in every project."""

import pytest

from support import door
from support.server import Running


@pytest.fixture(scope="session")
def token(live: Running) -> str:
    """An assistant of the operator's."""
    return door.token_of(live, "shared")
