"""How many random kills a run of these tests makes."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`pytest tests/faults/test_random_kills.py --kills=100` kills more often than everyday runs do."""
    parser.addoption("--kills", type=int, default=None, help="how often the random-kills test kills the server")
