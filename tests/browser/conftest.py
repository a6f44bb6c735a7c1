"""What the browser's tests share: one browser, and a server whose project is finished."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from support import browser as browsers
from support import finished as finishing
from support.server import Running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A real browser; ended with its module, because its loop would stand in the way of asynchronous tests."""
    with browsers.launched() as found:
        yield found


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with the project `ledger`, run to its end."""
    with finishing.finished(tmp_path_factory.mktemp("seen")) as found:
        yield found
