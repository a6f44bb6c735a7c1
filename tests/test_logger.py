"""The log's library, loaded alone."""

import subprocess
import sys


def test_a_server_does_not_carry_what_only_shows_traces_in_colour() -> None:
    """Memory at rest: 8 MB that nobody would see used; what needs it later still finds it."""
    said = "import sys, workstead.app; print('rich' in sys.modules); import rich; print(rich.__name__)"
    ran = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "rich"]
